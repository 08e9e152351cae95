"""
How the running pods of a workload are spread: the numbers behind the picture.

The counts are those of ``policy.placement``, so that they are what kube-scheduler would see.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from webhook.audit.report import DomainCount, SpreadReport
from webhook.policy.advice.context import ClusterState
from webhook.policy.advice.subject import RunningPods, Subject
from webhook.policy.api.gates import Gates
from webhook.policy.defaulting.profiles import ZONE
from webhook.policy.placement.nodes import Demands
from webhook.policy.placement.tallies import IncomingPod, PodTally

MOST_CELLS = 40  # of one row: more zones than there are anywhere, more nodes than anybody looks at


def measure_spreads(
    subject: Subject, survey: ClusterState, gates: Gates
) -> tuple[SpreadReport, ...]:
    """
    Look at the running pods of a workload.

    Returns:
        A row for each constraint that its pods have, in order; one for the zones if they have
        none. Nothing for pods that cannot be spread, or for fewer than two.
    """
    if subject.is_daemon or sum(group.number for group in subject.running) <= 1:
        return ()
    most = max(subject.running, key=lambda group: group.number)
    constraints = most.pod.constraints or subject.constraints
    if not constraints:
        return tuple(_unasked(subject, survey))
    pod = IncomingPod(subject.namespace, most.pod.labels, subject.demands)
    return tuple(map(_row, survey.tallies(pod, constraints, gates)))


def _row(tally: PodTally) -> SpreadReport:
    spread = tally.spread
    cells = _cells(tally.domains.sizes, tally.pods)
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


def _cells(sizes: Mapping[str, int], pods: Mapping[str, int]) -> tuple[DomainCount, ...]:
    """The cells of a row: of many domains the fullest, without looking at all the empty ones."""
    if len(sizes) <= MOST_CELLS:
        return tuple(
            DomainCount(value, sizes[value], pods.get(value, 0)) for value in sorted(sizes)
        )
    fullest = sorted(pods, key=lambda value: (-pods[value], value))[:MOST_CELLS]
    return tuple(DomainCount(value, sizes[value], pods[value]) for value in fullest)


def _unasked(subject: Subject, survey: ClusterState) -> Iterator[SpreadReport]:
    """The zones of a workload's own pods, that nothing asks to be even."""
    domains = survey.topology.domains(ZONE, (ZONE,), Demands(tolerations=None))
    pods = _pods_of(subject.running, domains.values)
    if not domains.sizes or not pods:
        return
    minimum = min(pods.values()) if len(pods) == len(domains.sizes) else 0
    cells = _cells(domains.sizes, pods)
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


def _pods_of(running: tuple[RunningPods, ...], values: Mapping[str, str]) -> Counter[str]:
    counted: Counter[str] = Counter()
    for group in running:
        for node, number in group.nodes.items():
            if node in values:
                counted[values[node]] += number
    return counted
