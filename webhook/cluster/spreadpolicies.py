"""
Store of SpreadPolicies: the last version of each that could be read.

``SpreadPolicyStore`` is the entry point; ``decode_policy`` decodes one object. If a changed policy
cannot be read, its pods do not lose their defaults: the version before it stays in the store until
it is fixed or deleted, and ``problems`` has the reason.
"""

from collections.abc import Callable, Mapping

import msgspec

from webhook.cluster import wire
from webhook.cluster.protocol import DECODE_ERRORS
from webhook.cluster.store import Store
from webhook.config.spreadpolicies import SpreadPolicy
from webhook.errors import CombinedConfigError
from webhook.policy.defaulting.policystatus import PolicyStatus


class PolicyMetadata(wire.LabelledMetadata, frozen=True, rename="camel", gc=False):
    """The metadata of a SpreadPolicy, with what a change of its status depends on."""

    uid: str | None = None
    resource_version: str | None = None
    generation: int | None = None


class SpreadPolicyObject(wire.ClusterScopedObject, frozen=True, gc=False):
    """
    A SpreadPolicy as an API server sends it.

    Attributes:
        found: Its policy; None if it cannot be read.
        problem: Why it cannot be read, one error in each line; empty if it can be.
        status: Its status; None if it has none that can be read.
    """

    metadata: PolicyMetadata | None = None
    found: SpreadPolicy | None = None
    problem: str = ""
    status: PolicyStatus | None = None


class _Metadata(wire.ClusterScopedObject, frozen=True, gc=False):
    metadata: PolicyMetadata | None = None


class _WithStatus(msgspec.Struct, frozen=True, gc=False):
    status: PolicyStatus | None = None


_decode_metadata = msgspec.json.Decoder(_Metadata).decode
_decode_status = msgspec.json.Decoder(_WithStatus).decode


def decode_policy(data: bytes | msgspec.Raw) -> SpreadPolicyObject:
    """
    Decode a SpreadPolicy; one that cannot be read is decoded too, with its problem.

    Raises:
        msgspec.DecodeError: It is no object.
        RecursionError: It is nested too deeply; ``decode_nested`` handles that.
    """
    # Imported for an object only: it loads pydantic.
    from webhook.config.policyobjects import check_spread_policy  # noqa: PLC0415

    metadata, status = _decode_metadata(data).metadata, read_status(data)
    try:
        found = check_spread_policy(msgspec.json.decode(data))
    except CombinedConfigError as error:
        return SpreadPolicyObject(metadata, problem=str(error), status=status)
    return SpreadPolicyObject(metadata, found, status=status)


def read_status(data: bytes | msgspec.Raw) -> PolicyStatus | None:
    """Read the status of a SpreadPolicy; None if it has none that can be read."""
    try:
        return _decode_status(data).status
    except DECODE_ERRORS:
        return None


class SpreadPolicyStore(Store[SpreadPolicyObject]):
    """Store of SpreadPolicies, by name."""

    def __init__(self, changed: Callable[[], object]) -> None:
        """Start empty; ``changed`` is called after each change of a policy or of a problem."""
        self._objects: dict[str, SpreadPolicyObject] = {}
        self._changed = changed
        super().__init__({"": self._objects})

    def put(self, thing: SpreadPolicyObject) -> None:
        """Add a policy, or replace the one with the same name unless the new one is unreadable."""
        before = self._objects.get(thing.name)
        kept = before.found if before is not None and thing.found is None else thing.found
        now = SpreadPolicyObject(thing.metadata, kept, thing.problem, thing.status)
        self._objects[thing.name] = now
        if before is None or (before.found, before.problem) != (now.found, now.problem):
            self._changed()

    def remove(self, namespace: str, name: str) -> None:  # noqa: ARG002 - it is in none
        """Remove a policy; do nothing if it is not in the store."""
        if self._objects.pop(name, None) is not None:
            self._changed()

    @property
    def objects(self) -> tuple[SpreadPolicyObject, ...]:
        """All policies, those that cannot be read with the version in force, in no order."""
        return tuple(self._objects.values())

    @property
    def policies(self) -> list[SpreadPolicy]:
        """The policies in force, in no order."""
        return [thing.found for thing in self._objects.values() if thing.found is not None]

    @property
    def problems(self) -> Mapping[str, str]:
        """Name -> why the present version of a policy cannot be read."""
        return {name: thing.problem for name, thing in self._objects.items() if thing.problem}
