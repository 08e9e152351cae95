"""
The pod that a workload in a file will get, as its controller sends it to kube-apiserver.

``build_created_pod`` and ``ReviewedObjects`` are the entry points. Values that only a running
controller knows, such as the hash of a revision, are placeholders. The node affinity and
tolerations that the DaemonSet controller adds are left out, since they do not change the verdict
on a pod.

Source: kubernetes pkg/controller/controller_utils.go ``GetPodFromTemplate``,
deployment/sync.go ``getNewReplicaSet``; ``webhook.policy.firstlabels`` for the labels.
"""

from collections.abc import Iterable
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from webhook.manifests import Document
from webhook.policy.defaulting.forecast import POD_CONTROLLERS
from webhook.policy.firstlabels import HASH, UID, PodOwner, foresee_label, label_first_pod
from webhook.policy.kinds import (
    DEPLOYMENT,
    POD,
    POD_TEMPLATE,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    ROLLOUT,
    STATEFUL_SET,
    KindRow,
)
from webhook.policy.model import GroupKind, group_of
from webhook.policy.paths import FieldPath, find_value, is_array, is_object
from webhook.policy.podlabels import revision_key

_SELECTING = frozenset({REPLICA_SET, STATEFUL_SET, REPLICATION_CONTROLLER})
_HASHED = frozenset({DEPLOYMENT, ROLLOUT})  # the name of a ReplicaSet ends with the hash


class CreatedPod(msgspec.Struct, frozen=True):
    """
    The pod that a controller creates for a workload.

    Attributes:
        document: The pod; its lines are those of the workload's pod template.
        controller: The object that owns the pod: the workload, or the ReplicaSet or Job that the
            workload creates first.
    """

    document: Document
    controller: Document


_Key: TypeAlias = tuple[str, str, str]
"""Namespace, kind and name of an object."""


class ReviewedObjects:
    """The objects of files, among which the pods of a workload may be already."""

    def __init__(self, documents: Iterable[Document]) -> None:
        """Index the objects."""
        self._keys: set[_Key] = set()
        self._owners_of_pods: set[_Key] = set()
        for document in documents:
            self._keys.add((document.namespace, document.kind, document.name))
            if document.kind == POD.kind:
                self._owners_of_pods.update(_list_controllers(document))

    def have_pods_of(self, workload: Document) -> bool:
        """Whether the files contain a pod of a workload, or the controller that created it."""
        key = (workload.namespace, workload.kind, workload.name)
        controllers = _list_controllers(workload)
        return key in self._owners_of_pods or not self._keys.isdisjoint(controllers)


def _list_controllers(document: Document) -> list[_Key]:
    owners = _object(document.value, "metadata").get("ownerReferences")
    return [
        (document.namespace, str(owner.get("kind")), str(owner.get("name")))
        for owner in (owners if is_array(owners) else ())
        if is_object(owner) and owner.get("controller") is True
    ]


def build_created_pod(workload: Document, path: FieldPath) -> CreatedPod | None:
    """
    Build the first pod of a workload.

    Args:
        workload: An object that kube-apiserver would accept.
        path: The path to its pod template.

    Returns:
        None for a pod, and for objects from which no controller creates pods.
    """
    kind = GroupKind(group_of(workload.api_version), workload.kind)
    template: Any = find_value(workload.value, path)
    if kind in (POD, POD_TEMPLATE) or not is_object(template):
        return None
    controller = _build_controller(workload, kind, template)
    metadata = _build_metadata(workload, controller, kind, path)
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template.get("spec")}
    return CreatedPod(replace(workload, value=pod, path=(*workload.path, *path)), controller)


def _build_metadata(
    workload: Document, controller: Document, kind: GroupKind, path: FieldPath
) -> dict[str, Any]:
    template: Any = find_value(workload.value, path)
    name, written = controller.name, _object(template, "metadata")
    owner = PodOwner(workload.name or name, name, part=_name_part(workload, path))
    has_names = controller.kind == STATEFUL_SET.kind
    return {
        **({"name": f"{name}-0"} if has_names else {"generateName": f"{name}-"}),
        **_namespace_of(workload),
        "labels": label_first_pod(kind, workload.value, owner, _object(written, "labels")),
        **{key: written[key] for key in ("annotations", "finalizers") if key in written},
        "ownerReferences": [_refer_to(controller)],
    }


def _name_part(workload: Document, path: FieldPath) -> str:
    """Return the name of the innermost list entry that contains a template; empty without one."""
    ends = (end for end in range(len(path), 0, -1) if isinstance(path[end - 1], int))
    end = next(ends, 0)
    name = find_value(workload.value, (*path[:end], "name")) if end else ""
    return name if isinstance(name, str) else ""


def _build_controller(workload: Document, kind: GroupKind, template: dict[str, Any]) -> Document:
    """Build the owner of the pods: the workload itself, or what it creates."""
    metadata = _object(workload.value, "metadata")
    name = workload.name or f"{metadata.get('generateName') or ''}{HASH}"
    named = replace(workload, value={**workload.value, "metadata": {**metadata, "name": name}})
    row = POD_CONTROLLERS.get(kind)
    if row is None or row.group_kind == kind:
        return named
    suffix = HASH if kind in _HASHED else "0"
    owner = {"ownerReferences": [_refer_to(named)]}
    spec: dict[str, Any] = {"template": template}
    if row.group_kind in _SELECTING:
        spec["selector"] = _build_selector(workload, name, template, row)
    value = {
        "apiVersion": row.api_version,
        "kind": row.kind,
        "metadata": {"name": f"{name}-{suffix}", **_namespace_of(workload), **owner},
        "spec": spec,
    }
    return replace(workload, value=value)


def _build_selector(
    workload: Document, name: str, template: dict[str, Any], row: KindRow
) -> dict[str, Any]:
    """
    Build the selector of one revision's controller.

    That of a Deployment's ReplicaSet is exact. Of other kinds, it is assumed to contain the labels
    of the template, which it always selects.
    """
    kind = GroupKind(group_of(workload.api_version), workload.kind)
    selector = _object(_object(workload.value, "spec"), "selector") if kind in _HASHED else {}
    if not selector:
        selector = {"matchLabels": _object(_object(template, "metadata"), "labels")}
    revision = revision_key(kind)  # kinds that create a selecting controller have one
    hashed = {revision: foresee_label(revision, PodOwner(name, name))}
    pairs = {**_object(selector, "matchLabels"), **hashed}
    if row.group_kind == REPLICATION_CONTROLLER:
        return pairs
    return {**selector, "matchLabels": pairs}


def _namespace_of(workload: Document) -> dict[str, str]:
    return {"namespace": workload.namespace} if workload.namespace else {}


def _refer_to(owner: Document) -> dict[str, Any]:
    """Build the reference of an owned object. Source: apimachinery meta/v1 ``NewControllerRef``."""
    return {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": UID,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _object(value: Any, key: str) -> dict[str, Any]:
    """Return a member that is an object; empty if it is absent or of another type."""
    member: Any = value.get(key) if is_object(value) else None
    return member if is_object(member) else {}
