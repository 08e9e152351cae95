"""
Objects to explain: found by name, as in ``pod/web-1``, or read from manifests.

Entry points: ``find`` and ``find_in_manifests``. This module must not decide where pods are
placed; see ``targets``.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from webhook.cli.inputs.cluster import ClusterReader, Json
from webhook.errors import ConfigError, SourceError
from webhook.manifests import Document, find_type_mismatch
from webhook.policy.advice.decode import decode_subject
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import POD
from webhook.policy.model import GroupKind, LabelSelector, ObjectMeta, group_of
from webhook.policy.paths import TemplatePath, find_value, format_path, is_object
from webhook.policy.placement.nodes import SchedulingPod

Templates = Mapping[GroupKind, TemplatePath]

SHORT_KINDS = {
    "po": "pod",
    "rc": "replicationcontroller",
    "deploy": "deployment",
    "rs": "replicaset",
    "sts": "statefulset",
    "ds": "daemonset",
    "cj": "cronjob",
}
"""Short names of kubectl. Source: the ``shortNames`` of kube-apiserver's resources."""

_HASH = "pod-template-hash"  # k8s.io/api apps/v1 ``DefaultDeploymentUniqueLabelKey``
_REVISION = "deployment.kubernetes.io/revision"
"""Source: pkg/controller/deployment/util ``RevisionAnnotation``."""


class ExplainSubject(msgspec.Struct, frozen=True):
    """
    An object with a pod template, to be explained.

    Attributes:
        path: Path of the pod template in objects of this kind.
        value: The object.
        exists: Whether the object is in the cluster; otherwise it comes from a manifest.
    """

    kind: GroupKind
    path: TemplatePath
    namespace: str
    value: Json
    exists: bool

    @property
    def name(self) -> str:
        """Its name, or its generateName."""
        metadata: Any = self.value.get("metadata")
        named = metadata if is_object(metadata) else {}
        return str(named.get("name") or named.get("generateName") or "")

    def __str__(self) -> str:
        """Render as ``Deployment shop/web``."""
        return f"{self.kind.kind} {self.namespace}/{self.name}"


def parse_subject(written: str, templates: Templates) -> tuple[tuple[GroupKind, ...], str]:
    """
    Parse a subject as kubectl does: ``pod/web-1``, ``deploy/web``; a name alone means a pod.

    Returns:
        The kinds with this name, built-in ones first, and the object's name.

    Raises:
        ConfigError: No kind with a pod template has this name, or the object's name is missing.
    """
    prefix, slash, name = written.rpartition("/")
    called = (prefix if slash else POD.kind).lower()
    called = SHORT_KINDS.get(called, called)
    kinds = tuple(kind for kind in templates if _has_name(kind, called))
    if not kinds:
        known = ", ".join(sorted({kind.kind.lower() for kind in templates}))
        raise ConfigError(
            f"{prefix!r} is not a kind with a pod template: use one of {known}", written
        )
    if not name:
        raise ConfigError("the name is missing: write one as in pod/web-1", written)
    return kinds, name


def find(
    written: str, namespace: str, templates: Templates, cluster: ClusterReader
) -> ExplainSubject:
    """
    Find an object of the cluster.

    Raises:
        ConfigError: The subject cannot be parsed.
        SourceError: There is no such object.
    """
    kinds, name = parse_subject(written, templates)
    for kind in kinds:
        value = cluster.find(kind, namespace, name)
        if value is not None:
            return ExplainSubject(kind, templates[kind], namespace, value, exists=True)
    others = [other for kind in kinds for other in cluster.namespaces_of(kind, name)]
    problem = (
        f"not found here, but in namespace {others[0]}: add -n {others[0]}"
        if others
        else "not found: check its name and its namespace"
    )
    raise SourceError(f"{kinds[0].kind} {namespace}/{name}", problem)


def find_in_manifests(
    documents: Iterable[Document], written: str, namespace: str, templates: Templates
) -> Iterator[ExplainSubject]:
    """
    Find the objects of manifests that have a pod template.

    Args:
        written: The subject to select, as for ``parse_subject``; empty selects all.
        namespace: Namespace of objects that name none.
    """
    selected = parse_subject(written, templates) if written else None
    for document in documents:
        kind = GroupKind(group_of(document.api_version), document.kind)
        if kind not in templates:
            continue
        if selected is None or (kind in selected[0] and document.name == selected[1]):
            inside = document.namespace or namespace
            yield ExplainSubject(kind, templates[kind], inside, document.value, exists=False)


def decode_template(subject: ExplainSubject) -> SchedulingPod:
    """
    Decode the pod template of an object; a Pod is its own template.

    Raises:
        SourceError: A value has a wrong type, or the template is missing.
    """
    held = find_value(subject.value, subject.path)
    try:
        pod = msgspec.convert(held, SchedulingPod | None)
    except msgspec.ValidationError as error:
        wrong = find_type_mismatch(error, held)
        at = format_path((*subject.path, *wrong.path))
        raise SourceError(str(subject), f"{at}: {wrong.problem}") from error
    if pod is None:
        at = format_path(subject.path)
        raise SourceError(str(subject), f"has nothing at {at}: write a pod template there")
    return pod


def read_workload(subject: ExplainSubject) -> Subject:
    """
    Decode a workload with the fields that determine its number of pods.

    Raises:
        SourceError: A value has a wrong type, or the pod template is missing.
    """
    decode_template(subject)  # reports the path of a wrong type
    try:
        data = msgspec.json.encode(subject.value)
        workload = decode_subject(data, subject.kind, subject.path, subject.namespace)
    except msgspec.ValidationError as error:
        raise SourceError(str(subject), f"cannot be read: {error}") from error
    assert workload is not None, "decode_template raises if there is no template"
    return workload


def selector_of(subject: ExplainSubject) -> LabelSelector | None:
    """The selector of a workload's pods; None if it is missing or cannot be read."""
    written = find_value(subject.value, ("spec", "selector"))
    try:
        if subject.kind.group:
            return msgspec.convert(written, LabelSelector | None)
        pairs = msgspec.convert(written, dict[str, str] | None)  # of a ReplicationController
    except msgspec.ValidationError:
        return None
    return None if pairs is None else LabelSelector(pairs)


def is_controlled_by(value: Json, owner: ExplainSubject) -> bool:
    """Whether the controller of an object is ``owner``; both are in the same namespace."""
    controller = _metadata_of(value).controller
    owned_by = (controller.kind, controller.name) if controller else None
    return owned_by == (owner.kind.kind, owner.name)


def is_same_template(replica_set: SchedulingPod, deployment: SchedulingPod) -> bool:
    """Whether two templates are equal except for the hash label that a Deployment adds."""
    labels = {key: value for key, value in replica_set.labels.items() if key != _HASH}
    return (labels, replica_set.spec) == (deployment.labels, deployment.spec)


def revision_of(value: Json) -> int:
    """The revision of a ReplicaSet; 0 if it has none."""
    written = _metadata_of(value).annotations.get(_REVISION, "")
    return int(written) if written.isdecimal() else 0


def _metadata_of(value: Json) -> ObjectMeta:
    try:
        return msgspec.convert(value.get("metadata") or {}, ObjectMeta)
    except msgspec.ValidationError:
        return ObjectMeta()


def _has_name(kind: GroupKind, called: str) -> bool:
    name = kind.kind.lower()
    return called in (name, f"{name}s", f"{name}.{kind.group}", f"{name}s.{kind.group}")
