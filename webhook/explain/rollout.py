"""
What if: place the replicas of a workload one after another on an edited cluster.

``roll_out`` is the entry point. Running pods stay where they are, as in Kubernetes, unless there
are more than desired: then ``removal`` finds those that the controller removes. Pods of removed
nodes are placed again, as ``newpods`` describes.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from webhook.explain.keynames import KeyNames
from webhook.explain.newpods import (
    ALIKE,
    PodSuccession,
    describe_choice,
    describe_succession,
    place_pods,
)
from webhook.explain.removal import Surplus, WorkloadPods
from webhook.explain.removalchoice import RemovalChoice
from webhook.explain.removedpods import remove_pods
from webhook.explain.replicaskew import SkewChange, add_bounds, add_replicas, describe_skews
from webhook.explain.revisionsizes import describe_sizes
from webhook.explain.scenario import Scenario, ScenarioEdit, apply_all
from webhook.explain.surge import ReplacedPods, continue_update
from webhook.policy.advice.findings import all_of, count_of
from webhook.policy.placement.filters.filterpods import FilterPod
from webhook.policy.placement.tallies import PodTally

PLACED_REPLICAS = 10_000
"""Most replicas of one rollout; placing a replica takes 25 ms with 5 000 nodes."""


class RemovedPod(msgspec.Struct, frozen=True, rename="camel"):
    """
    A pod that is removed.

    Attributes:
        node: Name of its node; empty if it has none.
        domain: Value of the topology key of its node; empty if it has none.
        rank: Its rank in the domain; None without one.
        goes_first: Whether it is removed whatever its rank, since it is not ready and others are.
    """

    name: str
    node: str
    domain: str
    rank: int | None
    goes_first: bool


class RankedRemoval(msgspec.Struct, frozen=True, rename="camel"):
    """
    The result of the same rollout if all pods had ranks.

    Attributes:
        removed: In the order of removal.
    """

    removed: tuple[RemovedPod, ...]
    skews: tuple[SkewChange, ...]
    notes: tuple[str, ...] = ()


class ScaleDownReport(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """
    How a scale-down keeps the spread, with the ranks that the pods have, and with ranks for all.

    Attributes:
        topology_key: The key whose domains pods are ranked in.
        configured: Whether a profile gives ranks to new pods.
        pods: Number of pods of the workload.
        ranked: Number of those that have a rank.
        removed: In the order of removal.
        notes: Sentences.
        with_ranks: The result if all had one; None if no further pod can get one.
    """

    sentence: str
    topology_key: str
    configured: bool
    pods: int
    ranked: int
    removed: tuple[RemovedPod, ...]
    notes: tuple[str, ...] = ()
    with_ranks: RankedRemoval | None = None


class Rollout(msgspec.Struct, frozen=True, rename="camel"):
    """
    The result of a rollout.

    Attributes:
        running: Replicas that run already, on nodes that are left, and stay.
        removed: Names of the pods that are removed, in this order.
        placed: Node name -> replicas placed there, at least 1, in the order of the nodes.
        pending: Replicas without a node.
        skews: One for each constraint, in order.
        notes: What is not determined, or not known; sentences.
        scale_down: The part that ranks have in it, from ``rankedremoval``; None if they have none.
    """

    sentence: str
    edits: tuple[ScenarioEdit, ...]
    replicas: int
    running: int
    placed: Mapping[str, int]
    pending: int
    skews: tuple[SkewChange, ...]
    removed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    scale_down: ScaleDownReport | None = None


class RolledOut(NamedTuple):
    """
    A rollout, and what is left to do after it.

    Attributes:
        end: The scenario of the next pod.
        awaiting: The pods without a node, which that is the first of, and those after them.
    """

    rollout: Rollout
    end: Scenario
    awaiting: PodSuccession


def roll_out(
    scenario: Scenario,
    edits: Sequence[ScenarioEdit],
    replicas: int,
    running: Mapping[str, int],
    pods: WorkloadPods | None = None,
) -> RolledOut:
    """
    Edit a cluster, and remove surplus replicas of a workload or place missing ones.

    Args:
        scenario: The workload's next pod, and the cluster before.
        replicas: Desired number of pods; at most ``PLACED_REPLICAS``. The ReplicaSets of a rollout
            that waits have sizes of their own in place of it.
        running: Node name -> pods of the workload that run there now. Those of nodes that are not
            in the cluster run, too.
        pods: The same pods and those without a node, with what decides on their removal; None if
            none is ever removed.

    """
    changed = apply_all(edits, scenario)
    lost = find_lost(scenario, changed)
    left = {node: number for node, number in running.items() if node not in lost}
    if pods and pods.update and pods.is_updating(replicas):
        done = continue_update(changed, pods, pods.update, lost, replicas)
    else:
        replicas = pods.count_desired(replicas) if pods else replicas
        done = _replace_pods(changed, replicas, sum(left.values()), pods and pods.lose_nodes(lost))
    end, placed, awaiting = done.placement
    bound = [pod.spec.node_name for pod in done.surplus.pods if pod.spec.node_name]
    remaining = sum(left.values()) - len(bound)
    after = Counter(left) + placed
    after.subtract(bound)
    before = msgspec.structs.replace(scenario, pod=end.pod, spreads=end.spreads)
    skews = compare_skews(before, end, running, after)
    if done.surplus.choice:
        skews = _bound_skews(skews, end, after, done.surplus.choice)
    rollout = Rollout(
        sentence=(
            f"{describe_edits(edits, scenario.names)}: "
            f"{_summarize(done.desired, len(done.surplus.pods), done.pending)}"
            f"{describe_skews(skews, scenario.names)}"
        ),
        edits=tuple(edits),
        replicas=replicas,
        running=remaining,
        placed={node.name: placed[node.name] for node in end.topology.nodes if placed[node.name]},
        pending=done.pending,
        skews=skews,
        removed=tuple(pod.metadata.name or "" for pod in done.surplus.pods),
        notes=done.surplus.notes,
    )
    return RolledOut(rollout, end, awaiting)


def _replace_pods(
    changed: Scenario, replicas: int, running: int, pods: WorkloadPods | None
) -> ReplacedPods:
    """Remove the pods beyond the desired number, or place those that are missing from it."""
    surplus = pods.find_surplus(replicas) if pods else Surplus()
    bound = [pod for pod in surplus.pods if pod.spec.node_name]
    placed: Mapping[str, FilterPod] = pods.placed if pods else {}
    missing = max(0, replicas - (running - len(bound)))
    new_pods = pods.find_new_pods(surplus) if pods else ALIKE
    if pods and pods.removes_last:
        placement = place_pods(changed, missing, new_pods)
        if placement.placed.total() < missing:
            surplus = surplus.hold()
        else:
            placement = placement._replace(end=remove_pods(placement.end, bound, placed))
    else:
        changed = remove_pods(changed, bound, placed)
        placement = place_pods(changed, missing, new_pods)
    notes = (
        *surplus.notes,
        *describe_sizes(pods.sets if pods else ()),
        *(pods.update.describe_scale(replicas) if pods and pods.update else ()),
        *(pods.describe_waiting(replicas, surplus, new_pods) if pods else ()),
        *describe_succession(changed, missing, new_pods),
        *describe_choice(changed, missing, new_pods, placement.placed),
    )
    pending = missing - placement.placed.total()
    # Where new pods go depends on the choice, so that their skew has no bounds here.
    choice = None if missing else surplus.choice
    return ReplacedPods(Surplus(surplus.pods, notes, choice), placement, pending, replicas)


def count_lost(
    edits: Sequence[ScenarioEdit], scenario: Scenario, running: Mapping[str, int]
) -> int:
    """Count the running pods on nodes that edits remove; ``running`` as for ``roll_out``."""
    lost = find_lost(scenario, apply_all(edits, scenario))
    return sum(pods for node, pods in running.items() if node in lost)


def find_lost(before: Scenario, after: Scenario) -> frozenset[str]:
    """
    Find the nodes that edits remove.

    A node that is not in the cluster before is not known: its pods run, and count in no domain.
    """
    left = {node.name for node in after.topology.nodes}
    return frozenset(node.name for node in before.topology.nodes if node.name not in left)


def compare_skews(
    before: Scenario,
    after: Scenario,
    replicas_before: Mapping[str, int],
    replicas_after: Mapping[str, int],
) -> tuple[SkewChange, ...]:
    """
    Compare the skews of all constraints, in order.

    Args:
        replicas_before: Node name -> pods of the workload.
        replicas_after: The same after the rollout.
    """
    nodes = (*before.topology.nodes, *after.topology.nodes)
    first, second = (_tally_reachable(one) for one in (before, after))
    return tuple(
        add_replicas(
            SkewChange(
                then.spread.index, then.spread.topology_key, unevenness(then), unevenness(now)
            ),
            (then, now),
            nodes,
            (replicas_before, replicas_after),
        )
        for then, now in zip(first, second, strict=True)
    )


def _bound_skews(
    skews: Sequence[SkewChange], end: Scenario, replicas: Mapping[str, int], choice: RemovalChoice
) -> tuple[SkewChange, ...]:
    """Add the bounds of the skews after a removal; ``replicas``: node name -> pods after it."""
    tallies = zip(end.placement().tallies.by_index, _tally_reachable(end), strict=True)
    return tuple(
        add_bounds(skew, tally, end.topology.nodes, replicas, choice)
        for skew, tally in zip(skews, tallies, strict=True)
    )


def _tally_reachable(scenario: Scenario) -> list[PodTally]:
    """Count the pods of each constraint, of soft ones in reachable domains only."""
    tallies = scenario.placement().tallies
    return tallies.reachable(scenario.topology, scenario.pod.demands).by_index


def unevenness(tally: PodTally) -> int:
    """Count the pods of the fullest domain above the emptiest one; 0 without domains."""
    pods = [tally.pods.get(value, 0) for value in tally.domains.sizes]
    return max(pods, default=0) - min(pods, default=0)


def _summarize(replicas: int, removed: int, pending: int) -> str:
    some = f"{pending} of {count_of(replicas, 'replica')}"
    fate = f"{some if pending < replicas else all_of(replicas, 'replica')} would stay Pending"
    if not replicas:
        fate = "no replica would run"
    elif not pending:
        fate = f"{all_of(replicas, 'replica')} would run"
    if removed:
        kept = f"{replicas} would run" if not pending else fate
        fate = f"{count_of(removed, 'pod')} would be removed, {kept}"
    return fate


def describe_edits(edits: Sequence[ScenarioEdit], names: KeyNames) -> str:
    """Describe edits, as ``if you lose zone a, cordon node n1``; ``names`` of label keys."""
    described = ", ".join(edit.describe(names) for edit in edits)
    return f"if you {described}" if edits else "as it is"
