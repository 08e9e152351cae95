"""What a question is about: a pod, or the next pod of a workload, and what decides its place."""

from collections.abc import Mapping

import msgspec

from webhook.cli.inputs.cluster import Surroundings
from webhook.cli.inputs.found import (
    Found,
    decoded,
    is_controlled,
    is_same,
    read_workload,
    revision_of,
    selector_of,
)
from webhook.cli.inputs.policy import AskedPolicy
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


class Target(msgspec.Struct, frozen=True):
    """
    A pod that is to be placed.

    Attributes:
        subject: What it is called.
        situation: The pod and its surroundings.
        runs_on: The node that it runs on; empty if it waits or does not exist yet.
        replicas: How many pods like it there should be.
        running: Node name -> those that run there now, at least 1, without itself.
    """

    subject: str
    situation: Scenario
    runs_on: str
    replicas: int
    running: Mapping[str, int]


class Judge:
    """Makes targets of objects, by one configuration."""

    def __init__(self, asked: AskedPolicy, surroundings: Surroundings, *, replaces: bool) -> None:
        """
        Look at nothing yet.

        Args:
            asked: Configuration and gates.
            surroundings: The cluster.
            replaces: Whether the profiles are those of kube-scheduler itself, whose defaults they
                replace; else those of our webhook, which writes them into new pods.
        """
        self._policy = asked.policy
        self._surroundings = surroundings
        self._replaces = replaces

    def target(self, found: Found) -> Target:
        """
        Find out what decides where a pod goes.

        Raises:
            SourceError: The object is of wrong types, or has no pod template.
        """
        return self._of_pod(found) if found.kind == POD else self._of_workload(found)

    def _of_pod(self, found: Found) -> Target:
        pod = decoded(found)
        facts = self._surroundings.facts(found.namespace)
        observed = self._surroundings.pods(found.namespace)
        others = Census(each for each in observed if each.metadata.name != found.name)
        running = others.count(found.namespace, LabelSelector(pod.labels)) if pod.labels else {}
        runs_on = pod.spec.node_name if pod.spec else ""
        return Target(
            subject=str(found),
            situation=self._situation(pod, found, facts, others, is_new=not found.exists),
            runs_on=runs_on,
            replicas=sum(running.values()) + 1,
            running=running,
        )

    def _of_workload(self, found: Found) -> Target:
        subject = read_workload(found)
        facts: Facts = self._surroundings.facts(found.namespace)
        pod = self._revision(found, decoded(found))
        if pod is None:
            pod = _first_pod(found, subject.pod)
            facts = ForecastFacts(facts, pod.labels)
        census = Census(self._surroundings.pods(found.namespace))
        selector = selector_of(found) or LabelSelector(subject.pod.labels)
        return Target(
            subject=f"the next pod of {found}",
            situation=self._situation(pod, found, facts, census, is_new=True),
            runs_on="",
            replicas=1 if subject.replicas is None else subject.replicas,
            running=census.count(found.namespace, selector),
        )

    def _situation(
        self, pod: SchedulingPod, found: Found, facts: Facts, census: Census, *, is_new: bool
    ) -> Scenario:
        constraints = pod.constraints
        if is_new and not self._replaces:
            injection = inject(pod, found.namespace, self._policy, facts)
            kept = (each for i, each in enumerate(constraints) if i not in injection.ours)
            added = (_decode_constraint(entry.written) for entry in injection.entries)
            constraints = (*kept, *added)
        nodes = self._surroundings.facts(found.namespace).node_store
        return Scenario(
            incoming_pod(pod, found.namespace),
            self._resolved(constraints, pod, found.namespace, facts),
            Topology(nodes),
            census,
        )

    def _resolved(
        self, constraints: tuple[Constraint, ...], pod: SchedulingPod, namespace: str, facts: Facts
    ) -> SpreadConstraints:
        derived = derive_selector(pod, namespace, facts)
        selector = derived.selector if derived else None
        gates = self._policy.gates
        if self._replaces:
            profile = profile_of(pod, namespace, self._policy, facts)
            chosen, system = (profile.constraints, profile.system) if profile else ((), False)
        else:
            system = Gate.DEFAULT_POD_TOPOLOGY_SPREAD in gates
            chosen = SYSTEM_CONSTRAINTS if system else ()
        return resolve_constraints(
            constraints, pod.labels, gates, DefaultConstraints(chosen, selector, system)
        )

    def _revision(self, found: Found, template: SchedulingPod) -> SchedulingPod | None:
        """
        Make the pod that the ReplicaSet of a Deployment's template makes, if there is one yet.

        Source: pkg/controller/deployment/util ``FindNewReplicaSet``, ``EqualIgnoreHash``.
        """
        if found.kind != DEPLOYMENT:
            return None
        for value in sorted(
            self._surroundings.all_of(REPLICA_SET, found.namespace), key=revision_of, reverse=True
        ):
            made_by = Found(REPLICA_SET, found.path, found.namespace, value, exists=True)
            if is_controlled(value, found) and is_same(made := decoded(made_by), template):
                return _first_pod(made_by, made)
        return None


def _first_pod(found: Found, template: SchedulingPod) -> SchedulingPod:
    made = first_pod(found.kind, found.name, template)
    return SchedulingPod(made.metadata, template.spec)


_decode_constraint = msgspec.json.Decoder(Constraint).decode
