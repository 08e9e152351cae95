"""
SpreadPolicyExceptions of a cluster: decode them with ``decode_exception``, and keep them.

Nothing here watches an API server.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec

from webhook.cluster import wire
from webhook.cluster.quota import NamespaceQuota, NamespaceSizeError, selector_size
from webhook.cluster.store import UNLIMITED, Store
from webhook.config.messages import suggest_word
from webhook.config.spreadpolicies import POLICY_API_VERSION
from webhook.policy.advice.findings import quote_value
from webhook.policy.api.fielderrors import LONGEST_VALUE
from webhook.policy.api.rules import selector_errors
from webhook.policy.catalogue import DEFAULT_ACTIONS
from webhook.policy.model import GroupKind, LabelSelector
from webhook.policy.paths import FieldPath, find_value, is_object
from webhook.policy.policyexceptions import MOST_EXCEPTIONS, PolicyException
from webhook.policy.selectors import SELECT_ALL

POLICY_EXCEPTION = GroupKind("evenspread.io", "SpreadPolicyException")

END_OF_TIME = datetime.max.replace(tzinfo=UTC)
"""A time at which every exception with an end has expired, where the time is not known."""

Clock = Callable[[], datetime]
"""Returns the current time; aware."""


MOST_RULES = 32  # of one exception; there are 21 rules

REASON_CHARACTERS = 200  # that reports repeat


class _ExceptionSpec(msgspec.Struct, frozen=True, gc=False):
    """The specification of a SpreadPolicyException."""

    reason: Annotated[str, msgspec.Meta(max_length=REASON_CHARACTERS)]
    rules: Annotated[tuple[str, ...], msgspec.Meta(max_length=MOST_RULES)] = ()
    defaults: bool = False
    selector: LabelSelector | None = None
    expires: Annotated[datetime, msgspec.Meta(tz=True)] | None = None


class PolicyExceptionObject(wire.NamedObject, frozen=True, kw_only=True, rename="camel", gc=False):
    """A SpreadPolicyException as an API server or a file has it."""

    api_version: str = POLICY_API_VERSION
    spec: _ExceptionSpec


_KEYS: Mapping[FieldPath, Sequence[str]] = {
    (): ("apiVersion", "kind", "metadata", "spec", "status"),
    ("spec",): _ExceptionSpec.__struct_fields__,
    ("spec", "selector"): ("matchLabels", "matchExpressions"),
}
"""Path -> the keys of the mapping there."""

_decode = msgspec.json.Decoder(PolicyExceptionObject).decode


def decode_exception(data: bytes | msgspec.Raw) -> PolicyException:
    """
    Decode a SpreadPolicyException.

    Raises:
        msgspec.DecodeError: A value has the wrong type, a rule is none that can be exempted from,
            nothing is exempted from, the reason is blank, or the version or the selector is
            invalid.
    """
    found = _decode(data)
    spec = found.spec
    problem = _find_problem(spec)
    if found.api_version != POLICY_API_VERSION:
        written = quote_value(found.api_version)
        problem = f"cannot be {written}: write {POLICY_API_VERSION} - at `$.apiVersion`"
    if problem:
        raise msgspec.ValidationError(problem)
    return PolicyException(
        namespace=found.namespace,
        name=found.name,
        reason=spec.reason,
        rules=spec.rules,
        defaults=spec.defaults,
        selector=spec.selector or SELECT_ALL,
        expires=spec.expires,
    )


def find_unknown_keys(value: Any) -> Iterator[tuple[str, FieldPath]]:
    """
    Find keys of an exception that no version has, each with a sentence about it.

    Args:
        value: The exception as a value of JSON's types. API servers refuse or remove such keys, so
            that only a manifest can have them: an exception without its end, for example.
    """
    for path, known in _KEYS.items():
        part = find_value(value, path)
        for key in sorted(part.keys() - set(known)) if is_object(part) else ():
            yield f"no such key: {suggest_word(key, known)}", (*path, key)


def _find_problem(spec: _ExceptionSpec) -> str:
    """Find what the types do not refuse, with its path as msgspec writes it; empty for nothing."""
    if not spec.reason.strip():
        return "must say why: write a reason - at `$.spec.reason`"
    if not spec.rules and not spec.defaults:
        return "exempts from nothing: write rules, or defaults: true - at `$.spec`"
    for index, rule in enumerate(spec.rules):
        if rule not in DEFAULT_ACTIONS:
            known = f"write some of {', '.join(DEFAULT_ACTIONS)}"
            return f"{quote_value(rule)} is no policy rule: {known} - at `$.spec.rules[{index}]`"
    for error in selector_errors(spec.selector or SELECT_ALL, "spec.selector"):
        return f"{error.words(LONGEST_VALUE)} - at `$.{error.field}`"
    return ""


def end_of_time() -> datetime:
    """Return ``END_OF_TIME``: without a clock, a policy is not weakened for longer than allowed."""
    return END_OF_TIME


class PolicyExceptionStore(Store[PolicyException]):
    """
    Store of the exceptions of a cluster.

    Attributes:
        clock: The time by which exceptions expire.
    """

    def __init__(self, clock: Clock = end_of_time, quota: NamespaceQuota = UNLIMITED) -> None:
        """Start empty."""
        self.clock = clock
        self._quota = quota
        self._held: dict[str, dict[str, PolicyException]] = {}
        self._sorted: dict[str, list[str]] = {}
        super().__init__(self._held)

    def put(self, thing: PolicyException) -> None:
        """
        Add an exception, or replace the one with the same name.

        Raises:
            NamespaceSizeError: Its namespace exceeds the quota, and the exception is not stored; or
                it has more than ``MOST_EXCEPTIONS``, of which only the first ones by name count.
        """
        held = self._held.get(thing.namespace, {})
        before = held.get(thing.name)
        if before is not None:
            self._quota.free(thing.namespace, _size(before))
        try:
            self._quota.take(thing.namespace, _size(thing))
        except NamespaceSizeError:
            if before is not None:  # it stays
                self._quota.take(thing.namespace, _size(before))
            raise
        self._held.setdefault(thing.namespace, held)[thing.name] = thing
        if before is None:
            insort(self._sorted.setdefault(thing.namespace, []), thing.name)
        if len(held) > MOST_EXCEPTIONS:
            problem = f"its namespace has more than {MOST_EXCEPTIONS} SpreadPolicyExceptions"
            raise NamespaceSizeError(f"{problem}: only the first ones by name count")

    def remove(self, namespace: str, name: str) -> None:
        """Remove an exception; do nothing if it is not in the store."""
        held = self._held.get(namespace, {})
        known = held.pop(name, None)
        if known is None:
            return
        self._quota.free(namespace, _size(known))
        names = self._sorted[namespace]
        del names[bisect_left(names, name)]
        if not held:
            del self._held[namespace], self._sorted[namespace]

    def in_force(self, namespace: str) -> Sequence[PolicyException]:
        """List the exceptions of a namespace that have not expired, by name, if they count."""
        names = self._sorted.get(namespace)
        if names is None:
            return ()
        held, now = self._held[namespace], self.clock()
        counted = (held[name] for name in names[:MOST_EXCEPTIONS])
        return [exception for exception in counted if not exception.is_expired(now)]


def _size(exception: PolicyException) -> int:
    """Estimate the memory of an exception, without that of any object."""
    return selector_size(exception.selector) + 2 * len(exception.reason)
