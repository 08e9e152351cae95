"""
What decides the node of a pod, read from a cluster under one configuration: ``ScenarioReader``.

It reads facts and constraints; it places nothing.
"""

from collections.abc import Collection, Sequence

from msgspec.structs import replace

from webhook.cli.inputs import subjects
from webhook.cli.inputs.admitted import ServerAdmission
from webhook.cli.inputs.cluster import ClusterReader
from webhook.cli.inputs.endingpods import find_ending
from webhook.cli.inputs.nextpods import build_next_pod, foresee_selector
from webhook.cli.inputs.policy import RequestedPolicy
from webhook.cli.inputs.revisions import NextRevision
from webhook.cli.inputs.schedulingscope import SchedulingReader, SchedulingScope, leave_out
from webhook.cli.inputs.spreadconstraints import ConstraintResolver
from webhook.cli.inputs.storagescope import NO_CLAIMS, PodClaims
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.explain.caveats import find_unknown_nodes
from webhook.explain.endingpods import EndingPods
from webhook.explain.keynames import find_key_names
from webhook.explain.newpods import NewPod
from webhook.explain.scenario import Scenario, list_used_keys
from webhook.explain.terms import PlacementTerms, find_terms
from webhook.policy.api.gates import Gate
from webhook.policy.defaulting.forecast import ForecastFacts
from webhook.policy.facts import Facts
from webhook.policy.paths import find_value
from webhook.policy.placement.census import ObservedPod
from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.nodes import SchedulingPod
from webhook.policy.placement.topology import Topology


class ScenarioReader:
    """Reads scenarios of pods, those that exist and those that controllers create next."""

    def __init__(
        self, requested: RequestedPolicy, cluster: ClusterReader, *, replaces: bool
    ) -> None:
        """
        Store the sources.

        Args:
            replaces: Whether the profiles are kube-scheduler's own defaults, which its
                configuration replaces; otherwise our webhook writes them into new pods.
        """
        self.policy = requested.policy
        self.scheduling = SchedulingReader(cluster, requested.policy.gates.version)
        self._cluster = cluster
        self._constraints = ConstraintResolver(requested.policy, replaces=replaces)
        configuration = requested.configuration
        has_server = bool(configuration.files or configuration.orders) and not replaces
        self.server = ServerAdmission(requested.policy if has_server else None)

    def create_pod(
        self,
        revision: NextRevision,
        replicas: Sequence[ObservedPod],
        *,
        part: str = "",
        ordinal: int = 0,
    ) -> tuple[ApiPod, Facts]:
        """
        Create the next pod of a revision, as it is after its admission.

        The arguments are those of ``create_unadmitted``, and so are the facts that are returned.
        """
        namespace = revision.subject.namespace
        known = self._cluster.facts(namespace)
        pod, facts = create_unadmitted(revision, replicas, known, part=part, ordinal=ordinal)
        return self.server.admit_pod(pod, namespace, facts), facts

    def read_scope(
        self,
        pod: ApiPod,
        namespace: str,
        claims: PodClaims = NO_CLAIMS,
        replicas: Collection[str] = (),
    ) -> SchedulingScope:
        """Read what the filters look at; the arguments are those of ``SchedulingReader.read``."""
        topology = Topology(self._cluster.facts(namespace).node_store)
        return self.scheduling.read(pod, namespace, topology, claims, replicas)

    def end_pods(
        self, scope: SchedulingScope, awaited: Collection[str] = (), *, simulates: bool = False
    ) -> tuple[SchedulingCluster, EndingPods]:
        """
        Return a cluster with all pods but those that have ended before a new pod is placed.

        The arguments are those of ``find_ending``; the pods that are left out are returned, too.
        """
        namespace, nodes = scope.pod.namespace, scope.present.nodes
        known = self.scheduling.list_terminating(namespace)
        found = find_ending(known, nodes, namespace, awaited, simulates=simulates)
        return leave_out(scope.present, found.pods), found.names

    def read(self, pod: ApiPod, facts: Facts, scope: SchedulingScope) -> Scenario:
        """Read the scenario of a pod in its scope."""
        incoming, nodes = scope.pod, scope.cluster.topology.nodes
        spreads = self._constraints.resolve(pod, incoming.namespace, facts)
        return Scenario(
            incoming,
            spreads,
            scope.cluster,
            Gate.NODE_INCLUSION_POLICY in self.policy.gates,
            find_key_names(nodes, list_used_keys(incoming.demands, spreads)),
            scope.class_labels,
            bool(pod.spec and pod.spec.host_network),
        )

    def read_stored(self, pod: ApiPod, namespace: str) -> Scenario:
        """Read the scenario of a pod that exists, with its own constraints and labels."""
        scope = self.read_scope(pod, namespace)
        return self.read(pod, self._cluster.facts(namespace), scope)

    def read_pending(self, pod: ApiPod, namespace: str, claims: PodClaims) -> NewPod:
        """
        Read what kube-scheduler places of a Pending pod: with its own constraints and labels.

        Its name and uid are left out, so that pods that require the same are equal.

        Args:
            claims: Those that its controller gives to it, besides those of its volumes.
        """
        incoming = self.scheduling.read_pod(pod, namespace, claims).pod
        spreads = self._constraints.resolve(pod, namespace, self._cluster.facts(namespace))
        return NewPod(replace(incoming, name="", uid=""), spreads)

    def find_terms(
        self,
        subject: subjects.ExplainSubject,
        pod: SchedulingPod,
        *,
        is_running: bool = False,
    ) -> PlacementTerms:
        """Find what decides on the node of a pod besides kube-scheduler."""
        written = find_value(subject.value, subject.path)
        return find_terms(pod, written, self.policy.scheduler_defaults, is_running=is_running)

    def foresee(
        self,
        revision: NextRevision,
        replicas: Sequence[ObservedPod],
        situation: Scenario,
        claims: PodClaims,
        ordinal: int,
        *,
        part: str = "",
    ) -> NewPod:
        """
        Foresee a new pod of a revision.

        Args:
            replicas: The pods that the workload has.
            situation: That of the next pod.
            ordinal: Of the new pod in a StatefulSet, its index in a Job, or its number in a
                workload with groups.
            part: Of the workload that the pod belongs to; empty if there is one template only.
        """
        namespace = revision.subject.namespace
        pod, facts = self.create_pod(revision, replicas, part=part, ordinal=ordinal)
        incoming = self.scheduling.read_pod(pod, namespace, claims).pod
        spreads = self._constraints.resolve(pod, namespace, facts)
        terms = self.find_terms(revision.subject, pod)
        found = terms.restrict(replace(situation, pod=incoming, spreads=spreads))
        return NewPod(found.pod, found.spreads)

    def find_strays(
        self, situation: Scenario, namespace: str, own: Sequence[ObservedPod]
    ) -> tuple[str, ...]:
        """Find what is not known since pods of a namespace are on nodes that nothing shows."""
        placed = self.scheduling.list_placed(namespace).values()
        return find_unknown_nodes(situation, placed, {one.metadata.name or "" for one in own})


def create_unadmitted(
    revision: NextRevision,
    replicas: Sequence[ObservedPod],
    facts: Facts,
    *,
    part: str = "",
    ordinal: int = 0,
) -> tuple[ApiPod, Facts]:
    """
    Create the next pod of a revision, as its controller sends it.

    Args:
        replicas: The pods that the workload has.
        facts: Those of its namespace.
        part: Of the workload that the pod belongs to; empty if there is one template only.
        ordinal: Of the pod in a StatefulSet.

    Returns:
        The pod, and the facts that its constraints depend on, with its controller.
    """
    pod = build_next_pod(revision, replicas, part=part, ordinal=ordinal)
    if not revision.is_owned:  # foresee the objects that will own it
        facts = ForecastFacts(facts, foresee_selector(revision.subject, pod))
    return pod, facts
