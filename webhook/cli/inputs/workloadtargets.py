"""Placement targets of workloads: ``WorkloadTargetBuilder`` builds that of the next pod."""

from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from webhook.cli.inputs import subjects
from webhook.cli.inputs.cluster import ClusterReader
from webhook.cli.inputs.daemons import (
    add_template_demands,
    gather_daemon_pods,
    read_daemon_scenario,
    read_pending,
)
from webhook.cli.inputs.groupedpods import follow_members
from webhook.cli.inputs.indexedpods import gather_indexed_pods
from webhook.cli.inputs.keptpods import find_kept
from webhook.cli.inputs.observedworkloads import ObservedWorkload, observe_workload
from webhook.cli.inputs.pendingpods import read_pending_pods
from webhook.cli.inputs.placementtargets import PlacementTarget, TargetOptions
from webhook.cli.inputs.removals import gather_pods
from webhook.cli.inputs.revisions import NextRevision
from webhook.cli.inputs.rollouts import ForeseePod, RolloutPlan, read_plan
from webhook.cli.inputs.scenarioreader import ScenarioReader
from webhook.cli.inputs.schedulingscope import SchedulingScope
from webhook.cli.inputs.setrevisions import list_new_pods
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.explain.endingpods import EndingPods
from webhook.explain.newpods import NewPod
from webhook.explain.removal import WorkloadPods
from webhook.explain.revisionsizes import RevisionSize
from webhook.explain.scenario import Scenario
from webhook.explain.terms import PlacementTerms
from webhook.policy.kinds import DAEMON_SET
from webhook.policy.scaledown.ranks import KEEP_SPREAD, SCALE_DOWN_LABEL


class _NextPod(NamedTuple):
    """
    The next pod of a workload.

    Attributes:
        situation: Before its terms restrict it.
        strays: What is not known since pods are on nodes that nothing shows.
        ending: Pods that are being deleted, and are not in the situation.
    """

    pod: ApiPod
    scope: SchedulingScope
    situation: Scenario
    strays: tuple[str, ...]
    ending: EndingPods


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
        workload = observe_workload(subject, self._cluster, self._options)
        next_pod = self._read_next_pod(workload)
        if subject.kind.kind == DAEMON_SET.kind:  # also that of OpenKruise
            return self._build_daemon_target(workload, next_pod)
        return self._build_replica_target(workload, next_pod)

    def _read_next_pod(self, workload: ObservedWorkload) -> _NextPod:
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
        simulates = self._options.simulates
        cluster, ending = self._reader.end_pods(scope, workload.awaited, simulates=simulates)
        scope = scope._replace(cluster=cluster)
        situation = self._reader.read(pod, facts, scope)
        strays = self._reader.find_strays(situation, namespace, workload.own)
        return _NextPod(pod, scope, situation, strays, ending)

    def _build_daemon_target(
        self, workload: ObservedWorkload, next_pod: _NextPod
    ) -> PlacementTarget:
        subject = workload.subject
        pinned = read_daemon_scenario(subject, next_pod.situation, workload.selected)
        pods = gather_daemon_pods(subject, workload.selected)
        pods = add_template_demands(pods, subject, next_pod.pod.demands, pinned)
        return PlacementTarget(
            subject=str(subject),
            kind=subject.kind,
            situation=pinned,
            runs_on="",
            replicas=0,
            running=workload.running,
            present=pinned,
            daemon=read_pending(subject, pods, self._reader, self._cluster),
            caveats=(*next_pod.scope.unread, *next_pod.strays),
            terms=PlacementTerms(ending=next_pod.ending),
        )

    def _build_replica_target(
        self, workload: ObservedWorkload, next_pod: _NextPod
    ) -> PlacementTarget:
        subject, part = workload.subject, workload.part
        demand = workload.demand
        terms = self._find_terms(workload, next_pod)
        situation = terms.restrict(next_pod.situation)

        def foresee(revision: NextRevision, ordinal: int) -> NewPod:
            claims = workload.volumes.at(ordinal)
            own = workload.own
            return self._reader.foresee(revision, own, situation, claims, ordinal, part=part)

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

    def _find_terms(self, workload: ObservedWorkload, next_pod: _NextPod) -> PlacementTerms:
        revision, scaling, demand = workload.revision, workload.scaled.note, workload.demand
        terms = self._reader.find_terms(revision.subject, next_pod.pod)
        kept = find_kept(
            revision.subject, next_pod.situation, workload.selected, self._reader, self._cluster
        )
        terms = replace(terms, ending=next_pod.ending, kept=kept)
        if demand is not None:
            ending = replace(terms.ending, enough=demand.awaited)
            terms = replace(terms, ending=ending, closed=demand.closed, suspended=demand.suspended)
        if revision.unknown:
            terms = replace(terms, revision=revision.unknown)
        return replace(terms, scaling=scaling) if scaling else terms

    def _gather_pods(self, workload: ObservedWorkload, foresee: ForeseePod) -> WorkloadPods | None:
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
        if workload.members is not None:
            build = partial(foresee, workload.revision)
            pods = follow_members(subject, pods, workload.members, build)
        pods = replace(pods, placed=self._reader.scheduling.list_placed(subject.namespace))
        if self._options.rolls_out:
            pending = read_pending_pods(
                subject, pods, workload.volumes, self._reader, self._cluster
            )
            pods = replace(pods, pending=pending)
        if revisions is None:
            sets = (
                RevisionSize(one.name, one.size, foresee(one.revision, 0)) for one in workload.sets
            )
            return replace(pods, sets=tuple(sets))
        return replace(pods, succession=list_new_pods(subject, revisions, foresee))

    def _list_caveats(self, workload: ObservedWorkload, next_pod: _NextPod) -> tuple[str, ...]:
        number, scale = workload.scaled.number, self._options.scale
        most = number if scale is None else scale
        claims = workload.volumes.list_claims(most) if self._options.simulates else ()
        unread = self._reader.scheduling.list_unread(next_pod.scope, claims)
        return (*unread, *next_pod.strays, *workload.scaled.unread)

    def _read_plan(
        self, workload: ObservedWorkload, next_pod: _NextPod, foresee: ForeseePod
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
