"""
References to the pod template of another object: an Argo Rollout with ``spec.workloadRef``.

``decode_reference`` is the entry point. The pods of such a Rollout are created from the template of
a Deployment: they are listed under the Rollout, which controls them, and findings about them belong
to the Deployment, where the template is written.

Source: argo-rollouts pkg/apis/rollouts/v1alpha1/types.go ``ObjectRef``.
"""

import msgspec

from webhook.audit.origins import Origin
from webhook.policy.advice.decode import find_limits, list_given_labels
from webhook.policy.advice.podcount import TemplateHolder, count_pods
from webhook.policy.model import GroupKind, Labels, ObjectMeta, Text, group_of
from webhook.policy.rolloutlimits import RolloutLimits


class TemplateReference(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    An object whose pods are created from the template of another object in its namespace.

    Attributes:
        api_version: API version of the object; empty in snapshots of earlier versions.
        kind: Kind of the object, as ``Rollout``.
        labels: Labels of the object itself.
        target: Kind of the object that has the template, as ``Deployment``.
        template: Name of the object that has the template.
        replicas: Number of its pods; None if unspecified.
        given_labels: Keys of labels that its fields make its controller give to pods.
        limits: As those of a ``Subject``.
        origin: Position in a file; None if an API server sent it.
    """

    api_version: str = ""

    namespace: str
    kind: GroupKind
    name: str
    target: GroupKind
    template: str
    replicas: int | None = None
    given_labels: tuple[str, ...] = ()
    limits: RolloutLimits | None = None
    labels: Labels = {}
    origin: Origin | None = None


class _WorkloadReference(msgspec.Struct, frozen=True, rename="camel"):
    api_version: Text = ""
    kind: Text = ""
    name: Text = ""


class _ReferringSpec(TemplateHolder, frozen=True, rename="camel", gc=False):
    workload_ref: _WorkloadReference | None = None


class _ReferringObject(msgspec.Struct, frozen=True):
    metadata: ObjectMeta | None = None
    spec: _ReferringSpec | None = None


_decode = msgspec.json.Decoder(_ReferringObject).decode


def decode_reference(data: bytes | msgspec.Raw, kind: GroupKind) -> TemplateReference | None:
    """
    Decode an object of a kind that may refer to the template of another object.

    Returns:
        None if it refers to none.

    Raises:
        msgspec.DecodeError: The object is no JSON, or a decoded member has the wrong type.
    """
    decoded = _decode(data)
    spec, metadata = decoded.spec, decoded.metadata or ObjectMeta()
    if spec is None or spec.workload_ref is None:
        return None
    target = spec.workload_ref
    return TemplateReference(
        namespace=metadata.namespace,
        kind=kind,
        name=metadata.name,
        target=GroupKind(group_of(target.api_version or ""), target.kind or ""),
        template=target.name or "",
        replicas=count_pods(kind, (), [spec]),
        given_labels=list_given_labels(spec),
        limits=find_limits(kind, spec),
        labels=metadata.labels,
    )
