"""
Spreads of running pods: number of pods in each domain, and the skew.

``measure_spreads`` uses the counts of ``policy.placement``, which are those of kube-scheduler.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from webhook.audit.report import DomainCount, SpreadReport
from webhook.policy.advice.context import ClusterState
from webhook.policy.advice.subject import Subject
from webhook.policy.api.gates import Gates
from webhook.policy.defaulting.profiles import ZONE
from webhook.policy.placement.nodes import Demands
from webhook.policy.placement.tallies import IncomingPod, PodTally

MOST_CELLS = 40  # of one spread: more zones than any cluster has, more nodes than a reader compares


def measure_spreads(
    subject: Subject, state: ClusterState, gates: Gates
) -> tuple[SpreadReport, ...]:
    """
    Measure the spread of a workload's running pods.

    Returns:
        One spread for each constraint of the pods, in order; one over zones if they have no
        constraint. Empty for pods that cannot be spread, and for fewer than two pods.
    """
    if subject.is_daemon or sum(group.number for group in subject.running) <= 1:
        return ()
    largest = max(subject.running, key=lambda group: group.number)
    constraints = largest.pod.constraints or subject.constraints
    if not constraints:
        return tuple(_measure_zones(subject, state))
    pod = IncomingPod(subject.namespace, largest.pod.labels, subject.demands)
    return tuple(map(_build_spread, state.tallies(pod, constraints, gates)))


def _build_spread(tally: PodTally) -> SpreadReport:
    spread = tally.spread
    cells = _build_cells(tally.domains.sizes, tally.pods)
    return SpreadReport(
        topology_key=spread.topology_key,
        when_unsatisfiable=spread.constraint.when_unsatisfiable,
        max_skew=spread.max_skew,
        minimum=tally.minimum,
        floor=str(tally.minimum_reason),
        skew=max(tally.pods.values(), default=0) - tally.minimum,
        domains=len(tally.domains.sizes),
        cells=cells,
        left_out=len(tally.domains.sizes) - len(cells),
    )


def _build_cells(sizes: Mapping[str, int], pods: Mapping[str, int]) -> tuple[DomainCount, ...]:
    """Build the cells; of many domains the fullest ones, without a walk over the empty ones."""
    if len(sizes) <= MOST_CELLS:
        return tuple(
            DomainCount(value, sizes[value], pods.get(value, 0)) for value in sorted(sizes)
        )
    fullest = sorted(pods, key=lambda value: (-pods[value], value))[:MOST_CELLS]
    return tuple(DomainCount(value, sizes[value], pods[value]) for value in fullest)


def _measure_zones(subject: Subject, state: ClusterState) -> Iterator[SpreadReport]:
    """Measure the spread of a workload's own pods over zones, which no constraint limits."""
    domains = state.topology.domains(ZONE, (ZONE,), Demands(tolerations=None))
    pods = Counter[str]()
    for group in subject.running:
        for node, number in group.nodes.items():
            if node in domains.values:
                pods[domains.values[node]] += number
    if not domains.sizes or not pods:
        return
    minimum = min(pods.values()) if len(pods) == len(domains.sizes) else 0
    cells = _build_cells(domains.sizes, pods)
    yield SpreadReport(
        topology_key=ZONE,
        when_unsatisfiable="",
        max_skew=None,
        minimum=minimum,
        floor="",
        skew=max(pods.values()) - minimum,
        domains=len(domains.sizes),
        cells=cells,
        left_out=len(domains.sizes) - len(cells),
    )
