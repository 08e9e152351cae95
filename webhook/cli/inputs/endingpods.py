"""
Pods that are being deleted, and that have ended before a new pod of a workload is placed.

Entry points: ``list_awaited`` for the pods whose end its controller awaits, and ``find_ending``.

Source: kubernetes pkg/controller/statefulset stateful_set_control.go ``processReplica``,
deployment/recreate.go ``oldPodsRunning``, daemon/daemon_controller.go ``podsShouldBeOnNode``; lws
pkg/controllers, where the leaders and the workers of each group are StatefulSets.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from webhook.cli.inputs import subjects
from webhook.cli.inputs.groupedpods import read_grouping
from webhook.cli.inputs.placementtargets import TargetOptions
from webhook.explain.endingpods import EndingPods
from webhook.policy.kinds import DAEMON_SET, DEPLOYMENT, LEADER_WORKER_SET, STATEFUL_SET
from webhook.policy.model import Node
from webhook.policy.paths import find_value
from webhook.policy.placement.census import ObservedPod
from webhook.policy.placement.filters.filterpods import FilterPod

_DOWN = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
"""Taints of nodes whose kubelet may not end pods. Source: pkg/controller/nodelifecycle."""


class FoundPods(NamedTuple):
    """Pods that have ended before a new one is placed, and their names."""

    pods: list[FilterPod]
    names: EndingPods


def list_awaited(
    subject: subjects.ExplainSubject,
    selected: Iterable[ObservedPod],
    ordinal: int,
    options: TargetOptions,
) -> frozenset[str]:
    """
    List the pods whose end a controller awaits before it creates the next pod.

    Args:
        selected: The pods of the workload.
        ordinal: Of the next pod. If more are simulated, each awaits the one before it.
    """
    names = frozenset(pod.metadata.name or "" for pod in selected if pod.is_ending)
    if subject.kind in (STATEFUL_SET, LEADER_WORKER_SET):
        return names if options.simulates else names & {_name_pod(subject, ordinal)}
    return names if _awaits_all(subject, options) else frozenset()


def _name_pod(subject: subjects.ExplainSubject, ordinal: int) -> str:
    """Name a pod whose successor has the same name."""
    grouping = read_grouping(subject)
    if grouping is None:
        return f"{subject.name}-{ordinal}"
    group, member = grouping.locate(ordinal)
    return f"{subject.name}-{group}" + (f"-{member}" if member else "")


def _awaits_all(subject: subjects.ExplainSubject, options: TargetOptions) -> bool:
    """Whether no pod is created while an old one exists, on its node or at all."""
    spec = subject.value.get("spec")
    if subject.kind.kind == DAEMON_SET.kind:  # also that of OpenKruise
        surge = find_value(spec, ("updateStrategy", "rollingUpdate", "maxSurge"))
        return surge in (None, 0, "0%")
    recreates = find_value(spec, ("strategy", "type")) == "Recreate"
    return subject.kind == DEPLOYMENT and recreates and options.rolls_out


def find_ending(
    pods: Iterable[FilterPod],
    nodes: Mapping[str, Node],
    namespace: str,
    awaited: Collection[str],
    *,
    simulates: bool,
) -> FoundPods:
    """
    Find the pods that have ended before a new one is placed.

    Args:
        pods: Those that are being deleted.
        nodes: The nodes by name.
        namespace: Of the workload.
        awaited: Names of the pods whose end its controller awaits.
        simulates: Whether this is a what-if. It supposes that pods on ready nodes have ended.
    """
    gone: list[FilterPod] = []
    ended: list[str] = []
    stuck: list[str] = []
    simulated: list[str] = []
    for pod in pods:
        is_own = pod.namespace == namespace
        name = pod.name if is_own else f"{pod.namespace}/{pod.name}"
        is_up = _is_up(nodes.get(pod.node_name))
        if is_own and pod.name in awaited:
            gone.append(pod)
            ended.append(name)
            stuck += [] if is_up else [name]
        elif simulates and is_up:
            gone.append(pod)
            simulated.append(name)
    ended, stuck, simulated = sorted(ended), sorted(stuck), sorted(simulated)
    return FoundPods(gone, EndingPods(tuple(ended), tuple(stuck), tuple(simulated)))


def _is_up(node: Node | None) -> bool:
    return node is not None and all(taint.key not in _DOWN for taint in node.taints)
