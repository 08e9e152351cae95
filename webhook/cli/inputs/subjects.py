"""
Objects to explain: found by name, as in ``pod/web-1``, or read from manifests.

Entry points: ``find`` and ``find_in_manifests``. This module must not decide where pods are
placed; see ``targets``.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from webhook.cli.inputs.cluster import ClusterReader
from webhook.cli.inputs.kindnames import Templates, find_kinds, reject_kind
from webhook.cli.inputs.manifestcluster import Json
from webhook.cli.inputs.namespaces import require_namespace
from webhook.cli.inputs.unknownsubjects import suggest_subjects
from webhook.cluster.protocol import FailureReason
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.errors import ApiError, ConfigError, SourceError
from webhook.manifests import Document, find_type_mismatch
from webhook.policy.advice.decode import decode_subject
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import POD
from webhook.policy.model import GroupKind, LabelSelector, ObjectMeta, OwnerReference, group_of
from webhook.policy.paths import (
    FieldPath,
    find_value,
    format_path,
    is_constraint_list,
    is_object,
)
from webhook.policy.places import TemplatePlaces, find_places, list_patterns

_REVISIONS = ("deployment.kubernetes.io/revision", "rollout.argoproj.io/revision")
"""
Source: pkg/controller/deployment/util ``RevisionAnnotation``; argo-rollouts utils/annotations
``RevisionAnnotation``.
"""


class ExplainSubject(msgspec.Struct, frozen=True):
    """
    An object with a pod template, to be explained.

    Attributes:
        path: Path of the pod template in objects of this kind.
        value: The object.
        exists: Whether the object is in the cluster; otherwise it comes from a manifest.
    """

    kind: GroupKind
    path: FieldPath
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
    kinds = find_kinds(prefix if slash else POD.kind, templates)
    if not kinds:
        raise ConfigError(reject_kind(prefix, templates), written)
    if not name:
        raise ConfigError(explain_missing_name(prefix, templates), written)
    return kinds, name


def explain_missing_name(kind: str, templates: Templates) -> str:
    """Explain that a name must follow a kind, with an example that every command takes."""
    example = "pod/web-1" if POD in find_kinds(kind, templates) else f"{kind}/web"
    return f"the name is missing: write one as in {example}"


def find(
    written: str, namespace: str, templates: Templates, cluster: ClusterReader
) -> list[ExplainSubject]:
    """
    Find an object of the cluster.

    Returns:
        One subject for each of its pod templates; at least one.

    Raises:
        ConfigError: The subject cannot be parsed, or the namespace does not exist.
        SourceError: There is no such object.
    """
    kinds, name = parse_subject(written, templates)
    for kind in kinds:
        value = cluster.find(kind, namespace, name)
        if value is not None:
            found = list(list_subjects(kind, templates[kind], namespace, value, exists=True))
            if not found:
                problem = "has a list of constraints, but no pod template: name one of its pods"
                raise SourceError(f"{kind.kind} {namespace}/{name}", problem)
            return found
    require_namespace(namespace, cluster.namespaces())
    others = [other for kind in kinds for other in cluster.namespaces_of(kind, name)]
    place = f"{kinds[0].kind} {namespace}/{name}"
    if others:
        problem = f"not found here, but in namespace {others[0]}: add -n {others[0]}"
        raise SourceError(place, problem)
    listed = templates if "/" not in written else kinds
    advice = suggest_subjects(written, _list_named(listed, namespace, cluster), templates)
    problem = f"not found: {advice or 'check its name and its namespace'}"
    if "/" not in written and not advice:
        problem += f"; {written!r} is not a kind with a pod template either"
    raise SourceError(place, problem)


def _list_named(
    kinds: Iterable[GroupKind], namespace: str, cluster: ClusterReader
) -> Iterator[tuple[GroupKind, str]]:
    """Yield the objects of kinds, as far as the user may list them, with their names."""
    for kind in kinds:
        try:
            values = cluster.list_objects_of(kind, namespace)
        except ApiError as error:
            if error.reason is not FailureReason.FORBIDDEN:
                raise
        else:
            yield from ((kind, name_of(value)) for value in values)


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
            yield from list_subjects(kind, templates[kind], inside, document.value, exists=False)


def list_subjects(
    kind: GroupKind, places: TemplatePlaces, namespace: str, value: Json, *, exists: bool
) -> Iterator[ExplainSubject]:
    """
    Yield a subject for each pod template of an object; none for a bare list of constraints.

    An object without its templates has a subject too, so that ``decode_template`` reports it.
    """
    try:
        found = find_places(value, places)
    except msgspec.ValidationError:
        found = ()
    for path in found or list_patterns(places)[:1]:
        if not is_constraint_list(path):
            yield ExplainSubject(kind, path, namespace, value, exists)


def decode_template(subject: ExplainSubject) -> ApiPod:
    """
    Decode the pod template of an object; a Pod is its own template.

    Raises:
        SourceError: A value has a wrong type, or the template is missing.
    """
    held = find_value(subject.value, subject.path)
    try:
        pod = msgspec.convert(held, ApiPod | None)
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
        # that of a ReplicationController has pairs only
        pairs = None if written is None else {"matchLabels": written}
        return msgspec.convert(pairs, LabelSelector | None)
    except msgspec.ValidationError:
        return None


def is_controlled_by(value: Json, owner: ExplainSubject) -> bool:
    """Whether the controller of an object is ``owner``; both are in the same namespace."""
    controller = _metadata_of(value).controller
    owned_by = (controller.kind, controller.name) if controller else None
    return owned_by == (owner.kind.kind, owner.name)


def list_controlled(kind: GroupKind, owner: ExplainSubject, cluster: ClusterReader) -> list[Json]:
    """List the objects of a kind whose controller is ``owner``."""
    found = cluster.list_objects_of(kind, owner.namespace)
    return [value for value in found if is_controlled_by(value, owner)]


def revision_of(value: Json) -> int:
    """The revision of a ReplicaSet; 0 if it has none."""
    annotations = _metadata_of(value).annotations
    written = next((annotations[key] for key in _REVISIONS if key in annotations), "")
    return int(written) if written.isdecimal() else 0


def name_of(value: Json) -> str:
    """The name of an object; empty if it has none."""
    return _metadata_of(value).name


def namespace_of(value: Json) -> str:
    """The namespace that an object names; empty if it names none."""
    return _metadata_of(value).namespace


def labels_of(value: Json) -> Mapping[str, str]:
    """The labels of an object; empty if it has none."""
    return _metadata_of(value).labels


def controller_of(value: Json) -> OwnerReference | None:
    """The controller of an object; None if it has none."""
    return _metadata_of(value).controller


def _metadata_of(value: Json) -> ObjectMeta:
    try:
        return msgspec.convert(value.get("metadata") or {}, ObjectMeta)
    except msgspec.ValidationError:
        return ObjectMeta()
