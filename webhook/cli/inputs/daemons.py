"""
Pods of a DaemonSet by the node that each is meant for.

Entry points: ``gather_daemon_pods``, ``add_template_demands``, ``read_pending`` for the scenarios
of Pending pods, and ``read_daemon_scenario`` for that of a new one. What the pods need is the
subject of ``explain.daemons``.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from webhook.cli.inputs import subjects
from webhook.cli.inputs.cluster import ClusterReader
from webhook.cli.inputs.scenarioreader import ScenarioReader
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.explain.daemons import PENDING, DaemonPods, WaitingPod
from webhook.explain.scenario import Scenario
from webhook.policy.kinds import POD
from webhook.policy.model import OwnerReference
from webhook.policy.paths import find_value
from webhook.policy.placement.census import FINISHED, ObservedPod
from webhook.policy.placement.daemondemands import daemon_demands
from webhook.policy.placement.nodeaffinity import NODE_NAME
from webhook.policy.placement.nodes import Demands


def gather_daemon_pods(subject: subjects.ExplainSubject, pods: Iterable[ObservedPod]) -> DaemonPods:
    """
    Gather the pods of a DaemonSet.

    Args:
        pods: Pods that its selector selects; those of other controllers are left out.
    """
    running: dict[str, str] = {}
    waiting: dict[str, WaitingPod] = {}
    for pod in pods:
        node = _node_of(pod)
        if not node or not _is_owned(pod.controller, subject):
            continue
        name = pod.metadata.name or ""
        if pod.counts:
            running.setdefault(node, name)
        else:
            waiting.setdefault(node, WaitingPod(name, _state_of(pod)))
    return DaemonPods(running, waiting)


def read_pending(
    subject: subjects.ExplainSubject,
    pods: DaemonPods,
    reader: ScenarioReader,
    cluster: ClusterReader,
) -> DaemonPods:
    """
    Read the scenarios of the Pending pods of a DaemonSet.

    kube-scheduler places these with their own constraints and labels, whatever the template has.
    Their tolerations include those that the controller adds, which files may leave out.
    """
    names = {one.name for one in pods.waiting.values() if one.is_pending}
    if not names:
        return pods
    stored = cluster.decode_objects(POD, ApiPod, subject.namespace) or []
    found = {
        pod.metadata.name: _read_situation(pod, subject.namespace, reader)
        for pod in stored
        if pod.metadata is not None and pod.metadata.name in names
    }
    waiting = {
        node: replace(one, situation=found.get(one.name)) for node, one in pods.waiting.items()
    }
    return replace(pods, waiting=waiting)


def _read_situation(pod: ApiPod, namespace: str, reader: ScenarioReader) -> Scenario:
    found = reader.read_stored(pod, namespace)
    demands = daemon_demands(found.pod.demands, host_network=found.host_network)
    return found.change_pod(demands=demands)


def read_daemon_scenario(
    subject: subjects.ExplainSubject, situation: Scenario, pods: Iterable[ObservedPod]
) -> Scenario:
    """
    Return the scenario of a new pod of a DaemonSet, with the demands that its controller adds.

    Args:
        situation: The scenario of a pod of the template.
        pods: Those of the DaemonSet: new nodes do not have them, since a what-if places them there.
    """
    demands = daemon_demands(situation.pod.demands, host_network=_is_host_network(subject))
    names = ((subject.namespace, one.metadata.name or "") for one in pods)
    cluster = situation.cluster.without_daemons(names)
    return replace(situation, pod=replace(situation.pod, demands=demands), cluster=cluster)


def add_template_demands(
    pods: DaemonPods, subject: subjects.ExplainSubject, written: Demands, pinned: Scenario
) -> DaemonPods:
    """
    Add what the template requires of a node, if the pods require something else.

    Args:
        written: What the template requires of a node.
        pinned: The scenario of a new pod, with what its RuntimeClass requires.
    """
    found = daemon_demands(written, host_network=_is_host_network(subject))
    return pods if found == pinned.pod.demands else replace(pods, template_demands=found)


def _is_host_network(subject: subjects.ExplainSubject) -> bool:
    """Whether the pods of a workload use the network of their node."""
    return find_value(subject.value, (*subject.path, "spec", "hostNetwork")) is True


def _is_owned(controller: OwnerReference | None, subject: subjects.ExplainSubject) -> bool:
    """Whether a pod belongs to the DaemonSet; pods in files may name no controller."""
    if controller is None:
        return True
    return (controller.kind, controller.name) == (subject.kind.kind, subject.name)


def _node_of(pod: ObservedPod) -> str:
    """
    Return the node that a pod runs on, or is pinned to; empty if there is none.

    Source: pkg/controller/daemon/util/daemonset_util.go ``GetTargetNodeName``.
    """
    if pod.spec.node_name:
        return pod.spec.node_name
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    for term in (required.node_selector_terms if required else None) or ():
        for field in term.match_fields or ():
            if field.key == NODE_NAME and len(field.values) == 1:
                return field.values[0]
    return ""


def _state_of(pod: ObservedPod) -> str:
    if pod.metadata.deletion_timestamp is not None:
        return "being deleted"
    phase = (pod.status.phase if pod.status else None) or ""
    return phase if phase in FINISHED else PENDING
