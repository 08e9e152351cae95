"""
What if: the replicas of a workload, placed one after another on a cluster that was changed.

Running pods stay where they are, as in Kubernetes; those of nodes that are gone are placed anew.
Where several nodes are equally good kube-scheduler rolls dice and asks its other plugins; here the
one with the fewest counted pods is taken, of those the first.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from webhook.policy.explain.edits import ScenarioEdit, apply_all
from webhook.policy.explain.scenario import Scenario, counted, short_key
from webhook.policy.placement.place import Placement
from webhook.policy.placement.tallies import PodTally

PLACED_REPLICAS = 10_000
"""Of one question; placing a replica takes 10 ms where there are 5 000 nodes."""


class SkewChange(msgspec.Struct, frozen=True, rename="camel"):
    """
    How uneven the pods of a constraint are, before and after.

    Attributes:
        index: Of the constraint in its list, from 0.
        before: Pods of the fullest domain above the emptiest one.
        after: The same in the end.
    """

    index: int
    topology_key: str
    before: int
    after: int


class Rollout(msgspec.Struct, frozen=True, rename="camel"):
    """
    What would be.

    Attributes:
        sentence: It all in one.
        edits: What was changed before.
        replicas: How many there should be.
        running: How many of them run already, on nodes that are left.
        placed: Node name -> replicas placed there, at least 1, in the order of the nodes.
        pending: How many find no node.
        skews: One for each constraint, in order.
    """

    sentence: str
    edits: tuple[ScenarioEdit, ...]
    replicas: int
    running: int
    placed: Mapping[str, int]
    pending: int
    skews: tuple[SkewChange, ...]


def roll_out(
    situation: Scenario, edits: Sequence[ScenarioEdit], replicas: int, running: Mapping[str, int]
) -> tuple[Rollout, Scenario]:
    """
    Change a cluster, and place what is missing of a workload.

    Args:
        situation: Its next pod, and the cluster before.
        edits: What to change.
        replicas: How many pods it should have; at most ``PLACED_REPLICAS``. With fewer than run
            nothing is placed, and nothing is removed: which ones would be is not modelled.
        running: Node name -> pods of the workload that run there now.

    Returns:
        What would be, and the situation of the next pod in the end.
    """
    changed = apply_all(edits, situation)
    left = {node.name for node in changed.topology.nodes}
    remaining = sum(pods for node, pods in running.items() if node in left)
    missing = max(0, replicas - remaining)
    end, placed = _filled(changed, missing)
    pending = missing - placed.total()
    skews = _skews(situation.placement(), end.placement())
    rollout = Rollout(
        sentence=_sentence(edits, replicas, pending, skews),
        edits=tuple(edits),
        replicas=replicas,
        running=remaining,
        placed={node.name: placed[node.name] for node in end.topology.nodes if placed[node.name]},
        pending=pending,
        skews=skews,
    )
    return rollout, end


def _filled(situation: Scenario, missing: int) -> tuple[Scenario, Counter[str]]:
    """Place replicas until all run or one finds no node; then neither would the next."""
    placed = Counter[str]()
    census = situation.census.copy()
    situation = msgspec.structs.replace(situation, census=census)
    for _ in range(missing):
        placement = situation.placement()
        if not placement.passing:
            break
        node = _chosen(placement)
        census.add(situation.pod.namespace, situation.pod.labels, node)
        placed[node] += 1
    return situation, placed


def _chosen(placement: Placement) -> str:
    tallies = (*placement.tallies.hard, *placement.tallies.soft)
    return min(
        placement.best, key=lambda node: sum(tally.by_node.get(node, 0) for tally in tallies)
    )


def _skews(before: Placement, after: Placement) -> tuple[SkewChange, ...]:
    pairs = zip(_tallies(before), _tallies(after), strict=True)
    return tuple(
        SkewChange(then.spread.index, then.spread.topology_key, unevenness(then), unevenness(now))
        for then, now in pairs
    )


def _tallies(placement: Placement) -> list[PodTally]:
    """All tallies, in the order of the list."""
    tallies = (*placement.tallies.hard, *placement.tallies.soft)
    return sorted(tallies, key=lambda tally: tally.spread.index)


def unevenness(tally: PodTally) -> int:
    """Pods of the fullest domain above the emptiest one; 0 if there is none."""
    pods = [tally.pods.get(value, 0) for value in tally.domains.sizes]
    return max(pods, default=0) - min(pods, default=0)


def _sentence(
    edits: Sequence[ScenarioEdit], replicas: int, pending: int, skews: Sequence[SkewChange]
) -> str:
    done = f"if you {', '.join(map(str, edits))}" if edits else "as it is"
    fate = f"{pending} of {counted(replicas, 'replica')} would stay Pending"
    if not pending:
        fate = f"all {replicas} replicas would run" if replicas != 1 else "the replica would run"
    then = "; ".join(
        f"skew of {short_key(each.topology_key)} {each.before} -> {each.after}" for each in skews
    )
    return f"{done}: {fate}{then and '; '}{then}"
