"""
Store of SpreadPolicies: the last version of each that could be read.

``SpreadPolicyStore`` is the entry point; ``decode_policy`` decodes one object. If a changed policy
cannot be read, its pods do not lose their defaults: the version before it stays in the store until
it is fixed or deleted, and ``problems`` has the reason.
"""

from collections.abc import Callable, Mapping

import msgspec

from webhook.cluster import wire
from webhook.cluster.store import Store
from webhook.config.spreadpolicies import SpreadPolicy, check_spread_policy
from webhook.errors import CombinedConfigError


class SpreadPolicyObject(wire.ClusterScopedObject, frozen=True, gc=False):
    """
    A SpreadPolicy as an API server sends it.

    Attributes:
        found: Its policy; None if it cannot be read.
        problem: Why it cannot be read, one error in each line; empty if it can be.
    """

    found: SpreadPolicy | None = None
    problem: str = ""


_decode_object = msgspec.json.Decoder(wire.ClusterScopedObject).decode


def decode_policy(data: bytes | msgspec.Raw) -> SpreadPolicyObject:
    """
    Decode a SpreadPolicy; one that cannot be read is decoded too, with its problem.

    Raises:
        msgspec.DecodeError: It is no object.
        RecursionError: It is nested too deeply; ``decode_nested`` handles that.
    """
    metadata = _decode_object(data).metadata
    try:
        found = check_spread_policy(msgspec.json.decode(data))
    except CombinedConfigError as error:
        return SpreadPolicyObject(metadata, problem=str(error))
    return SpreadPolicyObject(metadata, found)


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
        now = SpreadPolicyObject(thing.metadata, kept, thing.problem)
        self._objects[thing.name] = now
        if before is None or (before.found, before.problem) != (now.found, now.problem):
            self._changed()

    def remove(self, namespace: str, name: str) -> None:  # noqa: ARG002 - it is in none
        """Remove a policy; do nothing if it is not in the store."""
        if self._objects.pop(name, None) is not None:
            self._changed()

    @property
    def policies(self) -> list[SpreadPolicy]:
        """The policies in force, in no order."""
        return [thing.found for thing in self._objects.values() if thing.found is not None]

    @property
    def problems(self) -> Mapping[str, str]:
        """Name -> why the present version of a policy cannot be read."""
        return {name: thing.problem for name, thing in self._objects.items() if thing.problem}
