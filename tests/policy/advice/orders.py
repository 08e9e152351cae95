"""Every order in which kube-scheduler can place the replicas of a subject."""

from collections.abc import Sequence

from tests.build import NAMESPACE, gates
from tests.policy.placement.clusters import reject_others
from webhook.policy.advice.context import resolve_valid
from webhook.policy.advice.subject import Subject
from webhook.policy.model import Constraint, Node
from webhook.policy.placement.census import Census
from webhook.policy.placement.place import place_pod, tally_constraints
from webhook.policy.placement.topology import Topology


def count_placed(
    advised: Subject,
    nodes: Sequence[Node],
    most: int,
    *,
    constraints: Sequence[Constraint] | None = None,
    before: Sequence[str] = (),
    followed: str = "",
) -> set[int]:
    """
    Count the replicas that have a place, in each order; pods without one are tried again.

    Args:
        most: Number of replicas to place.
        constraints: Those of the pods; None for the subject's own.
        before: Nodes of pods that are there already.
        followed: A topology key in one domain of which all pods are; empty without one.
    """
    pod, topology = advised.next_pod, Topology(nodes)
    chosen = advised.constraints if constraints is None else tuple(constraints)
    spreads = resolve_valid(chosen, pod.labels, gates())
    refused = reject_others(topology, pod.demands)
    states, ends = {tuple(before.count(one.name) for one in nodes)}, set[int]()
    for placed in range(most):
        following: set[tuple[int, ...]] = set()
        for state in states:
            census = Census()
            for one, number in zip(nodes, state, strict=True):
                census.add(NAMESPACE, pod.labels, one.name, number)
            tallies = tally_constraints(pod, spreads, topology, census)
            used = {one.labels.get(followed) for one, n in zip(nodes, state, strict=True) if n}
            passing = [
                name
                for name in place_pod(tallies, topology, refused).passing
                if not followed or _follows(topology.by_name[name].labels.get(followed), used)
            ]
            if not passing:
                ends.add(placed)
            following |= {
                tuple(n + (one.name == name) for one, n in zip(nodes, state, strict=True))
                for name in passing
            }
        states = following
    return ends | ({most} if states else set())


def _follows(value: str | None, used: set[str | None]) -> bool:
    """Whether a pod with required affinity to its like can go to a topology value."""
    return value is not None and used <= {value}
