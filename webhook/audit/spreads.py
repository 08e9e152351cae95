"""
Spreads of running pods: where the pods of a workload are, and what its constraints count.

``measure_spreads`` uses the counts of ``policy.placement``, which are those of kube-scheduler. The
pods of a workload are split by what their constraints count together; see ``revisions``.
"""

from collections.abc import Iterable, Iterator, Mapping

from webhook.audit.report import DomainCount, SpreadReport, UncountedPods
from webhook.audit.revisions import PodRevision, split_revisions
from webhook.policy.advice.context import ClusterState
from webhook.policy.advice.skew import evens_out, leave_out_replaced
from webhook.policy.advice.subject import Subject
from webhook.policy.api.gates import Gates
from webhook.policy.model import ZONE
from webhook.policy.placement.nodes import Demands
from webhook.policy.placement.tallies import IncomingPod, MinimumReason, PodTally
from webhook.rebalance.bounds import UNREACHABLE, bound_goal
from webhook.rebalance.counts import CompiledLimit
from webhook.rebalance.ranges import DomainRange

MOST_CELLS = 40  # of one spread: more zones than any cluster has, more nodes than a reader compares

_WITHOUT_DOMAIN = (MinimumReason.TOO_FEW_DOMAINS, MinimumReason.NO_DOMAIN)


def measure_spreads(
    subject: Subject, state: ClusterState, gates: Gates, default_keys: Iterable[str] = ()
) -> tuple[SpreadReport, ...]:
    """
    Measure the spread of a workload's running pods.

    Args:
        default_keys: Topology keys of the constraints that its next pods get by default.

    Returns:
        For each revision of the pods, the largest first, one spread for each of their constraints,
        in order; one over zones and one for each default key if they have no constraint. Empty for
        pods that cannot be spread, and for fewer than two pods.
    """
    if subject.is_daemon or sum(group.number for group in subject.running) <= 1:
        return ()
    keys = dict.fromkeys((ZONE, *default_keys))
    rows: list[SpreadReport] = []
    for revision in split_revisions(subject, gates):
        if revision.constraints:
            rows += _measure_constraints(subject, revision, state, gates)
        else:
            rows += _measure_keys(revision, state, keys)
    return tuple(rows)


def _measure_constraints(
    subject: Subject, revision: PodRevision, state: ClusterState, gates: Gates
) -> Iterator[SpreadReport]:
    if not revision.is_replaced:
        state = leave_out_replaced(subject, state)
    pod = IncomingPod(subject.namespace, revision.labels, subject.demands)
    whole = state.tally(pod, revision.constraints, gates)
    eligible = {tally.spread.index: tally.domains.values for tally in (*whole.hard, *whole.soft)}
    for tally in state.tallies(pod, revision.constraints, gates):
        spread = tally.spread
        located = LocatedPods(revision, spread.topology_key, state)
        is_short = tally.minimum_reason in _WITHOUT_DOMAIN
        own_skew = located.skew(tally.domains.sizes, is_short=is_short)
        counted, uncounted = located.count(tally, eligible[spread.index])
        cells, left_out = _build_cells(tally.domains.sizes, tally.pods, located)
        yield SpreadReport(
            topology_key=spread.topology_key,
            revision=revision.name,
            replaced=revision.is_replaced,
            rolling_out=revision.is_unordered or _converges(subject, revision, tally),
            when_unsatisfiable=spread.constraint.when_unsatisfiable,
            max_skew=spread.max_skew,
            minimum=tally.minimum,
            floor=str(tally.minimum_reason),
            skew=tally.largest_skew,
            domains=len(tally.domains.sizes),
            cells=cells,
            left_out=left_out,
            own=revision.number,
            own_skew=own_skew,
            counted=counted,
            others=sum(tally.pods.values()) - counted,
            uncounted=uncounted,
            min_domains=spread.min_domains,
            evictions=count_evictions(tally),
        )


def count_evictions(tally: PodTally) -> int | None:
    """
    Count the fewest evictions after which a constraint holds, if every domain has room.

    Other constraints and full nodes can require more; ``rebalance`` considers them.

    Returns:
        None if no number of evictions suffices, for lack of domains.
    """
    spread, size = tally.spread, len(tally.domains.sizes)
    if tally.largest_skew <= spread.max_skew:
        return 0
    pods = [tally.pods.get(domain, 0) for domain in tally.domains.sizes]
    total = sum(pods)
    reach = DomainRange((0,) * size, (total,) * size, total, is_closed=True)
    limit = CompiledLimit(0, spread.max_skew, spread.min_domains, matches_pod=True)
    evictions = bound_goal(limit, size, reach).find_least(pods).total
    return None if evictions >= UNREACHABLE else evictions


def _converges(subject: Subject, revision: PodRevision, tally: PodTally) -> bool:
    """Whether the skew exceeds maxSkew until a rollout has created the missing pods."""
    exceeds = tally.largest_skew > tally.spread.max_skew
    return exceeds and not revision.is_replaced and evens_out(subject, tally)


def _measure_keys(
    revision: PodRevision, state: ClusterState, keys: Iterable[str]
) -> Iterator[SpreadReport]:
    """Measure where pods are that no constraint limits; skip keys that none of their nodes has."""
    for key in keys:
        located = LocatedPods(revision, key, state)
        if not located.by_value:
            continue
        sizes = located.sizes
        skew = located.skew(sizes, is_short=False)
        cells, left_out = _build_cells(sizes, located.by_value, located)
        yield SpreadReport(
            topology_key=key,
            revision=revision.name,
            replaced=revision.is_replaced,
            when_unsatisfiable="",
            max_skew=None,
            minimum=max(located.by_value.values()) - skew,
            floor="",
            skew=skew,
            domains=len(sizes),
            cells=cells,
            left_out=left_out,
            own=revision.number,
            own_skew=skew,
            uncounted=located.outside,
        )


class LocatedPods:
    """
    The pods of a revision by the value of one topology key on their nodes.

    Attributes:
        by_value: Value -> pods, at least 1, on eligible nodes and others.
        outside: Pods without a value.
        sizes: Value -> number of all nodes with it.
    """

    def __init__(self, revision: PodRevision, key: str, state: ClusterState) -> None:
        """Locate the pods; O(nodes with these pods), once the nodes of the key are cached."""
        everywhere = state.topology.domains(key, (key,), Demands(tolerations=None))
        self.sizes = everywhere.sizes
        self.by_value = by_value = dict[str, int]()
        self._revision, self._values = revision, everywhere.values
        pending = unknown_node = without_key = 0
        for node, number in revision.nodes.items():
            value = everywhere.values.get(node)
            if value is not None:
                by_value[value] = by_value.get(value, 0) + number
            elif not node:
                pending += number
            elif node in everywhere.left_out:
                without_key += number
            else:
                unknown_node += number
        self.outside = UncountedPods(pending, unknown_node, without_key)

    def skew(self, domains: Mapping[str, int], *, is_short: bool) -> int:
        """
        Calculate the pods of the fullest value above those of the emptiest domain.

        Args:
            domains: Domain -> number of nodes.
            is_short: Whether the emptiest domain counts as 0, for lack of domains.
        """
        inside = [pods for value, pods in self.by_value.items() if value in domains]
        least = 0 if is_short or len(inside) < len(domains) else min(inside, default=0)
        return max(self.by_value.values(), default=0) - least

    def count(self, tally: PodTally, eligible: Mapping[str, str]) -> tuple[int, UncountedPods]:
        """
        Count the pods that a constraint counts, and the others by their reason.

        Args:
            eligible: Name of each node that is eligible for the constraint -> its domain.
        """
        counted = unselected = ineligible = 0
        for group in self._revision.groups:
            selected = tally.spread.counts(group.pod.labels)
            for node, number in group.nodes.items():
                if node not in self._values:
                    continue
                if eligible.get(node) not in tally.domains.sizes:
                    ineligible += number
                elif not selected:
                    unselected += number
                else:
                    counted += number
        outside = self.outside
        return counted, UncountedPods(
            outside.pending, outside.unknown_node, outside.without_key, ineligible, unselected
        )


def _build_cells(
    sizes: Mapping[str, int], pods: Mapping[str, int], located: LocatedPods
) -> tuple[tuple[DomainCount, ...], int]:
    """
    Build the cells; of many values the fullest ones, without a walk over the empty ones.

    Returns:
        The cells, and the number of values that have none.
    """
    own = located.by_value
    others = [value for value in own if value not in sizes]
    total = len(sizes) + len(others)
    if total <= MOST_CELLS:
        values = sorted((*sizes, *others))
    else:
        full = {value: max(pods.get(value, 0), own.get(value, 0)) for value in (*pods, *own)}
        values = sorted(full, key=lambda value: (-full[value], value))[:MOST_CELLS]
    cells = tuple(
        DomainCount(
            value,
            sizes.get(value, 0),
            pods.get(value, 0),
            own.get(value, 0),
            located.sizes.get(value, 0),
        )
        for value in values
    )
    return cells, total - len(cells)
