"""
What kube-apiserver refuses in the replicas and the update strategy of a workload.

``find_scale_errors`` is the entry point. The rest of this project reads such fields leniently: what
is refused here never gets there. The messages are those of kube-apiserver, with what to write
instead.

Source: pkg/apis/apps/validation/validation.go ``ValidateDeploymentSpec``,
``ValidateStatefulSetSpec``; apimachinery pkg/util/intstr ``UnmarshalJSON``.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from webhook.policy import kinds
from webhook.policy.api.fielderrors import FieldError, forbidden, invalid, not_supported
from webhook.policy.model import GroupKind
from webhook.policy.paths import find_value, is_array, is_object

_INT32 = range(-(2**31), 2**31)

RECREATE, ROLLING_UPDATE, ON_DELETE = "Recreate", "RollingUpdate", "OnDelete"

_SCALED = frozenset(
    {
        kinds.DEPLOYMENT,
        kinds.REPLICA_SET,
        kinds.REPLICATION_CONTROLLER,
        kinds.STATEFUL_SET,
        kinds.ROLLOUT,
    }
)
_NOT_NEGATIVE = "must be greater than or equal to 0"
_NO_PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or "
    "'93%', regex used for validation is '[0-9]+%')"
)
_percent = re.compile("[0-9]+%", re.ASCII).fullmatch


class ScaleError(NamedTuple):
    """A field that kube-apiserver refuses; ``message`` ends with what to write instead."""

    field: str
    message: str


def find_scale_errors(
    kind: GroupKind, workload: Any, *, has_set_limit: bool = True
) -> Iterator[ScaleError]:
    """
    Find the errors of a workload; none for a kind without replicas.

    Args:
        workload: As decoded from JSON.
        has_set_limit: Whether the maxUnavailable of a StatefulSet is kept; otherwise only its type
            is checked.
    """
    spec = find_value(workload, ("spec",))
    if kind not in _SCALED or not is_object(spec):
        return
    yield from _check_number(
        spec.get("replicas"), "spec.replicas", is_checked=kind != kinds.ROLLOUT
    )
    if kind == kinds.DEPLOYMENT:
        yield from _check_deployment(spec.get("strategy"))
    if kind == kinds.STATEFUL_SET:
        yield from _check_number(find_value(spec, ("ordinals", "start")), "spec.ordinals.start")
        yield from _check_stateful_set(spec.get("updateStrategy"), has_limit=has_set_limit)
    if kind == kinds.ROLLOUT:
        canary = find_value(spec, ("strategy", "canary"))
        yield from _check_object(canary, "spec.strategy.canary")
        for name in ("maxUnavailable", "maxSurge"):
            limit = find_value(canary, (name,))
            yield from _check_type(limit, f"spec.strategy.canary.{name}", accepts_text=True)


def _check_deployment(strategy: Any) -> Iterator[ScaleError]:
    """Check the strategy. Source: validation.go ``ValidateDeploymentStrategy``."""
    field = "spec.strategy"
    yield from _check_object(strategy, field)
    written = find_value(strategy, ("type",), ROLLING_UPDATE) or ROLLING_UPDATE
    rolling = find_value(strategy, ("rollingUpdate",))
    if written not in (RECREATE, ROLLING_UPDATE):
        yield from _check_name(written, f"{field}.type", (RECREATE, ROLLING_UPDATE))
    elif written == ROLLING_UPDATE:
        yield from _check_rolling(rolling, f"{field}.rollingUpdate")
    elif rolling is not None:
        problem = f"may not be specified when strategy `type` is '{RECREATE}'"
        yield _advise(forbidden(f"{field}.rollingUpdate", problem), "remove it")


def _check_rolling(rolling: Any, field: str) -> Iterator[ScaleError]:
    """Check maxSurge and maxUnavailable. Source: ``ValidateRollingUpdateDeployment``."""
    yield from _check_object(rolling, field)
    unavailable, surge = (find_value(rolling, (name,)) for name in ("maxUnavailable", "maxSurge"))
    yield from _check_limit(unavailable, f"{field}.maxUnavailable", is_share=True)
    yield from _check_limit(surge, f"{field}.maxSurge")
    if _is_zero(unavailable) and _is_zero(surge):
        problem = "may not be 0 when `maxSurge` is 0"
        error = invalid(f"{field}.maxUnavailable", unavailable, problem, named=True)
        yield _advise(error, "write 1, or maxSurge: 1")


def _check_stateful_set(strategy: Any, *, has_limit: bool) -> Iterator[ScaleError]:
    """Check the updateStrategy. Source: validation.go ``ValidateStatefulSetSpec``."""
    field = "spec.updateStrategy"
    yield from _check_object(strategy, field)
    written = find_value(strategy, ("type",), ROLLING_UPDATE) or ROLLING_UPDATE
    rolling = find_value(strategy, ("rollingUpdate",))
    if written not in (ROLLING_UPDATE, ON_DELETE):
        yield from _check_name(written, f"{field}.type", (ROLLING_UPDATE, ON_DELETE))
    elif written == ROLLING_UPDATE:
        yield from _check_object(rolling, f"{field}.rollingUpdate")
        place = f"{field}.rollingUpdate.partition"
        yield from _check_number(find_value(rolling, ("partition",)), place)
        limit = find_value(rolling, ("maxUnavailable",))
        place = f"{field}.rollingUpdate.maxUnavailable"
        if not has_limit:
            yield from _check_type(limit, place, accepts_text=True)
            return
        yield from _check_limit(limit, place, is_share=True)
        if _is_zero(limit):
            yield _advise(invalid(place, limit, "cannot be 0", named=True), "write 1 or more")
    elif rolling is not None:
        problem = f"only allowed for updateStrategy '{ROLLING_UPDATE}'"
        yield _advise(forbidden(f"{field}.rollingUpdate", problem), "remove it")


def _check_number(value: Any, field: str, *, is_checked: bool = True) -> Iterator[ScaleError]:
    """Check a number of pods; None is absent. Without ``is_checked`` only its type."""
    problems = list(_check_type(value, field))
    yield from problems
    if is_checked and value is not None and not problems and value < 0:
        yield _advise(invalid(field, value, _NOT_NEGATIVE), "write 0 or more")


def _check_limit(value: Any, field: str, *, is_share: bool = False) -> Iterator[ScaleError]:
    """
    Check a number of pods or a percentage; None is absent.

    Args:
        is_share: Whether at most 100 % are allowed.
    """
    problems = list(_check_type(value, field, accepts_text=True))
    yield from problems
    if value is None or problems:
        return
    if not isinstance(value, str):
        yield from _check_number(value, field)
    elif not _percent(value):
        advice = f'write {value} or "{value}%"' if value.isdecimal() else 'write 1 or "25%"'
        yield _advise(invalid(field, value, _NO_PERCENT, named=True), advice)
    elif is_share and _exceeds_all(value):
        error = invalid(field, value, "must not be greater than 100%", named=True)
        yield _advise(error, 'write at most "100%"')


def _check_type(value: Any, field: str, *, accepts_text: bool = False) -> Iterator[ScaleError]:
    """Check that a value is an int32, or a text if that is accepted; None is absent."""
    if value is None or (accepts_text and isinstance(value, str)):
        return
    if isinstance(value, bool) or not isinstance(value, int) or value not in _INT32:
        number = str(value).strip() if isinstance(value, str) else ""
        advice = f"write {number}, without quotes" if number.isdecimal() else "write an integer"
        if isinstance(value, int) and not isinstance(value, bool):
            advice = f"write at most {_INT32[-1]}"
        yield ScaleError(field, f"{_describe_type(value)} is no int32: {advice}")


def _check_object(value: Any, field: str) -> Iterator[ScaleError]:
    if value is not None and not is_object(value):
        yield ScaleError(
            field, f"{_describe_type(value)} is no object: write its fields, or remove it"
        )


def _check_name(value: Any, field: str, known: tuple[str, str]) -> Iterator[ScaleError]:
    if not isinstance(value, str):
        advice = f"write {known[0]} or {known[1]}"
        yield ScaleError(field, f"{_describe_type(value)} is no string: {advice}")
        return
    error = not_supported(field, value, known)
    yield ScaleError(error.field, error.message)


def _describe_type(value: Any) -> str:
    """Describe a value with the type that JSON has for it."""
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    if isinstance(value, (int, float)):
        return f"the number {value}"
    if isinstance(value, str):
        return f'the string "{value[:40]}"'
    return "an array" if is_array(value) else "an object"


def _is_zero(value: Any) -> bool:
    """Whether a limit is 0; one that is absent is 25 %, and one that is no percentage is 0."""
    if isinstance(value, str):
        return not _percent(value) or not value.strip("0%")
    return type(value) is int and value == 0


def _exceeds_all(percentage: str) -> bool:
    """Whether a percentage is more than 100 %; it may have more digits than a number."""
    written = percentage.lstrip("0")
    return len(written) > len("100%") or (len(written) == len("100%") and written != "100%")


def _advise(error: FieldError, advice: str) -> ScaleError:
    return ScaleError(error.field, f"{error.message}: {advice}")
