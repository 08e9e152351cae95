"""
The kinds that a user of one namespace may write and that a replica watches or reviews.

All come from the product's table of kinds, so that a kind that is added there is attacked too.
"""

from collections.abc import Iterator, Mapping
from itertools import groupby
from types import MappingProxyType
from typing import Final

from tests.controlplane.api import Json
from tests.e2e.customkinds import definition
from tests.e2e.objects import service, workload
from webhook.policy.kinds import KIND_ROWS, KindRow
from webhook.policy.places import TemplatePatterns

_CUSTOM_VERSION: Final = "v1alpha1"  # of what customkinds.py defines


def _name(row: KindRow) -> str:
    """``Deployment``, but ``StatefulSet.apps.kruise.io``: two groups have a StatefulSet."""
    return row.kind if row.version else str(row.group_kind)


TENANT_KINDS: Final[Mapping[str, KindRow]] = MappingProxyType(
    {
        _name(row): row
        for row in KIND_ROWS
        if row.namespaced
        and (row.watched or row.template is not None)
        and not isinstance(row.template, TemplatePatterns)
    }
)
"""Name -> row."""

CUSTOM: Final = tuple(name for name, row in TENANT_KINDS.items() if not row.version)
WITH_PODS: Final = tuple(name for name, row in TENANT_KINDS.items() if row.template is not None)

_LABELS: Final = {"app": "it"}
_REPLICATED: Final = {"ReplicaSet", "Deployment", "StatefulSet", "ReplicationController", *CUSTOM}


def api_version(name: str) -> str:
    """The API version as objects of a kind write it."""
    row = TENANT_KINDS[name]
    return row.api_version if row.version else f"{row.group}/{_CUSTOM_VERSION}"


def template_path(name: str) -> tuple[str, ...]:
    """The path of the pod template of a kind that has one."""
    path = TENANT_KINDS[name].template
    assert isinstance(path, tuple), f"{name} has no pod template, or several"
    return path


def ordinary(name: str, namespace: str, called: str) -> Json:
    """Build a valid object of a kind, that starts no pods."""
    row = TENANT_KINDS[name]
    if row.kind == "Service" and not row.group:  # Knative has a Service too
        return service(called, namespace, _LABELS)
    made = workload(row.kind if row.version else "Deployment", called, namespace, _LABELS)
    if name in _REPLICATED:
        made["spec"]["replicas"] = 0
    if name == "DaemonSet":
        made["spec"]["template"]["spec"]["nodeSelector"] = {"no": "node"}
    if name == "Job":
        made["spec"]["suspend"] = True
    return {**made, "apiVersion": api_version(name), "kind": row.kind}


def definitions() -> Iterator[Json]:
    """The CustomResourceDefinitions of the custom kinds, which take anything."""
    for name in CUSTOM:
        row = TENANT_KINDS[name]
        yield definition(row.group, row.kind, row.plural)


def resources() -> Iterator[tuple[str, list[str]]]:
    """Each API group with its resources, as rules of a Role have them."""
    ordered = sorted(TENANT_KINDS.values(), key=lambda row: row.group)
    for group, rows in groupby(ordered, key=lambda row: row.group):
        yield group, [row.plural for row in rows]


def hook_rules() -> Iterator[Json]:
    """The rules of a webhook for every kind with a pod template, as the chart renders them."""
    for name in WITH_PODS:
        row = TENANT_KINDS[name]
        yield {
            "apiGroups": [row.group],
            "apiVersions": ["*"],
            "operations": ["CREATE"] if row.kind == "Pod" else ["CREATE", "UPDATE"],
            "resources": [row.plural],
            "scope": "Namespaced",
        }
