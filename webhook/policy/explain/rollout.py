"""
What if: place the replicas of a workload one after another on an edited cluster.

``roll_out`` is the entry point. Running pods stay where they are, as in Kubernetes; those of
removed nodes are placed again. Among equally good nodes kube-scheduler consults other plugins and
chooses at random; here the node with the fewest counted pods is chosen, and the first of those.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from webhook.policy.advice.findings import count_of
from webhook.policy.explain.scenario import Scenario, ScenarioEdit, apply_all, short_key
from webhook.policy.placement.place import PodPlacement
from webhook.policy.placement.tallies import PodTally

PLACED_REPLICAS = 10_000
"""Most replicas of one rollout; placing a replica takes 10 ms with 5 000 nodes."""


class SkewChange(msgspec.Struct, frozen=True, rename="camel"):
    """
    The pods of the fullest domain above the emptiest one, before and after the rollout.

    ``index`` is the position of the constraint in its list, from 0.
    """

    index: int
    topology_key: str
    before: int
    after: int


class Rollout(msgspec.Struct, frozen=True, rename="camel"):
    """
    The result of a rollout.

    Attributes:
        running: Replicas that run already, on nodes that are left.
        placed: Node name -> replicas placed there, at least 1, in the order of the nodes.
        pending: Replicas without a node.
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
    scenario: Scenario, edits: Sequence[ScenarioEdit], replicas: int, running: Mapping[str, int]
) -> tuple[Rollout, Scenario]:
    """
    Edit a cluster, and place the missing replicas of a workload.

    Args:
        scenario: The workload's next pod, and the cluster before.
        replicas: Desired number of pods; at most ``PLACED_REPLICAS``. If more are running, nothing
            is placed and nothing removed: scaling down is not modelled.
        running: Node name -> pods of the workload that run there now.

    Returns:
        The result, and the scenario of the next pod after it.
    """
    changed = apply_all(edits, scenario)
    left = {node.name for node in changed.topology.nodes}
    remaining = sum(pods for node, pods in running.items() if node in left)
    missing = max(0, replicas - remaining)
    end, placed = _place_missing(changed, missing)
    pending = missing - placed.total()
    skews = _compare_skews(scenario.placement(), end.placement())
    rollout = Rollout(
        sentence=_summarize(edits, replicas, pending, skews),
        edits=tuple(edits),
        replicas=replicas,
        running=remaining,
        placed={node.name: placed[node.name] for node in end.topology.nodes if placed[node.name]},
        pending=pending,
        skews=skews,
    )
    return rollout, end


def _place_missing(scenario: Scenario, missing: int) -> tuple[Scenario, Counter[str]]:
    """Place replicas until all run or one has no node, since the next would have none either."""
    placed = Counter[str]()
    census = scenario.census.copy()
    scenario = msgspec.structs.replace(scenario, census=census)
    for _ in range(missing):
        placement = scenario.placement()
        if not placement.passing:
            break
        node = _choose_node(placement)
        census.add(scenario.pod.namespace, scenario.pod.labels, node)
        placed[node] += 1
    return scenario, placed


def _choose_node(placement: PodPlacement) -> str:
    tallies = placement.tallies.by_index
    return min(
        placement.best, key=lambda node: sum(tally.by_node.get(node, 0) for tally in tallies)
    )


def _compare_skews(before: PodPlacement, after: PodPlacement) -> tuple[SkewChange, ...]:
    pairs = zip(before.tallies.by_index, after.tallies.by_index, strict=True)
    return tuple(
        SkewChange(then.spread.index, then.spread.topology_key, unevenness(then), unevenness(now))
        for then, now in pairs
    )


def unevenness(tally: PodTally) -> int:
    """Count the pods of the fullest domain above the emptiest one; 0 without domains."""
    pods = [tally.pods.get(value, 0) for value in tally.domains.sizes]
    return max(pods, default=0) - min(pods, default=0)


def _summarize(
    edits: Sequence[ScenarioEdit], replicas: int, pending: int, skews: Sequence[SkewChange]
) -> str:
    done = f"if you {', '.join(map(str, edits))}" if edits else "as it is"
    fate = f"{pending} of {count_of(replicas, 'replica')} would stay Pending"
    if not pending:
        fate = f"all {replicas} replicas would run" if replicas != 1 else "the replica would run"
    then = "; ".join(
        f"skew of {short_key(skew.topology_key)} {skew.before} -> {skew.after}" for skew in skews
    )
    return f"{done}: {fate}{then and '; '}{then}"
