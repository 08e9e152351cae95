"""
What kube-apiserver refuses in the update strategy of a Deployment, StatefulSet or DaemonSet.

Entry points: ``check_deployment``, ``check_stateful_set`` and ``check_daemon_set``. An unknown
type is reported at the field ``type``; kube-apiserver reports it with the whole strategy.

Source: pkg/apis/apps/validation/validation.go ``ValidateDeploymentStrategy``,
``ValidateStatefulSetSpec``, ``ValidateDaemonSetUpdateStrategy``.
"""

from collections.abc import Iterator
from typing import Any

from webhook.policy.api.fielderrors import forbidden, invalid, required
from webhook.policy.api.valuechecks import (
    RefusedField,
    advise,
    check_limit,
    check_name,
    check_number,
    check_object,
    check_type,
    is_zero,
)
from webhook.policy.paths import find_value

RECREATE, ROLLING_UPDATE, ON_DELETE = "Recreate", "RollingUpdate", "OnDelete"


def _read(strategy: Any) -> tuple[Any, Any]:
    """Read the type of a strategy, RollingUpdate by default, and the limits of a rolling update."""
    written = find_value(strategy, ("type",)) or ROLLING_UPDATE
    return written, find_value(strategy, ("rollingUpdate",))


def check_deployment(strategy: Any) -> Iterator[RefusedField]:
    """Check the strategy. Source: validation.go ``ValidateDeploymentStrategy``."""
    field = "spec.strategy"
    yield from check_object(strategy, field)
    written, rolling = _read(strategy)
    if written not in (RECREATE, ROLLING_UPDATE):
        yield from check_name(written, f"{field}.type", (RECREATE, ROLLING_UPDATE))
    elif written == ROLLING_UPDATE:
        yield from _check_rolling(rolling, f"{field}.rollingUpdate")
    elif rolling is not None:
        problem = f"may not be specified when strategy `type` is '{RECREATE}'"
        yield advise(forbidden(f"{field}.rollingUpdate", problem), "remove it")


def _check_rolling(rolling: Any, field: str) -> Iterator[RefusedField]:
    """Check maxSurge and maxUnavailable. Source: ``ValidateRollingUpdateDeployment``."""
    yield from check_object(rolling, field)
    unavailable, surge = (find_value(rolling, (name,)) for name in ("maxUnavailable", "maxSurge"))
    yield from check_limit(unavailable, f"{field}.maxUnavailable", is_share=True)
    yield from check_limit(surge, f"{field}.maxSurge")
    if is_zero(unavailable) and is_zero(surge):
        problem = "may not be 0 when `maxSurge` is 0"
        error = invalid(f"{field}.maxUnavailable", unavailable, problem, named=True)
        yield advise(error, "write 1, or maxSurge: 1")


def check_stateful_set(strategy: Any, *, has_limit: bool) -> Iterator[RefusedField]:
    """Check the updateStrategy. Source: validation.go ``ValidateStatefulSetSpec``."""
    field = "spec.updateStrategy"
    yield from check_object(strategy, field)
    written, rolling = _read(strategy)
    if written not in (ROLLING_UPDATE, ON_DELETE):
        yield from check_name(written, f"{field}.type", (ROLLING_UPDATE, ON_DELETE))
    elif written == ROLLING_UPDATE:
        yield from _check_partitioned(rolling, f"{field}.rollingUpdate", has_limit=has_limit)
    elif rolling is not None:
        problem = f"only allowed for updateStrategy '{ROLLING_UPDATE}'"
        yield advise(forbidden(f"{field}.rollingUpdate", problem), "remove it")


def _check_partitioned(rolling: Any, field: str, *, has_limit: bool) -> Iterator[RefusedField]:
    """Check the partition and maxUnavailable of a StatefulSet."""
    yield from check_object(rolling, field)
    yield from check_number(find_value(rolling, ("partition",)), f"{field}.partition")
    limit, place = find_value(rolling, ("maxUnavailable",)), f"{field}.maxUnavailable"
    if not has_limit:
        yield from check_type(limit, place, accepts_text=True)
        return
    yield from check_limit(limit, place, is_share=True)
    if is_zero(limit):
        yield advise(invalid(place, limit, "cannot be 0", named=True), "write 1 or more")


def check_daemon_set(strategy: Any) -> Iterator[RefusedField]:
    """Check the updateStrategy. Source: ``ValidateDaemonSetUpdateStrategy``."""
    field = "spec.updateStrategy"
    yield from check_object(strategy, field)
    written, rolling = _read(strategy)
    yield from check_name(written, f"{field}.type", (ROLLING_UPDATE, ON_DELETE))
    if written == ROLLING_UPDATE:
        yield from _check_daemon_rolling(rolling, f"{field}.rollingUpdate")


def _check_daemon_rolling(rolling: Any, field: str) -> Iterator[RefusedField]:
    """
    Check maxSurge and maxUnavailable, of which exactly one is not 0.

    Source: ``ValidateRollingUpdateDaemonSet``; pkg/apis/apps/v1 ``SetDefaults_DaemonSet``.
    """
    yield from check_object(rolling, field)
    unavailable, surge = (find_value(rolling, (name,)) for name in ("maxUnavailable", "maxSurge"))
    yield from check_limit(unavailable, f"{field}.maxUnavailable", is_share=True)
    yield from check_limit(surge, f"{field}.maxSurge", is_share=True)
    if surge is None or is_zero(surge):
        if is_zero(unavailable):
            error = required(f"{field}.maxUnavailable", "cannot be 0 when maxSurge is 0")
            yield advise(error, "write 1, or maxSurge: 1")
    elif isinstance(surge, (int, str)) and not is_zero(unavailable):
        problem = "may not be set when maxUnavailable is non-zero"
        error = invalid(f"{field}.maxSurge", surge, problem, named=True)
        default = " (1 if omitted)" if unavailable is None else ""
        yield advise(error, f"write 0, or maxUnavailable: 0{default}")
