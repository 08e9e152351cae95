"""
SpreadPolicyExceptions of a cluster: decode them with ``decode_exception``, and keep them.

Nothing here watches an API server.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated

import msgspec

from webhook.cluster import wire
from webhook.cluster.store import Store
from webhook.policy.catalogue import DEFAULT_ACTIONS
from webhook.policy.model import GroupKind, LabelSelector
from webhook.policy.policyexceptions import PolicyException

POLICY_EXCEPTION = GroupKind("evenspread.io", "SpreadPolicyException")

END_OF_TIME = datetime.max.replace(tzinfo=UTC)
"""A time at which every exception with an end has expired, where the time is not known."""

Clock = Callable[[], datetime]
"""Returns the current time; aware."""


class _ExceptionSpec(msgspec.Struct, frozen=True, gc=False):
    """The specification of a SpreadPolicyException."""

    reason: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    rules: tuple[str, ...] = ()
    defaults: bool = False
    selector: LabelSelector | None = None
    expires: Annotated[datetime, msgspec.Meta(tz=True)] | None = None


class PolicyExceptionObject(wire.NamedObject, frozen=True, kw_only=True, gc=False):
    """A SpreadPolicyException as an API server or a file has it."""

    spec: _ExceptionSpec


_decode = msgspec.json.Decoder(PolicyExceptionObject).decode


def decode_exception(data: bytes | msgspec.Raw) -> PolicyException:
    """
    Decode a SpreadPolicyException.

    Raises:
        msgspec.DecodeError: A value has the wrong type, a rule is none that can be exempted from,
            or nothing is exempted from.
    """
    found = _decode(data)
    spec = found.spec
    for rule in spec.rules:
        if rule not in DEFAULT_ACTIONS:
            known = f"write some of {', '.join(DEFAULT_ACTIONS)}"
            raise msgspec.ValidationError(
                f"{rule!r} is no policy rule: {known} - at `$.spec.rules`"
            )
    if not spec.rules and not spec.defaults:
        problem = "exempts from nothing: write rules, or defaults: true - at `$.spec`"
        raise msgspec.ValidationError(problem)
    return PolicyException(
        namespace=found.namespace,
        name=found.name,
        reason=spec.reason,
        rules=spec.rules,
        defaults=spec.defaults,
        selector=spec.selector or LabelSelector(),
        expires=spec.expires,
    )


def end_of_time() -> datetime:
    """Return ``END_OF_TIME``: without a clock, a policy is not weakened for longer than allowed."""
    return END_OF_TIME


class PolicyExceptionStore(Store[PolicyException]):
    """
    Store of the exceptions of a cluster.

    Attributes:
        clock: The time by which exceptions expire.
    """

    def __init__(self, clock: Clock = end_of_time) -> None:
        """Start empty."""
        self.clock = clock
        self._held: dict[str, dict[str, PolicyException]] = {}
        super().__init__(self._held)

    def put(self, thing: PolicyException) -> None:
        """Add an exception, or replace the one with the same name."""
        held = {**self._held.get(thing.namespace, {}), thing.name: thing}
        self._held[thing.namespace] = dict(sorted(held.items()))

    def remove(self, namespace: str, name: str) -> None:
        """Remove an exception; do nothing if it is not in the store."""
        held = self._held.get(namespace, {})
        held.pop(name, None)
        if not held:
            self._held.pop(namespace, None)

    def in_force(self, namespace: str) -> Sequence[PolicyException]:
        """List the exceptions of a namespace that have not expired, by name."""
        held = self._held.get(namespace)
        if held is None:
            return ()
        now = self.clock()
        return [exception for exception in held.values() if not exception.is_expired(now)]
