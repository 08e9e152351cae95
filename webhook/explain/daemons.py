"""
Pods of DaemonSets: one for each node that they can go to, pinned to it by a node affinity.

``find_missing`` and ``roll_out_daemons`` are the entry points. The DaemonSet controller decides
which nodes need a pod, and kube-scheduler places each pod by itself: one that exists as it is, and
a new one as the template describes it.

Source: kubernetes pkg/controller/daemon/daemon_controller.go ``NodeShouldRunDaemonPod``,
pkg/controller/daemon/util/daemonset_util.go.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

import msgspec
from msgspec.structs import replace

from webhook.explain import sentences
from webhook.explain.daemonreport import DaemonReport, MissingPod
from webhook.explain.replicaskew import describe_skews
from webhook.explain.rollout import Rollout, compare_skews, describe_edits
from webhook.explain.scenario import Scenario, ScenarioEdit, apply_all
from webhook.policy.advice.findings import count_of
from webhook.policy.model import HOSTNAME, LabelSelectorRequirement, Node
from webhook.policy.placement.filters.failure import describe_failure
from webhook.policy.placement.nodeaffinity import NODE_NAME, NodeSelectorTerm
from webhook.policy.placement.nodes import Demands, NodeRejection, find_mismatch
from webhook.policy.selectors import IN

PENDING = "Pending"
"""The state of a pod that kube-scheduler has to place."""


class WaitingPod(msgspec.Struct, frozen=True):
    """
    A pod that does not run on its node.

    Attributes:
        state: ``Pending``, ``being deleted``, or the phase in which it has ended.
        situation: That of a Pending pod, with its own constraints and labels; None if the template
            stands for it, as for the pod after one that is being deleted.
    """

    name: str
    state: str
    situation: Scenario | None = None

    @property
    def is_pending(self) -> bool:
        """Whether kube-scheduler has to place it."""
        return self.state == PENDING

    def enter(self, scenario: Scenario) -> Scenario:
        """Return the scenario with this pod in place of a new one."""
        if self.situation is None:
            return scenario
        own = self.situation.cluster
        cluster = dataclasses.replace(
            scenario.cluster,
            storage=own.storage,
            namespaces=own.namespaces,
            nominated=own.nominated,
        )
        return replace(self.situation, cluster=cluster)


class DaemonPods(msgspec.Struct, frozen=True):
    """
    The pods of a DaemonSet by the name of their node.

    Attributes:
        running: Node name -> name of the pod that it has.
        waiting: Node name -> pod for a node that has none.
        template_demands: What the template requires of a node, if a RuntimeClass requires something
            else of the pods; otherwise None. The controller does not know of classes.
    """

    running: Mapping[str, str] = MappingProxyType({})
    waiting: Mapping[str, WaitingPod] = MappingProxyType({})
    template_demands: Demands | None = None

    def find_exclusion(self, node: Node, scenario: Scenario) -> NodeRejection | None:
        """
        Find why a node needs no pod; None if it does. Constraints and cordons do not matter here.

        Args:
            scenario: That of a new pod.

        Source: daemon_controller.go ``predicates``.
        """
        return find_mismatch(node, self.template_demands or scenario.pod.demands)

    def list_needing(self, scenario: Scenario) -> list[Node]:
        """List the nodes that need a pod."""
        nodes = scenario.topology.nodes
        return [node for node in nodes if self.find_exclusion(node, scenario) is None]

    def is_replacing(self, node: str) -> bool:
        """Whether a Pending pod waits for a node that has another pod."""
        return node in self.running and node in self.waiting and self.waiting[node].is_pending

    def enter(self, scenario: Scenario, node: str) -> Scenario:
        """Return the scenario of the pod for a node, from that of a new pod."""
        waiting = self.waiting.get(node)
        return waiting.enter(scenario) if waiting else scenario


def pin(scenario: Scenario, node: Node) -> Scenario:
    """
    Return the scenario of the pod for one node.

    Its required node affinity is replaced. If all constraints honor it, and no affinity of pods
    reaches beyond a node, no other node counts, and the scenario has this node only, which makes
    many pods cheap.

    Source: daemonset_util.go ``ReplaceDaemonSetPodNodeNameNodeAffinity``.
    """
    field = LabelSelectorRequirement(key=NODE_NAME, operator=IN, values=(node.name,))
    demands = replace(scenario.pod.demands, terms=(NodeSelectorTerm(match_fields=(field,)),))
    pod = replace(scenario.pod, demands=demands, required_names=frozenset((node.name,)))
    return _narrow(replace(scenario, pod=pod), node)


def pin_missing(scenario: Scenario, node: Node, pods: DaemonPods) -> Scenario:
    """
    Return the scenario of the missing pod for one node.

    A pod that exists has its own node affinity, which the controller pinned to the node.

    Args:
        scenario: That of a new pod.
    """
    own = pods.enter(scenario, node.name)
    return pin(scenario, node) if own is scenario else _narrow(own, node)


def _narrow(pinned: Scenario, node: Node) -> Scenario:
    """Return the scenario with the node of a pinned pod alone, if no other node counts."""
    return pinned if _is_interdependent(pinned) else pinned.with_nodes((node,))


def find_missing(scenario: Scenario, pods: DaemonPods) -> DaemonReport:
    """
    Find the nodes that lack their pod, and why.

    Each pod is judged by itself; of those that can be placed, ``reason_after`` shows the ones that
    cannot be placed together. Takes O(missing pods x constraints) if all constraints honor node
    affinity, and that times the number of nodes, and at most of missing pods, otherwise.
    """
    needing = pods.list_needing(scenario)
    missing = [node for node in needing if node.name not in pods.running]
    names = {node.name for node in needing}
    known = {node.name for node in scenario.topology.nodes}
    return DaemonReport(
        desired=len(needing),
        running=len(needing) - len(missing),
        missing=tuple(_judge_together(scenario, missing, pods)),
        unneeded=tuple(name for name in pods.running if name in known and name not in names),
        replacing=tuple(
            _judge(scenario, node, pods) for node in needing if pods.is_replacing(node.name)
        ),
    )


def _judge_together(
    scenario: Scenario, missing: Sequence[Node], pods: DaemonPods
) -> Iterator[MissingPod]:
    judged = [_judge(scenario, node, pods) for node in missing]
    own = (pods.enter(scenario, node.name) for node in missing)
    if all(pod.reason for pod in judged) or not any(map(_is_interdependent, (scenario, *own))):
        yield from judged
        return
    end, placed = fill(scenario, missing, pods)
    for node, pod in zip(missing, judged, strict=True):
        if pod.reason or node.name in placed:
            yield pod
        else:
            yield replace(pod, reason_after=_find_reason(pin_missing(end, node, pods), node))


def _is_interdependent(scenario: Scenario) -> bool:
    """Whether a pod on one node can matter for the pod of another node."""
    pod, spreads = scenario.pod, (*scenario.spreads.hard, *scenario.spreads.soft)
    placed = (one.term for one in scenario.cluster.placed.anti_affinity(pod.namespace))
    return (
        not all(spread.honors_affinity for spread in spreads)
        or bool(pod.affinity)
        or any(term.topology_key != HOSTNAME for term in (*pod.anti_affinity, *placed))
    )


def pin_after_others(
    scenario: Scenario, node: Node, report: DaemonReport, pods: DaemonPods
) -> Scenario:
    """Return the scenario of the pod for one node once the missing pods are placed that can be."""
    names = {pod.node for pod in report.missing}
    missing = [one for one in scenario.topology.nodes if one.name in names]
    return pin_missing(fill(scenario, missing, pods)[0], node, pods)


def pin_first(scenario: Scenario, report: DaemonReport, pods: DaemonPods) -> Scenario | None:
    """Return the scenario of the first missing pod that cannot be placed; None if all can be."""
    for pod in report.awaited:
        if not pod.is_placeable:
            nodes = scenario.topology.nodes
            node = next(node for node in nodes if node.name == pod.node)
            if pod.reason:
                return pin_missing(scenario, node, pods)
            return pin_after_others(scenario, node, report, pods)
    return None


def describe_pinned(pinned: Scenario | None, nodes: Sequence[Node]) -> str:
    """
    Describe the failure of a pinned pod as kube-scheduler does; empty if there is none.

    Args:
        nodes: All nodes of the cluster.
    """
    return describe_failure(pinned.with_nodes(nodes).placement().result) if pinned else ""


def fill(
    scenario: Scenario, missing: Sequence[Node], pods: DaemonPods
) -> tuple[Scenario, dict[str, str]]:
    """Place missing pods in a copy; also return what ``_place_missing`` does."""
    end = scenario.copy_pods()
    return end, _place_missing(end, missing, pods)


def _judge(scenario: Scenario, node: Node, pods: DaemonPods) -> MissingPod:
    waiting = pods.waiting.get(node.name, WaitingPod("", "not created"))
    reason = _find_reason(pin_missing(scenario, node, pods), node)
    return MissingPod(node.name, waiting.name, waiting.state, reason)


def _find_reason(pinned: Scenario, node: Node) -> str:
    """Find why a pinned pod cannot be placed on its node; empty if it can be."""
    return sentences.rejection_reason(node.name, pinned, pinned.placement())


def roll_out_daemons(
    scenario: Scenario, edits: Sequence[ScenarioEdit], pods: DaemonPods
) -> tuple[Rollout, Scenario, DaemonPods]:
    """
    Edit a cluster, and place the pods of the nodes that lack theirs, one by one.

    Returns:
        The result, the scenario after it, and the pods in it.
    """
    changed = apply_all(edits, scenario)
    needing = pods.list_needing(changed)
    missing = [node for node in needing if node.name not in pods.running]
    end, placed = fill(changed, missing, pods)
    pending = len(missing) - len(placed) + _count_stuck(end, needing, pods)
    running = {node.name: pods.running[node.name] for node in needing if node.name in pods.running}
    before, after = (dict.fromkeys(names, 1) for names in (pods.running, (*running, *placed)))
    skews = compare_skews(scenario, end, before, after)
    fate = f"{pending} would stay Pending" if pending else "all would run"
    rollout = Rollout(
        sentence=f"{describe_edits(edits, scenario.names)}: {count_of(len(needing), 'node')} would "
        f"need a pod; {fate}{describe_skews(skews, scenario.names)}",
        edits=tuple(edits),
        replicas=len(needing),
        running=len(running),
        placed=dict.fromkeys(placed, 1),
        pending=pending,
        skews=skews,
    )
    return rollout, end, replace(pods, running={**running, **placed})


def _count_stuck(scenario: Scenario, needing: Iterable[Node], pods: DaemonPods) -> int:
    """Count the Pending pods beside old ones that cannot be placed."""
    replaced = (node for node in needing if pods.is_replacing(node.name))
    return sum(bool(_judge(scenario, node, pods).reason) for node in replaced)


def _place_missing(scenario: Scenario, missing: Sequence[Node], pods: DaemonPods) -> dict[str, str]:
    """
    Place pods in the census of a scenario, and try the others again until no further one fits.

    Returns:
        Node name -> name of its pod, which is not known; in the order of placement.
    """
    placed: dict[str, str] = {}
    left = list(missing)
    while True:
        rest: list[Node] = []
        for node in left:
            pinned = pin_missing(scenario, node, pods)
            if _find_reason(pinned, node):
                rest.append(node)
            else:
                pinned.put(node.name)
                placed[node.name] = ""
        if len(rest) in (0, len(left)):
            return placed
        left = rest
