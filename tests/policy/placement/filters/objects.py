"""Clusters and pods for filters, written as the objects of the API that they are read from."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.cluster.scheduling.pods import read_pod
from webhook.cluster.scheduling.snapshot import ClusterObjects, read_cluster
from webhook.policy.api.versions import Version
from webhook.policy.model import HOSTNAME
from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.filters.filterpods import FilterPod
from webhook.policy.placement.filters.rejections import Check, FilterRejection

V1_36, V1_37 = Version(1, 36), Version(1, 37)

Json = dict[str, Any]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def pod_object(
    name: str = "web",
    *,
    namespace: str = "shop",
    labels: Mapping[str, str] | None = None,
    **spec: Any,
) -> Json:
    """A pod; further members are those of its specification."""
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "labels": labels or {}}
    return {"metadata": metadata, "spec": spec}


def pod(*args: Any, version: Version = V1_36, **members: Any) -> FilterPod:
    """The same as a value."""
    return read_pod(msgspec.convert(pod_object(*args, **members), ApiPod), version)


def node_object(
    name: str,
    allocatable: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
) -> Json:
    """A node with its name as hostname, with room for ten pods unless it is given."""
    return {
        "metadata": {"name": name, "labels": {HOSTNAME: name, **(labels or {})}},
        "status": {"allocatable": allocatable or {"pods": "10", "cpu": "4", "memory": "4Gi"}},
    }


def cluster(
    nodes: Sequence[Json], pods: Sequence[Json] = (), version: Version = V1_36, **members: Any
) -> SchedulingCluster:
    """A cluster; further members are those of ``ClusterObjects``, by their names in JSON."""
    objects = {"nodes": nodes, "pods": pods, **members}
    return read_cluster(msgspec.convert(objects, ClusterObjects), version)


def run_check(
    prepared: Check | FilterRejection | None, scene: SchedulingCluster
) -> dict[str, FilterRejection | None]:
    """The result of a prepared filter for every node."""
    if prepared is None or isinstance(prepared, FilterRejection):
        return dict.fromkeys(scene.nodes, prepared)
    return {name: prepared(node) for name, node in scene.nodes.items()}


def container(requests: Mapping[str, str] | None = None, **members: Any) -> Json:
    """A container with requests."""
    return {"name": "c", "resources": {"requests": requests or {}}, **members}


def anti_affinity(*terms: Json) -> Json:
    """An affinity with required terms of anti-affinity."""
    return {"podAntiAffinity": {REQUIRED: list(terms)}}


def pod_affinity(*terms: Json) -> Json:
    """An affinity with required terms of affinity."""
    return {"podAffinity": {REQUIRED: list(terms)}}


def term(key: str, **labels: str) -> Json:
    """A term that selects pods by labels."""
    return {"topologyKey": key, "labelSelector": {"matchLabels": labels}}
