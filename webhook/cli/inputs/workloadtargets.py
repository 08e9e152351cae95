"""Placement targets of workloads: ``WorkloadTargetBuilder`` builds that of the next pod."""

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from webhook.cli.inputs import subjects
from webhook.cli.inputs.autoscaled import ScaledReplicas, read_replicas
from webhook.cli.inputs.cluster import ClusterReader
from webhook.cli.inputs.daemons import gather_daemon_pods, read_daemon_scenario
from webhook.cli.inputs.indexedpods import gather_indexed_pods
from webhook.cli.inputs.jobs import find_job_demand, find_settled, list_indexes
from webhook.cli.inputs.placementtargets import PlacementTarget, TargetOptions
from webhook.cli.inputs.removals import gather_pods
from webhook.cli.inputs.replicas import select_replicas
from webhook.cli.inputs.revisions import NextRevision, find_revision
from webhook.cli.inputs.rollouts import ForeseePod, RolloutPlan, read_plan
from webhook.cli.inputs.scenarioreader import ScenarioReader
from webhook.cli.inputs.schedulingscope import SchedulingScope
from webhook.cli.inputs.setrevisions import SetRevisions, list_new_pods
from webhook.cli.inputs.setvolumes import SetVolumes, read_set_volumes
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.explain.newpods import NewPod
from webhook.explain.removal import WorkloadPods
from webhook.explain.scenario import Scenario
from webhook.explain.terms import PlacementTerms
from webhook.policy.jobdemand import JobDemand
from webhook.policy.kinds import DAEMON_SET, STATEFUL_SET
from webhook.policy.nextrevision import find_free_ordinal
from webhook.policy.placement.census import ObservedPod
from webhook.policy.scaledown.ranks import KEEP_SPREAD, SCALE_DOWN_LABEL


class _Workload(NamedTuple):
    """
    A workload with its pods and its next one.

    Attributes:
        part: Of the workload that the pod belongs to; empty if there is one template only.
        observed: The pods of the namespace.
        selected: The pods of the workload, also those that have ended.
        own: Those that count.
        revisions: Of a StatefulSet; None for other workloads.
        settled: Indexes of an Indexed Job that need no new pod; None for other workloads.
        ordinal: Of the next pod in a StatefulSet, or its index in a Job.
        revision: Of the next pod.
    """

    subject: subjects.ExplainSubject
    part: str
    observed: list[ObservedPod]
    selected: list[ObservedPod]
    own: list[ObservedPod]
    revisions: SetRevisions | None
    settled: frozenset[int] | None
    ordinal: int
    revision: NextRevision
    volumes: SetVolumes
    scaled: ScaledReplicas

    @property
    def running(self) -> Mapping[str, int]:
        """Node name -> number of pods there."""
        return Counter(other.spec.node_name or "" for other in self.own)


class _NextPod(NamedTuple):
    """
    The next pod of a workload.

    Attributes:
        situation: Before its terms restrict it.
        strays: What is not known since pods are on nodes that nothing shows.
    """

    pod: ApiPod
    scope: SchedulingScope
    situation: Scenario
    strays: tuple[str, ...]


class WorkloadTargetBuilder:
    """Builds the targets of workloads."""

    def __init__(
        self, reader: ScenarioReader, cluster: ClusterReader, options: TargetOptions
    ) -> None:
        """Store the sources; ``build`` reads them."""
        self._reader, self._cluster, self._options = reader, cluster, options

    def build(self, subject: subjects.ExplainSubject) -> PlacementTarget:
        """
        Build the target for the next pod of a workload.

        Raises:
            SourceError: A value has a wrong type.
        """
        workload = self._read_workload(subject)
        next_pod = self._read_next_pod(workload)
        if subject.kind.kind == DAEMON_SET.kind:  # also that of OpenKruise
            return _build_daemon_target(workload, next_pod)
        return self._build_replica_target(workload, next_pod)

    def _read_workload(self, subject: subjects.ExplainSubject) -> _Workload:
        written = subjects.read_workload(subject)
        observed = self._cluster.pods(subject.namespace)
        selected = select_replicas(subject, observed, self._cluster)
        own = [other for other in selected if other.counts]
        is_set = subject.kind == STATEFUL_SET
        revisions = SetRevisions(subject, own, self._cluster) if is_set else None
        settled = find_settled(subject, selected, self._cluster)
        ordinal = revisions.next_ordinal if revisions else 0
        if settled is not None:
            ordinal = find_free_ordinal(0, settled | list_indexes(own))
        scaled = self._read_replicas(subject, written.replicas)
        return _Workload(
            subject,
            written.part,
            observed,
            selected,
            own,
            revisions,
            settled,
            ordinal,
            revisions.at(ordinal) if revisions else find_revision(subject, self._cluster),
            read_set_volumes(subject, scaled.number, self._options.scale),
            scaled,
        )

    def _read_replicas(
        self, subject: subjects.ExplainSubject, written: int | None
    ) -> ScaledReplicas:
        """Read the replicas to place; without a what-if, no autoscaler matters."""
        replicas = 1 if written is None else written
        if not self._options.simulates:
            return ScaledReplicas(replicas)
        return read_replicas(subject, replicas, self._cluster, self._options.scale)

    def _read_next_pod(self, workload: _Workload) -> _NextPod:
        namespace, ordinal = workload.subject.namespace, workload.ordinal
        pod, facts = self._reader.create_pod(
            workload.revision, workload.own, part=workload.part, ordinal=ordinal
        )
        if self._options.rolls_out or workload.revisions is not None:
            # pods of other revisions come later
            most = max(workload.scaled.number, self._options.scale or 0)
            self._reader.scheduling.prepare(namespace, workload.volumes.list_claims(most))
        names = frozenset(other.metadata.name or "" for other in workload.selected)
        claims = workload.volumes.at(ordinal)
        scope = self._reader.read_scope(pod, namespace, claims, names)
        situation = self._reader.read(pod, facts, scope)
        strays = self._reader.find_strays(situation, namespace, workload.own)
        return _NextPod(pod, scope, situation, strays)

    def _build_replica_target(self, workload: _Workload, next_pod: _NextPod) -> PlacementTarget:
        subject, part = workload.subject, workload.part
        demand = find_job_demand(subject, workload.selected, self._cluster)
        terms = self._find_terms(workload, next_pod, demand)
        situation = terms.restrict(next_pod.situation)

        def foresee(revision: NextRevision, ordinal: int) -> NewPod:
            claims = workload.volumes.at(ordinal)
            return self._reader.foresee(revision, workload.own, situation, claims, ordinal)

        return PlacementTarget(
            subject=f"the next pod of {subject}" + (f", template {part}" if part else ""),
            kind=subject.kind,
            situation=situation,
            runs_on="",
            replicas=demand.pods if demand else workload.scaled.number,
            running=workload.running,
            present=situation,
            pods=self._gather_pods(workload, foresee),
            caveats=self._list_caveats(workload, next_pod),
            keeps_spread=next_pod.pod.labels.get(SCALE_DOWN_LABEL) == KEEP_SPREAD,
            terms=terms,
            unknown=workload.revisions.unknown if workload.revisions else "",
            rollout=self._read_plan(workload, next_pod, foresee),
        )

    def _find_terms(
        self, workload: _Workload, next_pod: _NextPod, demand: JobDemand | None
    ) -> PlacementTerms:
        revision, scaling = workload.revision, workload.scaled.note
        terms = self._reader.find_terms(revision.subject, next_pod.pod)
        if demand is not None:
            terms = replace(terms, closed=demand.closed, suspended=demand.suspended)
        if revision.unknown:
            terms = replace(terms, revision=revision.unknown)
        return replace(terms, scaling=scaling) if scaling else terms

    def _gather_pods(self, workload: _Workload, foresee: ForeseePod) -> WorkloadPods | None:
        subject, revisions = workload.subject, workload.revisions
        pods = gather_pods(
            subject, workload.selected, workload.observed, self._cluster, self._options.now
        )
        if workload.settled is not None:
            pods = gather_indexed_pods(
                subject, workload.selected, workload.settled, partial(foresee, workload.revision)
            )
        if pods is None:
            return None
        pods = replace(pods, placed=self._reader.scheduling.list_placed(subject.namespace))
        if revisions is None:
            return pods
        return replace(pods, succession=list_new_pods(subject, revisions, foresee))

    def _list_caveats(self, workload: _Workload, next_pod: _NextPod) -> tuple[str, ...]:
        number, scale = workload.scaled.number, self._options.scale
        most = number if scale is None else scale
        claims = workload.volumes.list_claims(most) if self._options.simulates else ()
        unread = self._reader.scheduling.list_unread(next_pod.scope, claims)
        return (*unread, *next_pod.strays, *workload.scaled.unread)

    def _read_plan(
        self, workload: _Workload, next_pod: _NextPod, foresee: ForeseePod
    ) -> RolloutPlan | None:
        if not self._options.rolls_out:
            return None
        return read_plan(
            workload.subject,
            self._cluster,
            self._reader.policy.gates.version,
            foresee,
            workload.own,
            has_unknown_volumes=workload.volumes.are_unknown(next_pod.scope.cluster.storage),
        )


def _build_daemon_target(workload: _Workload, next_pod: _NextPod) -> PlacementTarget:
    subject = workload.subject
    pinned = read_daemon_scenario(subject, next_pod.situation, workload.selected)
    return PlacementTarget(
        subject=str(subject),
        kind=subject.kind,
        situation=pinned,
        runs_on="",
        replicas=0,
        running=workload.running,
        present=pinned,
        daemon=gather_daemon_pods(subject, workload.selected),
        caveats=(*next_pod.scope.unread, *next_pod.strays),
    )
