from typing import Any

import msgspec
import pytest

from webhook.cluster.scheduling.snapshot import ClusterObjects, read_cluster
from webhook.policy.api.versions import Version
from webhook.policy.model import LabelSelector, Node, Taint
from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.filters.resources import Resources
from webhook.policy.placement.filters.storage import Storage

V1_36 = Version(1, 36)


def read(**members: Any) -> SchedulingCluster:
    return read_cluster(msgspec.convert(members, ClusterObjects), V1_36)


def test_an_empty_cluster() -> None:
    cluster = read()

    assert (cluster.nodes, cluster.allocatable, cluster.namespaces) == ({}, {}, {})
    assert (cluster.storage, cluster.version) == (Storage(), V1_36)


def test_nodes_and_their_resources() -> None:
    written = {
        "metadata": {"name": "n1", "labels": {"zone": "a"}},
        "spec": {"unschedulable": True, "taints": [{"key": "gpu", "effect": "NoSchedule"}]},
        "status": {"allocatable": {"cpu": "1500m", "pods": "110"}},
    }
    cluster = read(nodes=[written, {"metadata": {"name": "n2"}, "status": {}}])

    tainted = (Taint(key="gpu", effect="NoSchedule"),)
    assert cluster.nodes["n1"] == Node("n1", {"zone": "a"}, tainted, unschedulable=True)
    assert cluster.allocatable == {"n1": Resources(1500, pods=110)}


@pytest.mark.parametrize("status", [{}, {"status": {"conditions": []}}])
def test_the_room_of_a_node_that_does_not_say_is_not_known(status: dict[str, Any]) -> None:
    """As of a manifest, or of a snapshot of an audit."""
    assert read(nodes=[{"metadata": {"name": "n1"}, **status}]).allocatable == {}


@pytest.mark.parametrize("member", ["allocatable", "capacity"])
def test_a_malformed_quantity_of_a_node_is_a_type_error(member: str) -> None:
    written = {"metadata": {"name": "n1"}, "status": {member: {"memory": "16GiB"}}}

    with pytest.raises(msgspec.ValidationError, match="write 16Gi"):
        read(nodes=[written])


def test_a_node_without_allocatable_resources_has_its_capacity_for_pods() -> None:
    """As kube-apiserver stores it."""
    node = {"metadata": {"name": "n1"}, "status": {"capacity": {"cpu": "4", "pods": "8"}}}

    assert read(nodes=[node]).allocatable == {"n1": Resources(4000, pods=8)}


def test_the_pods_that_new_nodes_have_too() -> None:
    owner = {"kind": "DaemonSet", "name": "agent", "controller": True}
    agent = {"metadata": {"name": "agent-1", "ownerReferences": [owner]}, "spec": {"nodeName": "n"}}

    cluster = read(pods=[agent, {"metadata": {"name": "web-1"}, "spec": {"nodeName": "n"}}])

    assert [pod.name for pod in cluster.daemons["n"]] == ["agent-1"]


def test_namespaces_by_their_labels() -> None:
    namespaces = [
        {"metadata": {"name": "shop", "labels": {"team": "x"}}},
        {"metadata": {"name": "b"}},
    ]

    assert read(namespaces=namespaces).namespaces == {"shop": {"team": "x"}, "b": {}}


def test_storage() -> None:
    assert read(csiNodes=[{"metadata": {"name": "n1"}}]).storage.csi_nodes.keys() == {"n1"}


# node, phase, whether the pod takes resources
PODS: dict[str, tuple[str | None, str | None, bool]] = {
    "a running pod": ("n1", "Running", True),
    "a pod without a status": ("n1", None, True),
    "a pod that has succeeded": ("n1", "Succeeded", False),
    "a pod that has failed": ("n1", "Failed", False),
    "a pending pod": (None, "Pending", False),
}


@pytest.mark.parametrize(("node", "phase", "counts"), PODS.values(), ids=PODS.keys())
def test_pods_that_take_resources(node: str | None, phase: str | None, counts: bool) -> None:
    pod = {
        "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}},
        "spec": {"nodeName": node},
        "status": phase and {"phase": phase},
    }
    placed = read(pods=[pod, {}]).placed

    assert placed.usage("n1").pods == counts
    selector = LabelSelector(match_labels={"app": "web"})
    assert placed.census.count("shop", selector) == ({"n1": 1} if counts else {})
