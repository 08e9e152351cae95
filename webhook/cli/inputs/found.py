"""Objects that a question is about, and what is read of them."""

from typing import Any

import msgspec

from webhook.cli.inputs.cluster import Json
from webhook.errors import SourceError
from webhook.manifests import find_type_mismatch, is_object
from webhook.policy.advice.reading import read
from webhook.policy.advice.subject import Subject
from webhook.policy.model import GroupKind, LabelSelector, ObjectMeta
from webhook.policy.paths import TemplatePath, find_value, format_path
from webhook.policy.placement.nodes import SchedulingPod

_HASH = "pod-template-hash"  # k8s.io/api apps/v1 ``DefaultDeploymentUniqueLabelKey``
_REVISION = "deployment.kubernetes.io/revision"
"""Source: pkg/controller/deployment/util ``RevisionAnnotation``."""


class Found(msgspec.Struct, frozen=True):
    """
    An object that a question is about.

    Attributes:
        kind: Of the object.
        path: Where that kind holds its pod template.
        namespace: Where it is.
        value: The object.
        exists: Whether the cluster has it already; else it stands in a manifest.
    """

    kind: GroupKind
    path: TemplatePath
    namespace: str
    value: Json
    exists: bool

    @property
    def name(self) -> str:
        """Its name, or what its name will begin with."""
        metadata: Any = self.value.get("metadata")
        named = metadata if is_object(metadata) else {}
        return str(named.get("name") or named.get("generateName") or "")

    def __str__(self) -> str:
        """Name it as ``Deployment shop/web``."""
        return f"{self.kind.kind} {self.namespace}/{self.name}"


def decoded(found: Found) -> SchedulingPod:
    """
    Read the pod template of an object, or the pod that it is.

    Raises:
        SourceError: It is of wrong types, or is missing.
    """
    held = find_value(found.value, found.path)
    try:
        pod = msgspec.convert(held, SchedulingPod | None)
    except msgspec.ValidationError as error:
        wrong = find_type_mismatch(error, held)
        at = format_path((*found.path, *wrong.path))
        raise SourceError(str(found), f"{at}: {wrong.problem}") from error
    if pod is None:
        at = format_path(found.path)
        raise SourceError(str(found), f"has nothing at {at}: write a pod template there")
    return pod


def read_workload(found: Found) -> Subject:
    """
    Read a workload with all that says how many pods it has.

    Raises:
        SourceError: It is of wrong types, or has no pod template.
    """
    decoded(found)  # tells what is of wrong types, and where
    try:
        subject = read(msgspec.json.encode(found.value), found.kind, found.path, found.namespace)
    except msgspec.ValidationError as error:
        raise SourceError(str(found), f"cannot be read: {error}") from error
    assert subject is not None, "otherwise decoding it said so"
    return subject


def selector_of(found: Found) -> LabelSelector | None:
    """The selector of a workload's pods; None if it has none that can be read."""
    spec: Any = found.value.get("spec")
    written: Any = spec.get("selector") if is_object(spec) else None
    try:
        if found.kind.group:
            return msgspec.convert(written, LabelSelector | None)
        pairs = msgspec.convert(written, dict[str, str] | None)  # of a ReplicationController
    except msgspec.ValidationError:
        return None
    return None if pairs is None else LabelSelector(pairs)


def is_controlled(value: Json, by: Found) -> bool:
    """Whether an object is controlled by another one of the same namespace."""
    metadata = msgspec.convert(value.get("metadata"), ObjectMeta)
    owner = metadata.controller
    return owner is not None and (owner.kind, owner.name) == (by.kind.kind, by.name)


def is_same(made: SchedulingPod, template: SchedulingPod) -> bool:
    """Whether two templates are one but for the hash that a Deployment adds."""
    labels = {key: value for key, value in made.labels.items() if key != _HASH}
    return (labels, made.spec) == (template.labels, template.spec)


def revision_of(value: Json) -> int:
    """The revision of a ReplicaSet; 0 if no Deployment wrote any."""
    metadata = msgspec.convert(value.get("metadata"), ObjectMeta)
    written = metadata.annotations.get(_REVISION, "")
    return int(written) if written.isdecimal() else 0
