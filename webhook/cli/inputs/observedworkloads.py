"""A workload with its pods and the revision of its next one: ``observe_workload`` reads it."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from webhook.cli.inputs import subjects
from webhook.cli.inputs.autoscaled import ScaledReplicas, read_replicas
from webhook.cli.inputs.cluster import ClusterReader
from webhook.cli.inputs.endingpods import list_awaited
from webhook.cli.inputs.groupedpods import list_members, read_grouping
from webhook.cli.inputs.jobs import (
    find_job_demand,
    find_settled,
    list_awaited_ends,
    list_indexes,
)
from webhook.cli.inputs.placementtargets import TargetOptions
from webhook.cli.inputs.replicas import select_replicas
from webhook.cli.inputs.revisions import NextRevision, find_kept_replicas, find_revision
from webhook.cli.inputs.setrevisions import SetRevisions
from webhook.cli.inputs.setvolumes import SetVolumes, read_set_volumes
from webhook.cli.inputs.sizedsets import SizedSet, choose_revision, read_sized_sets
from webhook.explain.removal import find_owner
from webhook.policy.jobdemand import JobDemand
from webhook.policy.kinds import STATEFUL_SET
from webhook.policy.nextrevision import find_free_ordinal
from webhook.policy.placement.census import ObservedPod


class ObservedWorkload(NamedTuple):
    """
    A workload with its pods and its next one.

    Attributes:
        part: Of the workload that the pod belongs to; empty if there is one template only.
        observed: The pods of the namespace.
        selected: The pods of the workload, also those that have ended.
        own: Those that count.
        revisions: Of a StatefulSet; None for other workloads.
        settled: Indexes of an Indexed Job, or of the Jobs of a CronJob, that need no new pod; None
            for other workloads.
        members: Numbers of the pods of a workload with groups; None for other workloads.
        ordinal: Of the next pod in a StatefulSet, its index in a Job, or its number in a workload
            with groups.
        revision: Of the next pod.
        sets: Its ReplicaSets with their sizes, if its rollout waits; empty otherwise.
        awaited: Names of its pods whose end its controller awaits before it creates new ones.
        demand: Of a Job; None for other workloads.
    """

    subject: subjects.ExplainSubject
    part: str
    observed: list[ObservedPod]
    selected: list[ObservedPod]
    own: list[ObservedPod]
    revisions: SetRevisions | None
    settled: frozenset[int] | None
    members: frozenset[int] | None
    ordinal: int
    revision: NextRevision
    volumes: SetVolumes
    scaled: ScaledReplicas
    sets: tuple[SizedSet, ...] = ()
    awaited: frozenset[str] = frozenset()
    demand: JobDemand | None = None

    @property
    def running(self) -> Mapping[str, int]:
        """Node name -> number of pods there."""
        return Counter(other.spec.node_name or "" for other in self.own)


def observe_workload(
    subject: subjects.ExplainSubject, cluster: ClusterReader, options: TargetOptions
) -> ObservedWorkload:
    """
    Read the pods of a workload, and what decides on its next one.

    Raises:
        SourceError: A value has a wrong type, or the pod template is missing.
    """
    written = subjects.read_workload(subject)
    observed = cluster.pods(subject.namespace)
    selected = select_replicas(subject, observed, cluster)
    own = [other for other in selected if other.counts]
    is_set = subject.kind == STATEFUL_SET
    revisions = SetRevisions(subject, own, cluster) if is_set else None
    names = [other.metadata.name or "" for other in selected]
    used = revisions.find_used(names) if revisions else range(0)
    demand = find_job_demand(subject, selected, cluster)
    ending = list_awaited_ends(demand, selected, simulates=options.simulates)
    settled = find_settled(subject, selected, cluster, ending)
    ordinal = revisions.next_ordinal if revisions else 0
    if settled is not None:
        ordinal = find_free_ordinal(0, settled | list_indexes(own))
    members = _list_members(subject, own)
    if members is not None:
        ordinal = find_free_ordinal(0, members)
    scaled = _read_replicas(subject, written.replicas, cluster, options)
    sets = _read_sets(subject, scaled, cluster, options)
    return ObservedWorkload(
        subject,
        written.part,
        observed,
        selected,
        own,
        revisions,
        settled,
        members,
        ordinal,
        revisions.at(ordinal) if revisions else _find_next(subject, sets, own, cluster),
        read_set_volumes(subject, scaled.number, options.scale, used),
        scaled,
        sets,
        ending or list_awaited(subject, selected, ordinal, options),
        demand,
    )


def observe_bare_pod(subject: subjects.ExplainSubject) -> ObservedWorkload:
    """Return a Pod that does not exist yet as a workload of one pod, the next one."""
    revision, volumes = NextRevision(subject), SetVolumes()
    return ObservedWorkload(
        subject, "", [], [], [], None, None, None, 0, revision, volumes, ScaledReplicas(1)
    )


def _list_members(
    subject: subjects.ExplainSubject, own: list[ObservedPod]
) -> frozenset[int] | None:
    """List the numbers of the pods of a workload with groups; None for other workloads."""
    grouping = read_grouping(subject)
    return None if grouping is None else list_members(subject.kind, grouping, own)


def _read_replicas(
    subject: subjects.ExplainSubject,
    written: int | None,
    cluster: ClusterReader,
    options: TargetOptions,
) -> ScaledReplicas:
    """Read the replicas to place; without a what-if, no autoscaler matters."""
    if written is None:
        written = find_kept_replicas(subject, cluster)
    replicas = 1 if written is None else written
    if not options.simulates:
        return ScaledReplicas(replicas)
    return read_replicas(subject, replicas, cluster, options.scale)


def _read_sets(
    subject: subjects.ExplainSubject,
    scaled: ScaledReplicas,
    cluster: ClusterReader,
    options: TargetOptions,
) -> tuple[SizedSet, ...]:
    """Read the ReplicaSets of a rollout that waits; one that is to be simulated goes on."""
    if options.rolls_out:
        return ()
    replicas = scaled.number if options.scale is None else options.scale
    return read_sized_sets(subject, cluster, replicas)


def _find_next(
    subject: subjects.ExplainSubject,
    sets: tuple[SizedSet, ...],
    own: list[ObservedPod],
    cluster: ClusterReader,
) -> NextRevision:
    """Find the revision of the next pod of a workload that is no StatefulSet."""
    if sets:
        return choose_revision(sets, Counter(map(find_owner, own)))
    return find_revision(subject, cluster)
