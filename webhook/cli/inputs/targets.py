"""
Placement targets: a pod, or the next pod of a workload, with everything that decides its node.

Entry point: ``TargetBuilder.build``. It reads facts and constraints; it places nothing.
"""

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from webhook.cli.inputs import subjects
from webhook.cli.inputs.cluster import ClusterReader
from webhook.cli.inputs.policy import RequestedPolicy
from webhook.policy.api.gates import Gate
from webhook.policy.defaulting.forecast import ForecastFacts, first_pod
from webhook.policy.defaulting.inject import inject, profile_of
from webhook.policy.defaulting.profiles import SYSTEM_CONSTRAINTS
from webhook.policy.defaulting.selector import derive_selector
from webhook.policy.explain.scenario import Scenario
from webhook.policy.facts import Facts
from webhook.policy.kinds import DEPLOYMENT, POD, REPLICA_SET
from webhook.policy.model import Constraint, LabelSelector
from webhook.policy.placement.census import Census
from webhook.policy.placement.nodes import SchedulingPod
from webhook.policy.placement.place import incoming_pod
from webhook.policy.placement.spreads import (
    DefaultConstraints,
    SpreadConstraints,
    resolve_constraints,
)
from webhook.policy.placement.topology import Topology


class PlacementTarget(msgspec.Struct, frozen=True):
    """
    A pod to place.

    Attributes:
        runs_on: Its node; empty if it is Pending or does not exist yet.
        replicas: Desired number of pods like it.
        running: Node name -> number of such pods there now, at least 1, without the pod itself.
    """

    subject: str
    situation: Scenario
    runs_on: str
    replicas: int
    running: Mapping[str, int]


class TargetBuilder:
    """Builds placement targets from objects, under one configuration."""

    def __init__(
        self, requested: RequestedPolicy, cluster: ClusterReader, *, replaces: bool
    ) -> None:
        """
        Store the sources; ``build`` reads them.

        Args:
            replaces: Whether the profiles are kube-scheduler's own defaults, which its
                configuration replaces; otherwise our webhook writes them into new pods.
        """
        self._policy = requested.policy
        self._cluster = cluster
        self._replaces = replaces

    def build(self, subject: subjects.ExplainSubject) -> PlacementTarget:
        """
        Build the target for a pod, or for the next pod of a workload.

        Raises:
            SourceError: A value has a wrong type, or the pod template is missing.
        """
        return self._of_pod(subject) if subject.kind == POD else self._of_workload(subject)

    def _of_pod(self, subject: subjects.ExplainSubject) -> PlacementTarget:
        pod = subjects.decode_template(subject)
        namespace = subject.namespace
        facts = self._cluster.facts(namespace)
        observed = self._cluster.pods(namespace)
        others = Census(other for other in observed if other.metadata.name != subject.name)
        running = others.count(namespace, LabelSelector(pod.labels)) if pod.labels else {}
        return PlacementTarget(
            subject=str(subject),
            situation=self._situation(pod, namespace, facts, others, is_new=not subject.exists),
            runs_on=pod.spec.node_name if pod.spec else "",
            replicas=sum(running.values()) + 1,
            running=running,
        )

    def _of_workload(self, subject: subjects.ExplainSubject) -> PlacementTarget:
        workload = subjects.read_workload(subject)
        namespace = subject.namespace
        facts: Facts = self._cluster.facts(namespace)
        pod = self._pod_of_replica_set(subject, subjects.decode_template(subject))
        if pod is None:  # no pod yet has this template: foresee the objects that will own it
            pod = _first_pod(subject, workload.pod)
            facts = ForecastFacts(facts, pod.labels)
        census = Census(self._cluster.pods(namespace))
        selector = subjects.selector_of(subject) or LabelSelector(workload.pod.labels)
        return PlacementTarget(
            subject=f"the next pod of {subject}",
            situation=self._situation(pod, namespace, facts, census, is_new=True),
            runs_on="",
            replicas=1 if workload.replicas is None else workload.replicas,
            running=census.count(namespace, selector),
        )

    def _situation(
        self, pod: SchedulingPod, namespace: str, facts: Facts, census: Census, *, is_new: bool
    ) -> Scenario:
        constraints = pod.constraints
        if is_new and not self._replaces:
            # The webhook will patch the pod: apply its defaults before the scheduler sees it.
            injection = inject(pod, namespace, self._policy, facts)
            kept = (entry for i, entry in enumerate(constraints) if i not in injection.previous)
            added = (_decode_constraint(entry.written) for entry in injection.entries)
            constraints = (*kept, *added)
        return Scenario(
            incoming_pod(pod, namespace),
            self._resolve(constraints, pod, namespace, facts),
            Topology(self._cluster.facts(namespace).node_store),
            census,
        )

    def _resolve(
        self, constraints: tuple[Constraint, ...], pod: SchedulingPod, namespace: str, facts: Facts
    ) -> SpreadConstraints:
        """Add kube-scheduler's own default constraints, which apply to pods without any."""
        derived = derive_selector(pod, namespace, facts)
        selector = derived.selector if derived else None
        gates = self._policy.gates
        if self._replaces:
            profile = profile_of(pod, namespace, self._policy, facts)
            defaults, system = (profile.constraints, profile.system) if profile else ((), False)
        else:
            system = Gate.DEFAULT_POD_TOPOLOGY_SPREAD in gates
            defaults = SYSTEM_CONSTRAINTS if system else ()
        return resolve_constraints(
            constraints, pod.labels, gates, DefaultConstraints(defaults, selector, system)
        )

    def _pod_of_replica_set(
        self, subject: subjects.ExplainSubject, template: SchedulingPod
    ) -> SchedulingPod | None:
        """
        Build the pod of a Deployment's newest ReplicaSet with this template; None without one.

        Source: pkg/controller/deployment/util ``FindNewReplicaSet``, ``EqualIgnoreHash``.
        """
        if subject.kind != DEPLOYMENT:
            return None
        found = self._cluster.all_of(REPLICA_SET, subject.namespace)
        owned = (value for value in found if subjects.is_controlled_by(value, subject))
        for value in sorted(owned, key=subjects.revision_of, reverse=True):
            replica_set = replace(subject, kind=REPLICA_SET, value=value)
            pod = subjects.decode_template(replica_set)
            if subjects.is_same_template(pod, template):
                return _first_pod(replica_set, pod)
        return None


def _first_pod(subject: subjects.ExplainSubject, template: SchedulingPod) -> SchedulingPod:
    pod = first_pod(subject.kind, subject.name, template)
    return SchedulingPod(pod.metadata, template.spec)


_decode_constraint = msgspec.json.Decoder(Constraint).decode
