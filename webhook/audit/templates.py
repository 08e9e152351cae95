"""
Pod templates that other objects refer to: a Deployment, and the Rollout with a workloadRef to it.

Rules judge such a template once, in the object that contains it, with the pods of all controllers
(``follow_references``, ``join_templates``). Each controller is listed with its own pods
(``build_referring``).
"""

from collections.abc import Mapping
from typing import TypeAlias

from msgspec.structs import replace

from webhook.audit.groups import ObjectKey, key_of, key_of_reference, template_of
from webhook.audit.references import TemplateReference
from webhook.audit.snapshot import Snapshot, SnapshotWorkload
from webhook.policy.advice.subject import RunningPods, Subject
from webhook.policy.model import ObjectMeta

OwnedPods: TypeAlias = Mapping[ObjectKey, tuple[RunningPods, ...]]
"""Controller or workload -> the groups of its pods."""


def follow_references(snapshot: Snapshot) -> list[SnapshotWorkload]:
    """Give the workloads whose template others refer to what those say of the pods."""
    referring = {template_of(reference): reference for reference in snapshot.references}
    if not referring:
        return snapshot.workloads
    return [
        replace(
            workload,
            subject=replace(
                workload.subject,
                creator=found.kind,
                is_shared=workload.subject.replicas != 0,
                replicas=found.replicas,
                given_labels=found.given_labels,
                recreates=False,
                no_surge=found.no_surge,
            ),
        )
        if (found := referring.get(key_of(workload.subject)))
        else workload
        for workload in snapshot.workloads
    ]


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
