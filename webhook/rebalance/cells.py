"""
Nodes that a plan need not tell apart: ``divide_nodes``.

The nodes of one *cell* are in the same domains of all constraints, and the same replacements pass
the filters there; only how many pods a cell has matters. The cells of one *group* are in different
domains, which only they are in, and are alike otherwise: exchanging the pods of two of them changes
nothing that a plan depends on.
"""

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Sequence
from operator import ge
from typing import NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from webhook.policy.model import HOSTNAME, Node
from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.filters.resources import Resources
from webhook.policy.placement.tallies import PodTally
from webhook.rebalance.kinds import PodKind, SortedPods

AMPLE = 1 << 62  # more than any node has of any resource

SPARE_PODS = 2  # more than the fullest node has now: where a plan rarely brings a node


class NodeCell(msgspec.Struct, frozen=True):
    """
    Nodes that are alike.

    Attributes:
        free: What is free for pods that may move, by dimension; may be negative.
        passes: By kind, whether a replacement passes the filters beside pods that stay.
        place: What distinguishes it from other cells, besides what is free.
        ceiling: Number of pods from which an assumption about ``free`` may fail; None if there is
            no assumption.
    """

    nodes: tuple[Node, ...]
    free: tuple[int, ...]
    passes: tuple[bool, ...]
    place: object
    ceiling: int | None = None


class NodeLimit(NamedTuple):
    """
    The pods that may move of which a node never takes one more, whatever its room.

    Attributes:
        most: Number of pods.
        nodes: Names of the nodes.
    """

    most: int
    nodes: Container[str]


Column: TypeAlias = tuple[int, ...]
"""The pods of a cell by kind, or amounts by dimension."""

State: TypeAlias = tuple[Column, ...]
"""The columns of all cells."""


class StateSpace(msgspec.Struct, frozen=True):
    """
    The kinds of pods and the cells of nodes, whose numbers of pods are the states of a plan.

    Attributes:
        requests: By kind, what a pod takes in each dimension of ``NodeCell.free``.
        index: Node name -> its cell.
    """

    pods: SortedPods
    cells: tuple[NodeCell, ...]
    requests: tuple[Column, ...]
    index: dict[str, int]

    @property
    def kinds(self) -> tuple[PodKind, ...]:
        """The kinds of the pods."""
        return self.pods.kinds

    @property
    def nodes(self) -> list[Node]:
        """The first node of each cell."""
        return [cell.nodes[0] for cell in self.cells]

    @property
    def groups(self) -> tuple[int, ...]:
        """The number of the group of each cell."""
        numbers: dict[object, int] = {}
        places = ((cell.place, cell.passes, cell.free, cell.ceiling) for cell in self.cells)
        return tuple(numbers.setdefault(place, len(numbers)) for place in places)

    def assume_room(self) -> "StateSpace":
        """
        Assume that there is room on nodes that have more than a plan is likely to need.

        Nodes that differ only in what is free are then alike. A search that comes to the ceiling
        of a cell has to be repeated without this assumption.
        """
        most = max(map(sum, self.count_start())) + SPARE_PODS
        return replace(
            self,
            cells=tuple(
                replace(cell, free=(AMPLE,), ceiling=most)
                if len(cell.free) == len(cell.nodes) == 1 and most < cell.free[0] < AMPLE
                else cell
                for cell in self.cells
            ),
        )

    def count_start(self) -> State:
        """Count the pods of each kind in each cell, before any eviction."""
        columns = [[0] * len(self.kinds) for _ in self.cells]
        for (kind, node), members in self.pods.members.items():
            columns[self.index[node]][kind] += len(members)
        return tuple(map(tuple, columns))


def divide_nodes(
    pods: SortedPods,
    tallies: Sequence[PodTally],
    limits: Sequence[NodeLimit],
    cluster: SchedulingCluster,
) -> StateSpace:
    """
    Divide the nodes into cells; O(nodes x (tallies + kinds)).

    Args:
        tallies: All constraints of the pods.
        limits: What else limits the pods that may move.
        cluster: The cluster without the pods that may move.
    """
    nodes = cluster.topology.nodes
    frees, requests = _measure(pods, limits, cluster)
    joined = _join_nodes(pods, tallies, nodes, frees)
    carriers = _count_carriers([nodes[positions[0]] for positions in joined], tallies)
    cells: list[NodeCell] = []
    for positions in joined:
        first = nodes[positions[0]]
        totals = zip(*(frees[position] for position in positions), strict=True)
        free = tuple(min(sum(total), AMPLE) for total in totals)
        places = tuple(
            _place(tally, first, values) for tally, values in zip(tallies, carriers, strict=True)
        )
        passed = tuple(kind.nodes[positions[0]] for kind in pods.kinds)
        place = (places, "" if pods.is_simple else first.name)
        cells.append(NodeCell(tuple(nodes[one] for one in positions), free, passed, place))
    index = {node.name: number for number, cell in enumerate(cells) for node in cell.nodes}
    return StateSpace(pods, tuple(cells), requests, index)


def _join_nodes(
    pods: SortedPods,
    tallies: Sequence[PodTally],
    nodes: Sequence[Node],
    frees: Sequence[Column],
) -> list[list[int]]:
    """Join the positions of nodes that form a cell."""
    current = Counter[str]()
    for (_, name), members in pods.members.items():
        current[name] += len(members)
    scores_nodes = any(_scores_nodes(tally) for tally in tallies)
    joined = defaultdict[object, list[int]](list)
    for position, (node, free) in enumerate(zip(nodes, frees, strict=True)):
        # What is free on several nodes adds up only if it is a number of pods, all of which fit.
        adds_up = free[0] >= AMPLE or (len(free) == 1 and free[0] >= current[node.name])
        is_alone = scores_nodes or not pods.is_simple or not adds_up
        traits = tuple(_locate(tally, node) for tally in tallies)
        passed = tuple(kind.nodes[position] for kind in pods.kinds)
        joined[traits, passed, node.name if is_alone else ""].append(position)
    return list(joined.values())


def _scores_nodes(tally: PodTally) -> bool:
    return tally.spread.topology_key == HOSTNAME


def _locate(tally: PodTally, node: Node) -> tuple[str | None, bool]:
    return node.labels.get(tally.spread.topology_key), node.name in tally.domains.values


def _count_carriers(nodes: Iterable[Node], tallies: Sequence[PodTally]) -> list[Counter[str]]:
    """Count, for each tally, the cells with each value of its topology key."""
    listed = list(nodes)
    return [
        Counter(node.labels.get(tally.spread.topology_key, "") for node in listed)
        for tally in tallies
    ]


def _place(tally: PodTally, node: Node, carriers: Counter[str]) -> object:
    """Describe the domain of a node, by what it has if no other cell is in it."""
    value, is_eligible = _locate(tally, node)
    fixed = tally.by_node.get(node.name, 0) if _scores_nodes(tally) else 0
    if value is None or carriers[value] > 1:
        return value, is_eligible, fixed
    return tally.pods.get(value, 0), is_eligible, fixed


def _measure(
    pods: SortedPods, limits: Sequence[NodeLimit], cluster: SchedulingCluster
) -> tuple[list[Column], tuple[Column, ...]]:
    """
    Measure what is free on each node, and what a pod of each kind takes.

    Kinds with the same requests are measured in one dimension, the number of their pods.
    """
    names = sorted({name for kind in pods.kinds for name in kind.requests.scalars})
    vectors = [_list_amounts(kind.requests, 1, names) for kind in pods.kinds]
    numbers = Counter[int]()
    for (kind, _), members in pods.members.items():
        numbers[kind] += len(members)
    most = [max(amounts) * numbers.total() for amounts in zip(*vectors, strict=True)]
    frees = [_list_free(node, names, cluster) for node in cluster.topology.nodes]
    if len(set(vectors)) > 1:
        unlimited = (AMPLE,) * len(most)
        fits_all = [all(map(ge, free, most)) for free in frees]
        chosen = [unlimited if fits else free for fits, free in zip(fits_all, frees, strict=True)]
        return chosen, tuple(vectors)
    slots = [_count_slots(free, vectors[0]) for free in frees]
    enough = [
        min([numbers.total(), *(limit.most for limit in limits if node.name in limit.nodes)])
        for node in cluster.topology.nodes
    ]
    pairs = zip(slots, enough, strict=True)
    counted: list[Column] = [(AMPLE if slot >= most else slot,) for slot, most in pairs]
    return counted, ((1,),) * len(vectors)


def _list_amounts(resources: Resources, pods: int, names: Sequence[str]) -> tuple[int, ...]:
    scalars = (resources.scalars.get(name, 0) for name in names)
    return (
        pods,
        resources.milli_cpu,
        resources.memory,
        resources.ephemeral_storage,
        *scalars,
    )


def _list_free(node: Node, names: Sequence[str], cluster: SchedulingCluster) -> tuple[int, ...]:
    room = cluster.allocatable.get(node.name)
    if room is None:
        return (AMPLE,) * (4 + len(names))
    usage = cluster.placed.usage(node.name)
    used = _list_amounts(usage.requests, usage.pods, names)
    total = _list_amounts(room, room.pods, names)
    return tuple(amount - taken for amount, taken in zip(total, used, strict=True))


def _count_slots(free: Sequence[int], request: Sequence[int]) -> int:
    """Count the pods that find room; negative if there are too many already."""
    return min(amount // wanted for amount, wanted in zip(free, request, strict=True) if wanted > 0)
