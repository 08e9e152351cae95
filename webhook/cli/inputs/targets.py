"""
Placement targets: a pod, or the next pod of a workload, with everything that decides its node.

Entry point: ``TargetBuilder.build``. It reads facts and constraints; it places nothing.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import partial

import msgspec
from msgspec.structs import replace

from webhook.cli.inputs import subjects
from webhook.cli.inputs.admitted import ServerAdmission
from webhook.cli.inputs.autoscaled import ScaledReplicas, read_replicas
from webhook.cli.inputs.cluster import ClusterReader
from webhook.cli.inputs.daemons import gather_daemon_pods, read_daemon_scenario
from webhook.cli.inputs.jobs import find_job_demand
from webhook.cli.inputs.nextpods import build_next_pod, foresee_selector
from webhook.cli.inputs.policy import RequestedPolicy
from webhook.cli.inputs.refusals import find_refusals
from webhook.cli.inputs.removals import gather_pods
from webhook.cli.inputs.replicas import is_like, select_replicas
from webhook.cli.inputs.revisions import NextRevision, find_revision
from webhook.cli.inputs.rollouts import ForeseePod, RolloutPlan, read_plan
from webhook.cli.inputs.schedulingscope import SchedulingReader, SchedulingScope
from webhook.cli.inputs.setrevisions import SetRevisions, list_new_pods
from webhook.cli.inputs.setvolumes import SetVolumes, list_templates, read_set_volumes
from webhook.cli.inputs.spreadconstraints import ConstraintResolver
from webhook.cli.inputs.storagescope import NO_CLAIMS, PodClaims
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.explain.caveats import ALWAYS_IGNORED, find_caveats, find_unknown_nodes
from webhook.explain.daemons import DaemonPods
from webhook.explain.explanation import Refusal
from webhook.explain.keynames import find_key_names
from webhook.explain.newpods import NewPod
from webhook.explain.removal import WorkloadPods
from webhook.explain.scenario import Scenario, list_used_keys
from webhook.explain.terms import PlacementTerms, find_terms
from webhook.policy.api.gates import Gate
from webhook.policy.defaulting.forecast import ForecastFacts
from webhook.policy.facts import Facts
from webhook.policy.jobdemand import JobDemand
from webhook.policy.kinds import DAEMON_SET, POD, STATEFUL_SET
from webhook.policy.model import GroupKind
from webhook.policy.paths import find_value
from webhook.policy.placement.census import ObservedPod
from webhook.policy.placement.nodes import SchedulingPod
from webhook.policy.placement.topology import Topology
from webhook.policy.scaledown.ranks import KEEP_SPREAD, SCALE_DOWN_LABEL


class PlacementTarget(msgspec.Struct, frozen=True):
    """
    A pod to place.

    Attributes:
        runs_on: Its node; empty if it is Pending, has ended, or does not exist yet.
        replicas: Desired number of pods like it.
        running: Node name -> number of such pods there now, at least 1, with the pod itself.
        present: Where a what-if starts: the scenario with the pod itself, if it counts on a node.
        pods: The same pods and those without a node, with what decides which of them are removed
            first; None if scaling down never removes them.
        daemon: The pods of a DaemonSet; None for others.
        caveats: What the pod uses and placement does not model.
        name: Name of the object, as ``Deployment shop/web``.
        keeps_spread: Whether its new pods get ranks, so that a scale-down keeps their spread.
        refused: Why kube-apiserver accepts no such pod; empty if it does.
        terms: What decides on its node besides kube-scheduler.
        unknown: Revision that new pods may have and whose template is not known; usually empty.
        rollout: How it rolls out a new revision; None if that is not modelled, or not requested.
    """

    subject: str
    kind: GroupKind
    situation: Scenario
    runs_on: str
    replicas: int
    running: Mapping[str, int]
    present: Scenario
    pods: WorkloadPods | None = None
    daemon: DaemonPods | None = None
    caveats: tuple[str, ...] = ALWAYS_IGNORED
    name: str = ""
    keeps_spread: bool = False
    refused: tuple[Refusal, ...] = ()
    terms: PlacementTerms = PlacementTerms()
    unknown: str = ""
    rollout: RolloutPlan | None = None


class TargetBuilder:
    """Builds placement targets from objects, under one configuration."""

    def __init__(
        self,
        requested: RequestedPolicy,
        cluster: ClusterReader,
        *,
        replaces: bool,
        now: float,
        rolls_out: bool = False,
        simulates: bool = False,
        scale: int | None = None,
    ) -> None:
        """
        Store the sources; ``build`` reads them.

        Args:
            replaces: Whether the profiles are kube-scheduler's own defaults, which its
                configuration replaces; otherwise our webhook writes them into new pods.
            now: The present time, in seconds since 1970, for the age of pods.
            rolls_out: Whether to read how the workloads roll out a new revision.
            simulates: Whether missing pods are placed, too.
            scale: The number of replicas to set; None to keep it.
        """
        self._rolls_out, self._simulates, self._scale, self._now = rolls_out, simulates, scale, now
        self._scheduling = SchedulingReader(cluster, requested.policy.gates.version)
        self._policy = requested.policy
        self._cluster = cluster
        self._constraints = ConstraintResolver(requested.policy, replaces=replaces)
        has_server = bool(requested.configuration.files) and not replaces
        self._server = ServerAdmission(requested.policy if has_server else None)

    def build(self, subject: subjects.ExplainSubject) -> PlacementTarget:
        """
        Build the target for a pod, or for the next pod of a workload.

        Raises:
            SourceError: A value has a wrong type, or the pod template is missing.
        """
        subjects.decode_template(subject)  # reports the path of a wrong type
        facts = self._cluster.facts(subject.namespace)
        admitted = self._server.admit(subject, facts)
        subject = admitted.subject
        target = self._of_pod(subject) if subject.kind == POD else self._of_workload(subject)
        template = find_value(subject.value, subject.path)
        has_claims = subject.kind != STATEFUL_SET and bool(list_templates(subject.value))
        scope, schedulers = target.situation, self._policy.scheduler_defaults
        found = find_caveats(template, scope.pod, scope.cluster, schedulers, has_claims=has_claims)
        caveats = (*found, *target.caveats)
        refused = admitted.refused or find_refusals(subject, self._policy.gates)
        return replace(target, caveats=caveats, name=str(subject), refused=refused)

    def _of_pod(self, subject: subjects.ExplainSubject) -> PlacementTarget:
        pod = subjects.decode_template(subject)
        namespace = subject.namespace
        facts = self._cluster.facts(namespace)
        observed = self._cluster.pods(namespace)
        others = [other for other in observed if other.metadata.name != subject.name]
        own = [other for other in observed if other.metadata.name == subject.name and other.counts]
        alike = [other for other in others if other.counts and is_like(pod, other)]
        running = Counter(other.spec.node_name or "" for other in (*alike, *own))
        scope = self._read_scope(pod, namespace)
        situation = self._situation(pod, scope, facts)
        node = pod.spec.node_name if pod.spec else ""
        terms = self._find_terms(subject, pod, is_running=bool(node))
        strays = self._find_strays(situation, namespace, (*alike, *own))
        return PlacementTarget(
            subject=str(subject),
            kind=subject.kind,
            situation=situation,
            runs_on="" if terms.phase else node,
            replicas=len(alike) + 1,
            running=running,
            present=replace(situation, cluster=scope.present),
            caveats=(*scope.unread, *strays),
            terms=terms,
        )

    def _of_workload(self, subject: subjects.ExplainSubject) -> PlacementTarget:
        workload = subjects.read_workload(subject)
        part, namespace = workload.part, subject.namespace
        observed = self._cluster.pods(namespace)
        selected = select_replicas(subject, observed, self._cluster)
        own = [other for other in selected if other.counts]
        revisions = (
            SetRevisions(subject, own, self._cluster) if subject.kind == STATEFUL_SET else None
        )
        ordinal = revisions.next_ordinal if revisions else 0
        revision = revisions.at(ordinal) if revisions else find_revision(subject, self._cluster)
        pod, facts = self._create_pod(revision, own, part=part, ordinal=ordinal)
        running = Counter(other.spec.node_name or "" for other in own)
        replicas, scaling, unread = self._read_replicas(subject, workload.replicas)
        volumes = read_set_volumes(subject, replicas, self._scale)
        if self._rolls_out or revisions is not None:  # pods of other revisions come later
            self._scheduling.prepare(
                namespace, volumes.list_claims(max(replicas, self._scale or 0))
            )
        names = frozenset(other.metadata.name or "" for other in selected)
        scope = self._read_scope(pod, namespace, volumes.at(ordinal), names)
        situation = self._situation(pod, scope, facts)
        strays = self._find_strays(situation, namespace, own)
        if subject.kind.kind == DAEMON_SET.kind:  # also that of OpenKruise
            daemons = _build_daemon_target(subject, situation, selected, running)
            return replace(daemons, caveats=(*scope.unread, *strays))
        scale = replicas if self._scale is None else self._scale
        claims = volumes.list_claims(scale) if self._simulates else ()
        demand = find_job_demand(subject, selected, self._cluster)
        terms = self._find_terms(revision.subject, pod, unknown=revision.unknown, demand=demand)
        terms = replace(terms, scaling=scaling) if scaling else terms
        situation = terms.restrict(situation)
        pods = gather_pods(subject, selected, observed, self._cluster, self._now)
        pods = pods and replace(pods, placed=self._scheduling.list_placed(namespace))
        foresee = partial(self._foresee_pod, own, situation, volumes)
        if revisions is not None and pods is not None:
            pods = replace(pods, succession=list_new_pods(subject, revisions, foresee))
        return PlacementTarget(
            subject=f"the next pod of {subject}" + (f", template {part}" if part else ""),
            kind=subject.kind,
            situation=situation,
            runs_on="",
            replicas=demand.pods if demand else replicas,
            running=running,
            present=situation,
            pods=pods,
            caveats=(*self._scheduling.list_unread(scope, claims), *strays, *unread),
            keeps_spread=pod.labels.get(SCALE_DOWN_LABEL) == KEEP_SPREAD,
            terms=terms,
            unknown=revisions.unknown if revisions else "",
            rollout=self._read_plan(
                subject, foresee, own, unknown=volumes.are_unknown(scope.cluster.storage)
            ),
        )

    def _read_replicas(
        self, subject: subjects.ExplainSubject, written: int | None
    ) -> ScaledReplicas:
        """Read the replicas to place; without a what-if, no autoscaler matters."""
        replicas = 1 if written is None else written
        if not self._simulates:
            return ScaledReplicas(replicas)
        return read_replicas(subject, replicas, self._cluster, self._scale)

    def _read_plan(
        self,
        subject: subjects.ExplainSubject,
        foresee: ForeseePod,
        replicas: Sequence[ObservedPod],
        *,
        unknown: bool,
    ) -> RolloutPlan | None:
        if not self._rolls_out:
            return None
        version = self._policy.gates.version
        return read_plan(
            subject, self._cluster, version, foresee, replicas, has_unknown_volumes=unknown
        )

    def _foresee_pod(
        self,
        replicas: Sequence[ObservedPod],
        situation: Scenario,
        volumes: SetVolumes,
        /,
        revision: NextRevision,
        ordinal: int,
    ) -> NewPod:
        """
        Foresee a new pod of a revision; ``situation`` is that of the next one.

        Args:
            ordinal: Its ordinal in a StatefulSet.
        """
        namespace = revision.subject.namespace
        pod, facts = self._create_pod(revision, replicas, ordinal=ordinal)
        incoming = self._scheduling.read_pod(pod, namespace, volumes.at(ordinal)).pod
        spreads = self._constraints.resolve(pod, namespace, facts)
        terms = self._find_terms(revision.subject, pod)
        found = terms.restrict(replace(situation, pod=incoming, spreads=spreads))
        return NewPod(found.pod, found.spreads)

    def _create_pod(
        self,
        revision: NextRevision,
        replicas: Sequence[ObservedPod],
        *,
        part: str = "",
        ordinal: int = 0,
    ) -> tuple[ApiPod, Facts]:
        """Build a new pod as it is after its admission, and the facts with its controller."""
        namespace = revision.subject.namespace
        facts: Facts = self._cluster.facts(namespace)
        pod = build_next_pod(revision, replicas, part=part, ordinal=ordinal)
        if not revision.is_owned:  # foresee the objects that will own it
            facts = ForecastFacts(facts, foresee_selector(revision.subject, pod))
        return self._server.admit_pod(pod, namespace, facts), facts

    def _find_terms(
        self,
        subject: subjects.ExplainSubject,
        pod: SchedulingPod,
        *,
        is_running: bool = False,
        unknown: str = "",
        demand: JobDemand | None = None,
    ) -> PlacementTerms:
        written = find_value(subject.value, subject.path)
        known = self._policy.scheduler_defaults
        terms = find_terms(pod, written, known, is_running=is_running)
        if demand is not None:
            terms = replace(terms, closed=demand.closed, suspended=demand.suspended)
        return replace(terms, revision=unknown) if unknown else terms

    def _read_scope(
        self,
        pod: ApiPod,
        namespace: str,
        claims: PodClaims = NO_CLAIMS,
        replicas: Collection[str] = (),
    ) -> SchedulingScope:
        topology = Topology(self._cluster.facts(namespace).node_store)
        return self._scheduling.read(pod, namespace, topology, claims, replicas)

    def _find_strays(
        self, situation: Scenario, namespace: str, own: Sequence[ObservedPod]
    ) -> tuple[str, ...]:
        placed = self._scheduling.list_placed(namespace).values()
        return find_unknown_nodes(situation, placed, {one.metadata.name or "" for one in own})

    def _situation(self, pod: ApiPod, scope: SchedulingScope, facts: Facts) -> Scenario:
        incoming, nodes = scope.pod, scope.cluster.topology.nodes
        spreads = self._constraints.resolve(pod, incoming.namespace, facts)
        return Scenario(
            incoming,
            spreads,
            scope.cluster,
            Gate.NODE_INCLUSION_POLICY in self._policy.gates,
            find_key_names(nodes, list_used_keys(incoming.demands, spreads)),
        )


def _build_daemon_target(
    subject: subjects.ExplainSubject,
    situation: Scenario,
    selected: Sequence[ObservedPod],
    running: Mapping[str, int],
) -> PlacementTarget:
    pinned = read_daemon_scenario(subject, situation, selected)
    return PlacementTarget(
        subject=str(subject),
        kind=subject.kind,
        situation=pinned,
        runs_on="",
        replicas=0,
        running=running,
        present=pinned,
        daemon=gather_daemon_pods(subject, selected),
    )
