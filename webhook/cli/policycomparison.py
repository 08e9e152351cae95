"""
Compare the effects of two policies on the workloads of a cluster: ``PolicyComparison``.

One namespace is read after the other, so that memory is bounded by the largest one, and by the
changes that are found.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from webhook.cli.inputs.cluster import ClusterReader
from webhook.cli.inputs.kindnames import Templates
from webhook.cli.inputs.labelselectors import selects
from webhook.cli.inputs.manifestcluster import Json
from webhook.cli.inputs.namespacecluster import NamespaceCluster
from webhook.cli.inputs.observedworkloads import (
    ObservedWorkload,
    observe_bare_pod,
    observe_workload,
)
from webhook.cli.inputs.placementtargets import TargetOptions
from webhook.cli.inputs.podplacement import PodPlacer
from webhook.cli.inputs.policychange import PolicyChange
from webhook.cli.inputs.policyeffects import JudgedPod, ObjectEffect, PolicyJudge
from webhook.cli.inputs.references import follow_reference
from webhook.cli.inputs.scenarioreader import create_unadmitted
from webhook.cli.inputs.subjects import ExplainSubject, controller_of, list_subjects
from webhook.cli.workloadchanges import (
    WorkloadChange,
    WorkloadEffect,
    WorkloadTemplateName,
    compare_workload,
)
from webhook.cluster.protocol import FailureReason
from webhook.errors import ApiError, SourceError
from webhook.policy.api.predict import is_stored_object
from webhook.policy.facts import Facts
from webhook.policy.kinds import POD, POD_TEMPLATE
from webhook.policy.model import GroupKind, LabelSelector, group_of
from webhook.policy.paths import find_value, format_path
from webhook.policy.selectors import SELECT_ALL

Advance: TypeAlias = Callable[[int, int], None]
"""Reports how many workloads were found, and how many were compared."""

_NODE_NAME = ("spec", "nodeName")

_NEXT = TargetOptions(now=0.0)  # the next pod does not depend on the time


class PolicyComparison:
    """
    Compares the workloads of a cluster under two policies.

    Attributes:
        problems: Workloads that cannot be judged, and kinds that the user may not list.
        workloads: Number of the workloads compared so far.
        lacks_nodes: Whether a pod was not placed since no node is known.
    """

    def __init__(
        self, change: PolicyChange, cluster: ClusterReader, labels: LabelSelector = SELECT_ALL
    ) -> None:
        """
        Store the sources.

        Args:
            labels: Selects workloads.
        """
        self.problems: list[SourceError] = []
        self.workloads = 0
        self.lacks_nodes = False
        self._cluster, self._labels = cluster, labels
        self._judges = tuple(PolicyJudge(one.policy) for one in change)
        self._templates: Templates = {
            **change.before.configuration.pod_templates,
            **change.after.configuration.pod_templates,
        }
        self._unlisted: set[GroupKind] = {POD_TEMPLATE}  # no controller creates pods of these
        self._placer = PodPlacer(cluster, change.before)

    def compare(self, namespace: str, advance: Advance) -> Iterator[WorkloadChange]:
        """
        Yield the changes in a namespace.

        Raises:
            ApiError: The cluster cannot be read.
        """
        inside = NamespaceCluster(self._cluster, namespace)
        listed = (one for kind in self._templates for one in self._list_objects(kind, inside))
        found = [subjects for subjects in listed if subjects]  # not bare lists of constraints
        advance(len(found), 0)
        for subjects in found:
            self.workloads += 1
            with self._recorded_errors():
                yield from self._compare_object(subjects, inside)
            advance(0, 1)

    @contextmanager
    def _recorded_errors(self) -> Generator[None]:
        try:
            yield
        except ApiError:
            raise
        except SourceError as error:
            self.problems.append(error)

    def _list_objects(
        self, kind: GroupKind, inside: NamespaceCluster
    ) -> Iterator[list[ExplainSubject]]:
        """List the workloads of a kind that no other one manages, each with its pod templates."""
        if kind in self._unlisted:
            return
        try:
            values = inside.list_objects_of(kind)
        except ApiError as error:
            if error.reason is not FailureReason.FORBIDDEN:
                raise
            self._unlisted.add(kind)
            self.problems.append(error)
            return
        for value in values:
            if selects(self._labels, value) and self._creates_pods(kind, value):
                places = self._templates[kind]
                yield list(list_subjects(kind, places, inside.namespace, value, exists=True))

    def _creates_pods(self, kind: GroupKind, value: Json) -> bool:
        """Whether pods will be created of an object; nothing creates an existing Pod again."""
        if kind == POD and (is_stored_object(value) or find_value(value, _NODE_NAME)):
            return False
        owner = controller_of(value)
        return owner is None or GroupKind(group_of(owner.api_version), owner.kind) not in (
            self._templates
        )

    def _compare_object(
        self, subjects: Sequence[ExplainSubject], inside: NamespaceCluster
    ) -> Iterator[WorkloadChange]:
        """Compare a workload with all its pod templates; findings are about all of them."""
        first = subjects[0]
        facts = self._cluster.facts(first.namespace)
        if first.kind == POD:
            judged = [judge.judge_bare_pod(first, facts) for judge in self._judges]
            pods, wholes = [pod for pod, _ in judged], [whole for _, whole in judged]
            workload = observe_bare_pod(first)
            yield from self._compare_pods(workload, "", pods, wholes, facts)
            return
        wholes = [judge.judge_object(first, facts) for judge in self._judges]
        for subject in subjects:
            path = format_path(subject.path) if len(subjects) > 1 else ""
            with self._recorded_errors():
                yield from self._compare_template(subject, path, wholes, inside)
            wholes = [ObjectEffect() for _ in self._judges]

    def _compare_template(
        self,
        subject: ExplainSubject,
        path: str,
        wholes: Sequence[ObjectEffect],
        inside: NamespaceCluster,
    ) -> Iterator[WorkloadChange]:
        subject = follow_reference(subject, self._templates, self._cluster.find)
        view = inside.narrow(subject)
        workload = observe_workload(subject, view, _NEXT)
        if workload.demand is not None and workload.demand.closed:
            return
        known = self._cluster.facts(subject.namespace)
        pod, facts = create_unadmitted(
            workload.revision, workload.own, known, part=workload.part, ordinal=workload.ordinal
        )
        pods = [judge.judge_pod(pod, subject.namespace, facts) for judge in self._judges]
        yield from self._compare_pods(workload, path, pods, wholes, facts)

    def _compare_pods(
        self,
        workload: ObservedWorkload,
        path: str,
        pods: Sequence[JudgedPod],
        wholes: Sequence[ObjectEffect],
        facts: Facts,
    ) -> Iterator[WorkloadChange]:
        def find_failure(side: int) -> str | None:
            found = self._placer.find_failure(workload, pods[side].pod, facts)
            self.lacks_nodes = self.lacks_nodes or found is None
            return found

        subject = workload.subject
        name = WorkloadTemplateName(
            subject.kind.kind, subject.kind.group, subject.namespace, subject.name, path
        )
        before, after = (
            WorkloadEffect(pod.effect, whole) for pod, whole in zip(pods, wholes, strict=True)
        )
        change = compare_workload(name, before, after, find_failure)
        if change is not None:
            yield change
