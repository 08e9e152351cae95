"""
Pods that a workload still awaits: what lets all of them be placed beside those that run.

``suggest_change`` is the entry point. What is suggested is shown to be enough in every order of
placement, as far as the number of orders permits; otherwise a constraint is made soft. Where the
change creates all pods anew, they too must have a place.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from webhook.policy.advice.feasibility import FEASIBILITY_REPLICAS
from webhook.policy.advice.flow import member
from webhook.policy.advice.ordersearch import (
    Cell,
    DomainLimit,
    count_places,
    fit_in_every_order,
)
from webhook.policy.advice.recreation import RecreatedPods
from webhook.policy.advice.repeats import suggest_soft
from webhook.policy.advice.subject import Subject
from webhook.policy.model import Node
from webhook.policy.placement.scoring import filter_node
from webhook.policy.placement.tallies import PodTally


def count_awaited(subject: Subject) -> int:
    """
    Count the pods that have no node yet; 1 if the number is unknown, or for a rollout.

    An autoscaler keeps the fewest replicas of its range, whatever the object says.
    """
    placed = sum(group.placed for group in subject.running if not group.replaced)
    kept = subject.scaling.least if subject.scaling else 0
    return max(1, max(subject.replicas or 0, kept) - placed)


def count_places_of(tally: PodTally, nodes: Sequence[Node], most: int) -> int:
    """
    Count the pods that one constraint allows on some nodes, in whatever order.

    Args:
        nodes: Those that the pods can go to.
        most: Number of pods to place.
    """
    key, sizes = tally.spread.topology_key, tally.domains.sizes
    found = {node.labels[key] for node in nodes if key in node.labels}
    opened = [number for number, value in enumerate(sizes) if value in found]
    limit = _read_limit(tally)
    return count_places(limit, opened, most) if limit.adds and opened else most


def suggest_change(
    recreated: RecreatedPods,
    tallies: Sequence[PodTally],
    nodes: Sequence[Node],
    avoided: Sequence[PodTally] = (),
) -> tuple[str, str]:
    """
    Suggest the smallest raise of one maxSkew, or what makes a constraint soft.

    Args:
        recreated: All pods of the subject, if the change creates them anew.
        tallies: The hard constraints of the next pod.
        nodes: Those that the pod can go to; each is rejected by one of the constraints.
        avoided: The pods that its anti-affinity avoids, as the tallies of constraints.

    Returns:
        A field, and its new value or a comment.
    """
    subject = recreated.subject
    awaited = AwaitedPods.read((*tallies, *avoided), nodes, count_awaited(subject))
    raised = _find_raises(tallies, nodes)
    hard = [tally.spread.index for tally in tallies]
    index, skew = _find_change(awaited, raised, hard, recreated)
    if skew is not None:
        return subject.field(index, "maxSkew"), member("maxSkew", skew)
    soft = suggest_soft(subject.constraints[index], subject)
    return subject.field(index, "whenUnsatisfiable"), soft


def _find_change(
    awaited: "AwaitedPods",
    raised: Mapping[int, int],
    hard: Sequence[int],
    recreated: RecreatedPods,
) -> tuple[int, int | None]:
    """
    Find the constraint to change, first among those that TSC109 changes.

    Args:
        raised: As for ``AwaitedPods.find_raise``.
        hard: Indexes of the constraints.

    Returns:
        Its index, and its maxSkew; None to make it soft.
    """
    conflicting = recreated.list_conflicting()
    first = {index: raised[index] for index in conflicting if index in raised}
    if (found := awaited.find_raise(first, recreated)) is not None:
        return found
    soft = (index for index in conflicting if awaited.fit(without=index))
    if (index := next(filter(recreated.fit_without, soft), None)) is not None:
        return index, None
    if (found := awaited.find_raise(raised, recreated)) is not None:
        return found
    chosen = [*sorted(raised, key=lambda index: raised[index]), *hard]
    enough = [index for index in chosen if awaited.fit(without=index)] or chosen
    return next(filter(recreated.fit_without, enough), enough[0]), None


def _find_raises(tallies: Sequence[PodTally], nodes: Sequence[Node]) -> dict[int, int]:
    """Find for each constraint the smallest maxSkew with which a node takes the next pod."""
    raised: dict[int, int] = {}
    for node in nodes:
        # A node that a single constraint rejects for its skew passes once maxSkew is raised to it.
        tally, *others = [one for one in tallies if not filter_node(node, (one,)).passes]
        key, index = tally.spread.topology_key, tally.spread.index
        if not others and key in node.labels:
            skew = tally.skew(node.labels[key])
            raised[index] = min(skew, raised.get(index, skew))
    return raised


def _read_limit(tally: PodTally) -> DomainLimit:
    sizes = tally.domains.sizes
    return DomainLimit(
        tally.spread.max_skew,
        tuple(tally.pods.get(value, 0) for value in sizes),
        has_minimum=len(sizes) >= tally.spread.min_domains,
        adds=tally.matches_pod,
    )


@dataclass(frozen=True)
class AwaitedPods:
    """
    Pods to place, and what limits them.

    Attributes:
        limits: Index of a constraint -> its limit, in order.
        cells: The domains of the nodes that the pods can go to, in the same order.
        pods: How many there are.
    """

    limits: Mapping[int, DomainLimit]
    cells: Sequence[Cell]
    pods: int

    @classmethod
    def read(cls, tallies: Sequence[PodTally], nodes: Sequence[Node], pods: int) -> "AwaitedPods":
        """Read the limits, and the nodes that have all topology keys."""
        limits = {tally.spread.index: _read_limit(tally) for tally in tallies}
        numbers = [
            (tally.spread.topology_key, {value: i for i, value in enumerate(tally.domains.sizes)})
            for tally in tallies
        ]
        cells = [
            tuple(values[node.labels[key]] for key, values in numbers)
            for node in nodes
            if all(key in node.labels for key, _ in numbers)
        ]
        return cls(limits, cells, pods)

    def find_raise(
        self, raised: Mapping[int, int], recreated: RecreatedPods
    ) -> tuple[int, int] | None:
        """
        Find the smallest maxSkew of one constraint with which all pods have a place.

        With a maxSkew of all replicas, a constraint would keep none of them from any domain.

        Args:
            raised: Index of a constraint -> its smallest maxSkew to try.
            recreated: All pods of the workload, which must have a place, too.

        Returns:
            The index and the maxSkew; None if this can be shown of none.
        """
        replicas = recreated.subject.most_replicas
        pods = replicas if replicas and recreated.orders else self.pods
        more = range(min(pods, FEASIBILITY_REPLICAS))
        for skew, index in sorted((least + i, at) for at, least in raised.items() for i in more):
            if replicas is not None and skew >= replicas:
                return None
            changed = dataclasses.replace(self.limits[index], max_skew=skew)
            fit = dataclasses.replace(self, limits={**self.limits, index: changed}).fit()
            if fit is None:
                return None
            if fit and recreated.may_fit(index, skew):
                return index, skew
        return None

    def fit(self, *, without: int | None = None) -> bool | None:
        """Whether all pods have a place in every order, also without one of the constraints."""
        kept = [i for i, index in enumerate(self.limits) if index != without]
        limits = [limit for index, limit in self.limits.items() if index != without]
        cells = {tuple(cell[i] for i in kept) for cell in self.cells}
        return fit_in_every_order(limits, cells, self.pods)
