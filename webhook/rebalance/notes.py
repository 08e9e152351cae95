"""
What a user must know beside a plan: ``find_notes``.

Notes decide nothing: they name pods and objects that the plan leaves out, or cannot rely on.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

import msgspec

from webhook.policy.advice.findings import join_names
from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.tallies import PodTally
from webhook.policy.podlabels import REVISION_KEYS
from webhook.rebalance.budgets import PodDisruptionBudget
from webhook.rebalance.goals import SpreadGoal, find_excess, find_foreign
from webhook.rebalance.kinds import find_families, find_label_keys
from webhook.rebalance.pods import EvictionObstacle, WorkloadPod


class NoteKind(StrEnum):
    """What a note is about."""

    PENDING = "pods without a node, see evenspread explain, and plan again when they run"
    MISSING = "fewer pods than replicas, plan again when the controllers have created them"
    FOREIGN = "not planned, uneven constraints that count only other pods"
    CLOSED = (
        "not planned, soft constraints that are uneven only with domains whose nodes can take no "
        "pod now, see evenspread explain"
    )
    NO_KEY = "not counted, pods on nodes without a topology key of their constraints"
    ROLLOUT = "pods of several revisions, plan again if a rollout is running"
    TEMPLATE = "templates that differ from their pods, replacements may be placed elsewhere"
    PREFERENCE = "preferred affinity is not considered, soft constraints may not be restored"
    SURPLUS = "more pods than replicas, whose controllers replace no evicted pod"
    BUDGET_STATUS = (
        "kube-apiserver refuses evictions now, by the status of PodDisruptionBudgets unlike their "
        "spec"
    )


class PlanNote(msgspec.Struct, frozen=True):
    """A note, with the names of its pods, workloads or PodDisruptionBudgets and their namespace."""

    kind: NoteKind
    names: tuple[str, ...]


def find_notes(
    pods: Sequence[WorkloadPod],
    tallies: Iterable[tuple[SpreadGoal, PodTally]],
    cluster: SchedulingCluster,
    budgets: Iterable[PodDisruptionBudget],
) -> tuple[PlanNote, ...]:
    """
    Find the notes of a plan, in the order of their kinds.

    Args:
        pods: All pods in the scope.
        tallies: The constraints of the scope, as they are before the plan.
    """
    known = list(tallies)
    uneven = [goal for goal, tally in known if find_excess(tally)]
    counted = [one for one in pods if any(goal.counts(one.pod) for goal in uneven)]
    families = list(find_families(pods, find_label_keys(pods, cluster)))
    names = {
        NoteKind.PENDING: tuple(_name(one) for one in pods if _is_waiting(one, uneven)),
        NoteKind.MISSING: tuple(
            _list_workloads(one for one in pods if one.missing > 0 and one.spreads.by_index)
        ),
        NoteKind.FOREIGN: find_foreign(families, cluster.topology, cluster.placed.census),
        NoteKind.CLOSED: tuple(dict.fromkeys(_find_closed(known, cluster))),
        NoteKind.NO_KEY: tuple(_find_keyless(pods, [goal for goal, _ in known], cluster)),
        NoteKind.ROLLOUT: tuple(_find_rollouts(_add_siblings(counted, pods))),
        NoteKind.TEMPLATE: tuple(_find_differences(counted)),
        NoteKind.PREFERENCE: tuple(_find_preferences(counted)),
        NoteKind.SURPLUS: tuple(_list_workloads(one for one in counted if one.is_surplus)),
        NoteKind.BUDGET_STATUS: tuple(_find_refusing(counted, budgets)),
    }
    return tuple(PlanNote(kind, found) for kind, found in names.items() if found)


def _is_waiting(one: WorkloadPod, uneven: Sequence[SpreadGoal]) -> bool:
    """Whether a pod without a node has constraints, or counts for one that does not hold."""
    has_constraints = one.is_spread and bool(one.spreads.by_index)
    return not one.pod.node_name and (
        has_constraints or any(goal.counts(one.pod) for goal in uneven)
    )


def _name(one: WorkloadPod) -> str:
    return f"{one.pod.namespace}/{one.pod.name}"


def _find_closed(
    tallies: Iterable[tuple[SpreadGoal, PodTally]], cluster: SchedulingCluster
) -> Iterator[str]:
    """Find workloads that are even only as kube-scheduler scores: by domains that can take pods."""
    for goal, tally in tallies:
        whole = goal.tally(cluster.topology, cluster.placed.census)
        closed = whole.domains.sizes.keys() - tally.domains.sizes.keys()
        if closed and find_excess(whole) and not find_excess(tally):
            domains = join_names(sorted(closed), most=3)
            yield from (f"{name} in {goal.pod.namespace} ({domains})" for name in goal.workloads)


def _find_keyless(
    pods: Iterable[WorkloadPod], goals: Sequence[SpreadGoal], cluster: SchedulingCluster
) -> Iterator[str]:
    """Find pods that a constraint would count on another node."""
    for one in pods:
        node = cluster.nodes.get(one.pod.node_name)
        if node is not None and any(
            goal.spread.topology_key not in node.labels and goal.counts(one.pod) for goal in goals
        ):
            yield _name(one)


_WITHOUT_ROLLOUT = (EvictionObstacle.TERMINATING, EvictionObstacle.GROUP)
"""Obstacles of pods that show no rollout: each group of pods has revisions of its own."""


def _add_siblings(
    counted: Iterable[WorkloadPod], pods: Iterable[WorkloadPod]
) -> Iterator[WorkloadPod]:
    """Add the other pods of their workloads, such as those of revisions that count separately."""
    workloads = {(one.pod.namespace, one.workload) for one in counted}
    return (one for one in pods if (one.pod.namespace, one.workload) in workloads)


def _find_rollouts(pods: Iterable[WorkloadPod]) -> Iterator[str]:
    """Find workloads with pods of several revisions."""
    found = defaultdict[str, set[tuple[str, ...]]](set)
    for one in pods:
        if one.workload and one.obstacle not in _WITHOUT_ROLLOUT:
            revision = tuple(one.pod.labels.get(key, "") for key in REVISION_KEYS)
            found[f"{one.workload} in {one.pod.namespace}"].add(revision)
    return (name for name, revisions in found.items() if len(revisions) > 1)


def _find_differences(pods: Iterable[WorkloadPod]) -> Iterator[str]:
    """Find workloads whose pods have other demands than the templates of their controllers."""
    found = defaultdict[str, dict[str, None]](dict)
    for one in pods:
        if one.is_spread and one.differences:
            found[f"{one.workload} in {one.pod.namespace}"].update(dict.fromkeys(one.differences))
    return (f"{name} ({join_names(tuple(texts), most=3)})" for name, texts in found.items())


def _find_preferences(pods: Iterable[WorkloadPod]) -> Iterator[str]:
    """Find workloads with soft constraints for whose pods preferred affinity ranks nodes, too."""
    return _list_workloads(one for one in pods if one.may_be_ranked_otherwise)


def _list_workloads(pods: Iterable[WorkloadPod]) -> Iterator[str]:
    """List the workloads of pods that may be evicted, each once."""
    spread = (one for one in pods if one.is_spread)
    yield from dict.fromkeys(f"{one.workload} in {one.pod.namespace}" for one in spread)


def _find_refusing(
    pods: Sequence[WorkloadPod], budgets: Iterable[PodDisruptionBudget]
) -> Iterator[str]:
    """Find budgets by whose status the eviction API refuses what their spec allows."""
    for budget in budgets:
        is_refusing = budget.is_exhausted and budget.allows(0, is_ready=True)
        if is_refusing and any(budget.selects(one.pod.namespace, one.pod.labels) for one in pods):
            yield f"{budget.namespace}/{budget.name}"
