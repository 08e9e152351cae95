"""
A global minimum that no eviction, restart or Pending pod raises: what raises it, for TSC114.

``suggest_raising`` is the entry point. The minimum is fixed if there are fewer domains than
minDomains, or if no pod can go to one of the emptiest domains. Then every other domain takes
maxSkew more pods at most. Node states that pass, such as a cordon, call for another remedy than
affinity and taints that stay.

Source: kube-scheduler plugins/podtopologyspread/filtering.go ``minMatchNum``.
"""

from collections.abc import Sequence

from webhook.policy.advice.closeddomains import (
    find_closed,
    suggest_policies,
    suggest_without_policies,
)
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.findings import join_names
from webhook.policy.advice.mindomains import suggest_min_domains
from webhook.policy.advice.restarts import (
    MOVE_DATA,
    describe_moving,
    suggest_adding,
    suggest_opening,
)
from webhook.policy.advice.subject import Subject
from webhook.policy.advice.volumes import volumes_keep_pods
from webhook.policy.api.gates import Gate
from webhook.policy.model import DO_NOT_SCHEDULE
from webhook.policy.placement.allowedvalues import count_allowed_values
from webhook.policy.placement.tallies import MinimumReason, PodTally


def suggest_raising(
    subject: Subject, tally: PodTally, keys: tuple[str, ...], context: AdviceContext
) -> str | None:
    """
    Suggest what raises the minimum, if the skew cannot end otherwise; a YAML comment.

    Args:
        subject: The workload, with the constraints that its pods have.
        tally: The pods that one of them counts.
        keys: The topology keys of all hard constraints.
    """
    if tally.spread.constraint.when_unsatisfiable != DO_NOT_SCHEDULE:
        return None  # it counts only domains that pods can go to now, and has no minDomains
    is_short = tally.minimum_reason is MinimumReason.TOO_FEW_DOMAINS
    closed = _list_closed(subject, tally, keys, context)
    # Closed domains stay at the minimum, so that every other one takes maxSkew more at most.
    places = tally.minimum * len(closed)
    places += (tally.minimum + tally.spread.max_skew) * (len(tally.domains.sizes) - len(closed))
    pods = sum(tally.pods.values())
    if is_short:  # pods in domains that do not count have to be placed by a restart as well
        pods = max(pods, sum(group.placed for group in subject.running if not group.replaced))
    if pods <= places or not (closed or is_short):
        return None
    if lasting := _suggest_leaving_out(subject, tally, keys, closed, context):
        return lasting
    return (
        _suggest_domains(subject, tally, keys, context)
        if is_short
        else suggest_opening(closed, _describe_next(subject, tally, context))
    )


def _list_closed(
    subject: Subject, tally: PodTally, keys: tuple[str, ...], context: AdviceContext
) -> list[str]:
    """List the emptiest of the counted domains where no pod can go now."""
    assert context.cluster is not None, "the rule runs in audits"
    key, domains = tally.spread.topology_key, tally.domains.sizes
    reached = context.cluster.topology.reachable(key, keys, subject.demands).sizes
    least = min((tally.pods.get(value, 0) for value in domains), default=0)
    emptiest = [value for value in domains if tally.pods.get(value, 0) == least]
    return [value for value in emptiest if value not in reached and least == tally.minimum]


def _suggest_leaving_out(
    subject: Subject,
    tally: PodTally,
    keys: tuple[str, ...],
    closed: Sequence[str],
    context: AdviceContext,
) -> str | None:
    """Suggest what TSC105 and TSC116 suggest, if affinity or taints close a domain for good."""
    found = find_closed(tally.spread, keys, subject.demands, context)
    lasting = sorted(set(closed).intersection(found.values)) if found else []
    if found is None or not lasting:
        return None
    cure = suggest_without_policies(subject, tally.spread.index, found)
    if Gate.NODE_INCLUSION_POLICY in context.gates:
        _, policies = suggest_policies(subject, tally.spread.index, found)
        cure = f"write {' and '.join(policies.splitlines())}"
    return f"# no pod can go to {join_names(lasting)}: {cure}, and audit again after its rollout"


def _suggest_domains(
    subject: Subject, tally: PodTally, keys: tuple[str, ...], context: AdviceContext
) -> str:
    """Suggest what makes the domains as many as minDomains."""
    assert context.cluster is not None, "the rule runs in audits"
    spread, demands = tally.spread, subject.demands
    returned = context.cluster.lasting_domains(spread.topology_key, keys, demands).sizes
    closed = sorted(returned.keys() - tally.domains.sizes.keys())
    lacking = spread.min_domains - len(tally.domains.sizes) - len(closed)
    then = _describe_next(subject, tally, context)
    if lacking <= 0:
        return suggest_opening(closed, then)
    written = suggest_min_domains(subject, spread.index, max(len(returned), 1), context)
    lowered = f"write {' and '.join(written.splitlines())}"
    most = count_allowed_values(spread.topology_key, demands) if spread.honors_affinity else None
    can_add = most is None or most >= spread.min_domains
    return suggest_adding(closed, lacking if can_add else 0, lowered, then)


def _describe_next(subject: Subject, tally: PodTally, context: AdviceContext) -> str:
    """Describe what to do once the minimum can rise; data is not to be moved before that."""
    assert context.cluster is not None, "the rule runs in audits"
    if volumes_keep_pods(subject, tally.spread.topology_key, context.cluster):
        # Pods that run return to their volumes elsewhere.
        return MOVE_DATA if subject.has_all_pods else "audit again once its pods run"
    return describe_moving(subject)
