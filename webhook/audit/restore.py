"""
Objects of a snapshot as the JSON values of manifests, for commands that read manifests.

``list_objects`` is the entry point. A snapshot holds only the fields that rules read, so the values
have no others; the selector of a Deployment, for example, is missing.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from webhook.audit.references import TemplateReference
from webhook.audit.snapshot import (
    SNAPSHOT_API_VERSION,
    Snapshot,
    SnapshotOwner,
    SnapshotWorkload,
)
from webhook.audit.snapshotpods import SnapshotPod
from webhook.cluster.policyexceptions import POLICY_EXCEPTION
from webhook.policy.advice.podcount import JOBS
from webhook.policy.firstlabels import UID
from webhook.policy.kinds import JOB_SET, POD
from webhook.policy.model import GroupKind, LabelSelector, group_of
from webhook.policy.paths import (
    CONSTRAINTS_IN_POD,
    FieldPath,
    TemplatePath,
    find_value,
    without_nulls,
)
from webhook.policy.policyexceptions import PolicyException

_SELECTOR: TemplatePath = ("spec", "selector")


def list_objects(
    snapshot: Snapshot, selectors: Mapping[GroupKind, TemplatePath]
) -> Iterator[dict[str, Any]]:
    """
    Yield the objects of a snapshot.

    Args:
        selectors: Custom kinds -> path of their label selector.
    """
    plain: dict[str, Sequence[msgspec.Struct]] = {
        "Namespace": snapshot.namespaces,
        "Node": snapshot.nodes,
        "Service": snapshot.services,
    }
    for kind, items in plain.items():
        for item in items:
            yield {"apiVersion": "v1", "kind": kind, **_to_json(item)}
    values: dict[tuple[str, str, str, str], dict[str, Any]] = {}
    for reference in snapshot.references:
        value = _restore_reference(reference)
        values[_key_of(value)] = value
    for workload in snapshot.workloads:
        if workload.subject.kind != POD:
            value = _restore_identity(workload)
            _restore_template(values.setdefault(_key_of(value), value), workload)
    for owner in snapshot.owners:
        value = _restore_owner(owner)
        value = values.setdefault(_key_of(value), value)
        if owner.selector is not None:
            path = selectors.get(GroupKind(group_of(owner.api_version), owner.kind), _SELECTOR)
            _put(value, path, _restore_selector(owner, owner.selector))
    yield from values.values()
    yield from map(_restore_exception, snapshot.exceptions)
    for pod in (*snapshot.pods, *snapshot.neighbours):
        yield {"apiVersion": "v1", "kind": "Pod", **_restore_pod(pod)}


def _restore_exception(exception: PolicyException) -> dict[str, Any]:
    spec = _to_json(exception)
    return {
        "apiVersion": SNAPSHOT_API_VERSION,
        "kind": POLICY_EXCEPTION.kind,
        "metadata": {"namespace": spec.pop("namespace"), "name": spec.pop("name")},
        "spec": spec,
    }


def _restore_pod(pod: SnapshotPod) -> dict[str, Any]:
    value = _to_json(pod)
    if value.pop("stored"):
        value["metadata"] |= _STORED
    return value


_STORED = {"uid": UID, "resourceVersion": "0"}
"""Placeholders for the metadata that shows that an API server stored a pod."""


def _restore_identity(workload: SnapshotWorkload) -> dict[str, Any]:
    value: dict[str, Any] = {"apiVersion": workload.api_version}
    value["kind"] = workload.subject.kind.kind
    value["metadata"] = _to_json(workload.subject.metadata)
    return value


def _restore_reference(reference: TemplateReference) -> dict[str, Any]:
    target = reference.target
    named = {"apiVersion": f"{target.group}/v1", "kind": target.kind, "name": reference.template}
    metadata = {"name": reference.name, "namespace": reference.namespace}
    return {
        # The version has no meaning for custom kinds.
        "apiVersion": reference.api_version or f"{reference.kind.group}/v1",
        "kind": reference.kind.kind,
        "metadata": {**metadata, "labels": dict(reference.labels)},
        "spec": {"replicas": reference.replicas, "workloadRef": named},
    }


def _restore_template(value: dict[str, Any], workload: SnapshotWorkload) -> None:
    """Put the template of a subject into its object, which may have several."""
    subject = workload.subject
    pod = _to_json(subject.pod)
    if subject.is_bare:
        pod = find_value(pod, CONSTRAINTS_IN_POD, [])
    _put(value, subject.path, pod)
    lists = [end for end, step in enumerate(subject.path, start=1) if isinstance(step, int)]
    if lists:
        _put(value, (*subject.path[: lists[-1]], "name"), subject.part)
    if subject.replicas is None:
        return
    groups, members = subject.groups, subject.members
    each = subject.replicas if groups is None else subject.replicas // max(groups, 1)
    if groups is not None:
        outer = subject.path.index("template") if members is None else -2
        _put(value, (*subject.path[:outer], "replicas"), groups)
    if members is None:
        name = "parallelism" if subject.kind in JOBS | {JOB_SET} else "replicas"
        _put(value, (*subject.path[:-1], name), each)
    elif subject.part != "leaderTemplate":
        _put(value, (*subject.path[:-1], "size"), members.start + each)


def _restore_owner(owner: SnapshotOwner) -> dict[str, Any]:
    metadata = {"name": owner.name, "namespace": owner.namespace}
    return {"apiVersion": owner.api_version, "kind": owner.kind, "metadata": metadata}


def _restore_selector(owner: SnapshotOwner, selector: LabelSelector) -> Any:
    """Convert a selector as its kind writes it: that of a ReplicationController is a map."""
    return selector.match_labels if owner.api_version == "v1" else _to_json(selector)


def _put(value: Any, path: FieldPath, inner: Any) -> None:
    for step, following in pairwise(path):
        empty: Any = [] if isinstance(following, int) else {}
        if isinstance(step, int):
            _pad(value, step)
            value[step] = value[step] or empty
        else:
            value.setdefault(step, empty)
        value = value[step]
    if isinstance(path[-1], int):
        _pad(value, path[-1])
    value[path[-1]] = inner


def _pad(entries: list[Any], index: int) -> None:
    """Extend a list so that it has an entry with this index."""
    entries.extend(None for _ in range(len(entries), index + 1))


def _key_of(value: dict[str, Any]) -> tuple[str, str, str, str]:
    metadata = value["metadata"]
    name, namespace = metadata.get("name", ""), metadata.get("namespace", "")
    return group_of(value["apiVersion"]), value["kind"], namespace, name


def _to_json(item: msgspec.Struct) -> dict[str, Any]:
    value: dict[str, Any] = without_nulls(msgspec.json.decode(msgspec.json.encode(item)))
    return value
