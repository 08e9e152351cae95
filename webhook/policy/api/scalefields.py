"""
What kube-apiserver refuses in the fields that say how many pods a workload has.

``find_scale_errors`` is the entry point. The rest of this project reads such fields leniently: what
is refused here never gets there. The messages are those of kube-apiserver, with what to write
instead.

Source: pkg/apis/apps/validation/validation.go ``ValidateDeploymentSpec``,
``ValidateStatefulSetSpec``, ``ValidateDaemonSetSpec``.
"""

from collections.abc import Iterator
from typing import Any

from webhook.policy import kinds
from webhook.policy.api import updatestrategies
from webhook.policy.api.fielderrors import invalid
from webhook.policy.api.jobfields import check_job
from webhook.policy.api.valuechecks import (
    RefusedField,
    advise,
    check_number,
    check_object,
    check_type,
)
from webhook.policy.model import GroupKind
from webhook.policy.paths import find_value, is_object

_SCALED = frozenset(
    {
        kinds.DEPLOYMENT,
        kinds.REPLICA_SET,
        kinds.REPLICATION_CONTROLLER,
        kinds.STATEFUL_SET,
        kinds.ROLLOUT,
    }
)
_JOB_FIELDS = {kinds.JOB: "spec", kinds.CRON_JOB: "spec.jobTemplate.spec"}
_POLICIES = ("OrderedReady", "Parallel")


def find_scale_errors(
    kind: GroupKind, workload: Any, *, has_set_limit: bool = True
) -> Iterator[RefusedField]:
    """
    Find the errors in replicas, parallelism, completions and update strategies.

    Args:
        workload: As decoded from JSON; one of another kind has no errors.
        has_set_limit: Whether the maxUnavailable of a StatefulSet is kept; otherwise only its type
            is checked.
    """
    if field := _JOB_FIELDS.get(kind):
        yield from check_job(find_value(workload, tuple(field.split("."))), field)
    spec = find_value(workload, ("spec",))
    if not is_object(spec):
        return
    if kind in _SCALED:
        is_checked = kind != kinds.ROLLOUT
        yield from check_number(spec.get("replicas"), "spec.replicas", is_checked=is_checked)
    if kind == kinds.DEPLOYMENT:
        yield from updatestrategies.check_deployment(spec.get("strategy"))
    elif kind == kinds.DAEMON_SET:
        yield from updatestrategies.check_daemon_set(spec.get("updateStrategy"))
    elif kind == kinds.STATEFUL_SET:
        yield from _check_stateful_set(spec, has_limit=has_set_limit)
    elif kind == kinds.ROLLOUT:
        yield from _check_rollout(spec)


def _check_stateful_set(spec: Any, *, has_limit: bool) -> Iterator[RefusedField]:
    """Check how pods are numbered, created and replaced."""
    yield from check_number(find_value(spec, ("ordinals", "start")), "spec.ordinals.start")
    policy = spec.get("podManagementPolicy")
    if isinstance(policy, str) and policy and policy not in _POLICIES:
        problem = f"must be '{_POLICIES[0]}' or '{_POLICIES[1]}'"
        error = invalid("spec.podManagementPolicy", policy, problem, named=True)
        yield advise(error, f"write {_POLICIES[0]}, or remove it")
    yield from updatestrategies.check_stateful_set(spec.get("updateStrategy"), has_limit=has_limit)


def _check_rollout(spec: Any) -> Iterator[RefusedField]:
    """Check the types alone: its controller judges the values."""
    canary = find_value(spec, ("strategy", "canary"))
    yield from check_object(canary, "spec.strategy.canary")
    for name in ("maxUnavailable", "maxSurge"):
        limit = find_value(canary, (name,))
        yield from check_type(limit, f"spec.strategy.canary.{name}", accepts_text=True)
