"""
Pod templates that other objects refer to: a Deployment, and the Rollout with a workloadRef to it.

Rules judge such a template once, in the object that contains it, with the pods of all controllers
(``follow_references``, ``join_templates``). Each controller is listed with its own pods
(``build_referring``).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from webhook.audit.groups import ObjectKey, key_of, key_of_reference, template_of
from webhook.audit.references import TemplateReference
from webhook.audit.snapshot import Snapshot, SnapshotWorkload
from webhook.policy.advice.runningpods import RunningPods
from webhook.policy.advice.subject import Subject
from webhook.policy.model import ObjectMeta

EVERY_NAMESPACE = ""  # in place of a name

OwnedPods: TypeAlias = Mapping[ObjectKey, tuple[RunningPods, ...]]
"""Controller or workload -> the groups of its pods."""


def follow_references(snapshot: Snapshot) -> list[SnapshotWorkload]:
    """Give the workloads whose template others refer to what those say of the pods."""
    referring = {template_of(reference): reference for reference in snapshot.references}
    known = snapshot.reference_namespaces
    if not referring and not known:
        return snapshot.workloads
    return [
        replace(workload, subject=_follow(workload.subject, referring, known))
        for workload in snapshot.workloads
    ]


def _follow(
    subject: Subject, referring: Mapping[ObjectKey, TemplateReference], known: Sequence[str]
) -> Subject:
    found = referring.get(key_of(subject))
    if found is None:
        is_known = subject.namespace in known or EVERY_NAMESPACE in known
        return replace(subject, is_unreferred=True) if is_known else subject
    return replace(
        subject,
        creator=found.kind,
        is_shared=subject.replicas != 0,
        replicas=found.replicas,
        given_labels=found.given_labels,
        recreates=False,
        limits=found.limits,
    )


def list_templates(snapshot: Snapshot) -> set[ObjectKey]:
    """List the workloads of a snapshot, which other objects may refer to."""
    return {key_of(workload.subject) for workload in snapshot.workloads}


def find_unknown(snapshot: Snapshot) -> Iterator[tuple[TemplateReference, ObjectKey]]:
    """Find the references to templates that the snapshot does not have."""
    known = list_templates(snapshot) if snapshot.references else set[ObjectKey]()
    for reference in snapshot.references:
        key = template_of(reference)
        if key not in known:
            yield reference, key


def join_templates(controlled: OwnedPods, templates: Mapping[ObjectKey, ObjectKey]) -> OwnedPods:
    """
    Join the pods of all controllers that create pods from one template.

    Args:
        controlled: Controller -> its pods.
        templates: Object that refers to a template -> the workload with the template.
    """
    joined: dict[ObjectKey, tuple[RunningPods, ...]] = {}
    for key, pods in controlled.items():
        template = templates.get(key, key)
        joined[template] = (*joined.get(template, ()), *pods)
    return joined


def build_referring(
    reference: TemplateReference, template: Subject, controlled: OwnedPods
) -> Subject:
    """Build the subject of an object that refers to the template of another, with its own pods."""
    metadata = ObjectMeta(
        name=reference.name, namespace=reference.namespace, labels=reference.labels
    )
    return replace(
        template,
        kind=reference.kind,
        metadata=metadata,
        replicas=reference.replicas,
        given_labels=reference.given_labels,
        running=controlled.get(key_of_reference(reference), ()),
    )
