"""
Rule TSC110: something spreads a workload.

A constraint, a pod anti-affinity and defaults spread pods. kube-scheduler has defaults of its own,
which prefer emptier nodes and zones, and keep no pod from any. This module judges whether they are
enough; that they apply to a pod at all is decided as in ``policy.defaulting``. They count the pods
that the pod's controller selects: for a worker of a LeaderWorkerSet those of its group alone.

Source: kube-scheduler plugins/podtopologyspread/common.go ``buildDefaultConstraints``;
sigs.k8s.io/lws pkg/controllers/pod_controller.go ``constructWorkerStatefulSetApplyConfiguration``.
"""

from collections.abc import Iterator

import msgspec

from webhook.policy import render
from webhook.policy.advice.context import AdviceContext, ClusterState
from webhook.policy.advice.counting import list_revision_keys
from webhook.policy.advice.fields import SURGING
from webhook.policy.advice.findings import RuleViolation, quote_value
from webhook.policy.advice.flow import entries
from webhook.policy.advice.followednodes import matches_itself
from webhook.policy.advice.subject import Subject
from webhook.policy.advice.suggestions import ADD_LABELS, own_selector
from webhook.policy.api.gates import Gate
from webhook.policy.defaulting.forecast import ForecastFacts, first_pod, forecast_injection
from webhook.policy.defaulting.profiles import DEFAULT_SCHEDULER, SYSTEM_CONSTRAINTS
from webhook.policy.defaulting.selector import derive_scheduler_selector
from webhook.policy.facts import Facts
from webhook.policy.gangs import gang_field
from webhook.policy.model import (
    DO_NOT_SCHEDULE,
    HOSTNAME,
    SCHEDULE_ANYWAY,
    ZONE,
    Constraint,
    LabelSelector,
)
from webhook.policy.placement.allowedvalues import count_allowed_values
from webhook.policy.podlabels import naming_keys
from webhook.policy.selectors import SELECT_ALL

SUGGESTED = (ZONE, HOSTNAME)  # topology keys for a workload that nothing spreads

EXCLUSIVE_ANNOTATIONS = frozenset(
    {
        "alpha.jobset.sigs.k8s.io/exclusive-topology",
        "leaderworkerset.sigs.k8s.io/exclusive-topology",
        "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology",
    }
)
"""
Annotations by which the webhooks of LeaderWorkerSets and JobSets keep groups apart by affinity.

Source: sigs.k8s.io/lws pkg/webhooks/pod_webhook.go ``SetExclusiveAffinities``; jobset
pkg/webhooks/pod_mutating_webhook.go ``setExclusiveAffinities``.
"""


class DefaultSpread(msgspec.Struct, frozen=True):
    """
    The default constraints of a workload's pods.

    Attributes:
        source: What applies them, or why none applies.
        constraints: Those whose key is on a node; all if no node is known.
        injected: Whether the pods carry them, so that other rules judge the result.
    """

    source: str
    constraints: tuple[Constraint, ...] = ()
    injected: bool = False


def something_spreads(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """TSC110: without any spreading, all replicas may run on one node and be lost with it."""
    if subject.is_alone or not subject.most_replicas or Gate.EVEN_PODS_SPREAD not in context.gates:
        return
    if subject.is_partial or _is_spread(subject) or _is_pinned(subject):
        return
    if gang_field(subject.pod):
        return  # a gang works together: its PodGroup decides where
    defaults = find_defaults(subject, context)
    together = None if defaults.injected else _count_group(subject)
    counted = together or count_to_spread(subject)
    crowded = "" if defaults.injected else _find_crowd(subject, context.cluster)
    if not crowded and any(default.max_skew < counted for default in defaults.constraints):
        return
    problem, brief = _describe_problem(subject, defaults, crowded)
    yield RuleViolation(subject.list_path, problem, _suggest_constraints(subject, context), brief)


def _describe_problem(subject: Subject, defaults: DefaultSpread, crowded: str) -> tuple[str, str]:
    """Describe the violation at length and in brief; ``crowded`` is from ``_find_crowd``."""
    replicas = count_to_spread(subject)
    number = subject.scaling or f"{replicas} replicas"
    together = None if defaults.injected else _count_group(subject)
    if defaults.constraints and together is not None:
        return _describe_groups(f"groups of its {number}", together, defaults, crowded)
    if defaults.constraints:
        reason = crowded or f"a skew of {replicas}, all on one node, is within all of them"
        return (
            f"only {defaults.source} spread its {number}: {_describe(defaults)}; {reason}",
            f"only {defaults.source} spread its pods; {crowded or 'one node may have all'}",
        )
    problem = (
        f"nothing spreads its {number}: it has no constraint and no pod anti-affinity that "
        f"counts its own pods, and no default constraint applies, since {defaults.source}"
    )
    return problem, f"nothing spreads its {replicas} replicas"


def _describe_groups(
    groups: str, together: int, defaults: DefaultSpread, crowded: str
) -> tuple[str, str]:
    """Describe that groups of pods, whose workers count only their own one, are not spread."""
    reason = crowded or f"{together} pods, all on one node, are within all of them"
    problem = (
        f"nothing spreads the {groups}: for a worker, {defaults.source} count only the pods of its "
        f"group ({_describe(defaults)}); {reason}"
    )
    return (
        problem,
        f"nothing spreads the workers of its groups; {crowded or 'one node may have all'}",
    )


def _suggest_constraints(subject: Subject, context: AdviceContext) -> str:
    """Suggest constraints that no other rule finds fault with, TSC107 included."""
    selector = own_selector(subject, context.cluster)
    if selector == SELECT_ALL:
        return ADD_LABELS
    surges = subject.pods_kind in SURGING and not subject.recreates
    by_revision = surges and Gate.MATCH_LABEL_KEYS in context.gates
    keys = tuple(list_revision_keys(subject)) if by_revision else ()
    suggested = [
        render.constraint(Constraint(1, key, SCHEDULE_ANYWAY, selector, match_label_keys=keys))
        for key in SUGGESTED
        if key == HOSTNAME
        or (_is_on_all_nodes(key, context.facts) and not _is_confined(key, subject, context))
    ]
    return entries("topologySpreadConstraints", suggested)


def count_to_spread(subject: Subject) -> int:
    """Count the replicas to spread: the fewest that an autoscaler leaves if these are several."""
    scaling = subject.scaling
    most = subject.most_replicas or 0
    return scaling.least if scaling and scaling.least > 1 else most


def _count_group(subject: Subject) -> int | None:
    """Count the pods of a group, of which a LeaderWorkerSet has several; None without workers."""
    groups = subject.groups or 0
    if subject.members is None or groups <= 1:
        return None
    number = (subject.replicas or 0) // groups + subject.members.start
    return number if number > 1 else None


def find_defaults(subject: Subject, context: AdviceContext) -> DefaultSpread:
    """Find the defaults that a profile or kube-scheduler applies to a workload's pods."""
    policy, facts, namespace = context.policy, context.facts, subject.namespace
    pod = first_pod(subject.kind, subject.metadata.name, subject.pod)
    foreseen = forecast_injection(pod, namespace, policy, facts)
    if foreseen.entries and not foreseen.recommended:
        given = tuple(
            one for entry in foreseen.entries if _has_effect(one := entry.constraint, facts)
        )
        source = f"the defaults of profile {foreseen.profile}"
        return DefaultSpread(
            source if given else f"no node has a key of {source}", given, injected=True
        )
    scheduler = (pod.spec.scheduler_name if pod.spec else "") or DEFAULT_SCHEDULER
    constraints = policy.scheduler_defaults.get(scheduler)
    if constraints is None:
        return DefaultSpread(f"those of scheduler {quote_value(scheduler)} are unknown")
    if not constraints:
        return DefaultSpread(f"scheduler {quote_value(scheduler)} has none")
    if derive_scheduler_selector(pod, namespace, _foresee_controller(subject, facts)) is None:
        return DefaultSpread(
            "kube-scheduler's are only for pods of a Service, ReplicaSet, ReplicationController or "
            "StatefulSet"
        )
    is_system = constraints == SYSTEM_CONSTRAINTS
    name = "System defaults" if is_system else f"defaults of scheduler {quote_value(scheduler)}"
    present = tuple(one for one in constraints if _is_on_nodes(one.topology_key, facts))
    source = f"kube-scheduler's {name}" if is_system else f"the {name}"
    return DefaultSpread(source if present else "no node has a key of kube-scheduler's", present)


def _foresee_controller(subject: Subject, facts: Facts) -> Facts:
    """Return the facts with the controller of its pods; one that names them selects by that."""
    added = dict.fromkeys(naming_keys(subject.kind), subject.metadata.name)
    return ForecastFacts(facts, LabelSelector({**subject.labels, **added}))


def _is_on_all_nodes(key: str, facts: Facts) -> bool:
    """Whether no node is left out by a key; kube-scheduler scores those that lack one with 0."""
    return facts.nodes_with(key) == facts.schedulable_nodes()


def _is_confined(key: str, subject: Subject, context: AdviceContext) -> bool:
    """Whether nodeSelector and affinity leave its pods one of several domains of a key."""
    demands, cluster = subject.demands, context.cluster
    if cluster is None:
        return count_allowed_values(key, demands) == 1
    anywhere = demands.honoring(affinity=False, taints=True)
    own, every = (cluster.lasting_domains(key, (key,), one).sizes for one in (demands, anywhere))
    return len(own) == 1 < len(every)


def _is_on_nodes(key: str, facts: Facts) -> bool:
    return facts.nodes_with(key) > 0 or facts.schedulable_nodes() == 0


def _has_effect(default: Constraint, facts: Facts) -> bool:
    """Whether a default spreads pods, or keeps them Pending; a soft one over no node does not."""
    return default.when_unsatisfiable == DO_NOT_SCHEDULE or _is_on_nodes(
        default.topology_key, facts
    )


def _describe(defaults: DefaultSpread) -> str:
    listed = " and ".join(
        f"{one.when_unsatisfiable} over {one.topology_key} with maxSkew {one.max_skew}"
        for one in defaults.constraints
    )
    soft = all(one.when_unsatisfiable == SCHEDULE_ANYWAY for one in defaults.constraints)
    return f"{listed}, which prefer emptier domains and keep no pod from any" if soft else listed


def _find_crowd(subject: Subject, cluster: ClusterState | None) -> str:
    """Describe the one domain that has all running pods though they can go to others, or empty."""
    if cluster is None:
        return ""
    for key, place in ((HOSTNAME, "on node"), (ZONE, "in zone")):
        domains = cluster.schedulable(subject.demands).domains(key, (key,), subject.demands)
        placed = [
            (domains.values.get(node), number)
            for group in subject.running
            for node, number in group.nodes.items()
            if node
        ]
        values = {value for value, _ in placed}
        total = sum(number for _, number in placed)
        if len(domains.sizes) > 1 and total > 1 and len(values) == 1 and (value := values.pop()):
            return f"all its {total} pods run {place} {value}"
    return ""


def _is_pinned(subject: Subject) -> bool:
    """Whether its pods are meant for one node, or for the nodes of other workloads' pods."""
    return (
        subject.is_bound
        or count_allowed_values(HOSTNAME, subject.demands) == 1
        or any(
            term.topology_key == HOSTNAME and not matches_itself(term, subject)
            for term in subject.companions
        )
    )


def _is_spread(subject: Subject) -> bool:
    """Whether the template or the running pods have something that keeps the pods apart."""
    return (
        bool(subject.constraints)
        or subject.alone_on_node
        or any(group.pod.constraints for group in subject.running)
        or any(matches_itself(term, subject) for term in subject.anti_affinity)
        or not EXCLUSIVE_ANNOTATIONS.isdisjoint(subject.metadata.annotations)
    )
