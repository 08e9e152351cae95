"""
Where the next pod of a workload finds a place: ``PodPlacer``.

The cluster is read when the first pod is placed, since most changes of policies leave most pods as
they are.
"""

from functools import cached_property

from webhook.cli.inputs.cluster import ClusterReader
from webhook.cli.inputs.daemons import (
    add_template_demands,
    gather_daemon_pods,
    read_daemon_scenario,
)
from webhook.cli.inputs.observedworkloads import ObservedWorkload
from webhook.cli.inputs.policy import RequestedPolicy
from webhook.cli.inputs.scenarioreader import ScenarioReader
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.explain.daemons import describe_pinned, find_missing, pin_first
from webhook.explain.scenario import Scenario
from webhook.policy.facts import Facts
from webhook.policy.kinds import DAEMON_SET
from webhook.policy.placement.filters.failure import describe_failure


class PodPlacer:
    """Places pods in a cluster, each as if it were the next one."""

    def __init__(self, cluster: ClusterReader, requested: RequestedPolicy) -> None:
        """
        Store the cluster.

        Args:
            requested: Has the Kubernetes version and the feature gates of the cluster.
        """
        self._cluster, self._requested = cluster, requested

    @cached_property
    def _reader(self) -> ScenarioReader:
        return ScenarioReader(self._requested, self._cluster, replaces=False)

    def find_failure(self, workload: ObservedWorkload, pod: ApiPod, facts: Facts) -> str | None:
        """
        Describe why a pod finds no node, as kube-scheduler does.

        Args:
            workload: Creates the pod. Of a DaemonSet, the pods that nodes lack are placed.
            pod: After its admission.
            facts: Those of its namespace, with the controller of the pod.

        Returns:
            Empty if it finds one, or if kube-scheduler does not place it; None if no node is known.
        """
        subject = workload.subject
        if not len(self._cluster.facts(subject.namespace).node_store):
            return None
        names = frozenset(other.metadata.name or "" for other in workload.selected)
        claims = workload.volumes.at(workload.ordinal)
        scope = self._reader.read_scope(pod, subject.namespace, claims, names)
        cluster, _ = self._reader.end_pods(scope, workload.awaited)
        situation = self._reader.read(pod, facts, scope._replace(cluster=cluster))
        if subject.kind.kind == DAEMON_SET.kind:  # also that of OpenKruise
            return _find_daemon_failure(workload, pod, situation)
        terms = self._reader.find_terms(workload.revision.subject, pod)
        if not terms.are_filtered:
            return ""
        return describe_failure(situation.placement().result)


def _find_daemon_failure(workload: ObservedWorkload, pod: ApiPod, situation: Scenario) -> str:
    pinned = read_daemon_scenario(workload.subject, situation, workload.selected)
    pods = gather_daemon_pods(workload.subject, workload.selected)
    pods = add_template_demands(pods, workload.subject, pod.demands, pinned)
    report = find_missing(pinned, pods)
    return describe_pinned(pin_first(pinned, report, pods), pinned.topology.nodes)
