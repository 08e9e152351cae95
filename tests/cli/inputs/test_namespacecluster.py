from typing import Any

import pytest

from tests.cli.inputs.manifestclusters import cluster_of, workload
from webhook.cli.inputs.manifestcluster import ManifestCluster
from webhook.cli.inputs.manifests import Inputs
from webhook.cli.inputs.namespacecluster import NamespaceCluster, WorkloadCluster
from webhook.cli.inputs.subjects import ExplainSubject
from webhook.cluster.scheduling.snapshot import ApiNode
from webhook.policy.kinds import DEPLOYMENT, JOB, NODE, POD, REPLICA_SET


def owned(kind: str, name: str, owner: str = "", **metadata: Any) -> dict[str, Any]:
    """An object of ``shop`` that the Deployment of this name controls."""
    owners = [{"apiVersion": "apps/v1", "kind": "Deployment", "name": owner, "controller": True}]
    known = {"name": name, "namespace": "shop", "ownerReferences": owners if owner else []}
    version = {"Pod": "v1", "Job": "batch/v1"}.get(kind, "apps/v1")
    return {"apiVersion": version, "kind": kind, "metadata": {**known, **metadata}, "spec": {}}


def labelled(name: str, **labels: str) -> dict[str, Any]:
    return owned("Pod", name, labels=labels)


OBJECTS = (
    workload("Deployment"),
    labelled("web-1", app="web", tier="front"),
    labelled("web-2", app="web", tier="back"),
    labelled("api-1", app="api", tier="front"),
    {**labelled("far", app="web"), "metadata": {"name": "far", "namespace": "ops"}},
    owned("ReplicaSet", "web-a", "web"),
    owned("ReplicaSet", "api-a", "api"),
    owned("ReplicaSet", "loose"),
    {**owned("ReplicaSet", "far"), "metadata": {"name": "far", "namespace": "ops"}},
    owned("Job", "one", "web"),
    owned("Job", "two"),
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}},
)


def narrow(cluster: ManifestCluster, **selector: str) -> WorkloadCluster:
    """The view for the Deployment ``shop/web``; its selector has these pairs."""
    value = workload("Deployment", selector={"matchLabels": selector})
    subject = ExplainSubject(DEPLOYMENT, ("spec", "template"), "shop", value, exists=True)
    return NamespaceCluster(cluster, "shop").narrow(subject)


@pytest.fixture(name="cluster")
def _cluster() -> ManifestCluster:
    return cluster_of(*OBJECTS)


# pairs of the selector, pods
PODS: dict[str, tuple[dict[str, str], list[str]]] = {
    "one pair": ({"app": "web"}, ["web-1", "web-2"]),
    "the rarest pair": ({"tier": "front", "app": "api"}, ["api-1"]),
    "a pair of no pod": ({"app": "web", "tier": "none"}, []),
    "no pair": ({}, ["web-1", "web-2", "api-1"]),
}


@pytest.mark.parametrize(("selector", "names"), PODS.values(), ids=PODS.keys())
def test_pods_are_those_that_the_selector_may_match(
    selector: dict[str, str], names: list[str], cluster: ManifestCluster
) -> None:
    found = narrow(cluster, **selector).pods("shop")

    assert [pod.metadata.name for pod in found] == names


def names(view: WorkloadCluster, kind: Any, namespace: str = "shop") -> list[str]:
    return [value["metadata"]["name"] for value in view.list_objects_of(kind, namespace)]


def test_revisions_are_those_that_the_workload_may_own(cluster: ManifestCluster) -> None:
    view = narrow(cluster, app="web")

    assert names(view, REPLICA_SET) == ["web-a", "loose"]
    assert names(view, JOB) == ["one", "two"]


def test_other_namespaces_are_whole(cluster: ManifestCluster) -> None:
    view = narrow(cluster, app="web")

    assert names(view, REPLICA_SET, "ops") == ["far"]
    assert [pod.metadata.name for pod in view.pods("ops")] == ["far"]


def test_everything_else_is_that_of_the_cluster(cluster: ManifestCluster) -> None:
    view = narrow(cluster, app="web")

    assert view.facts("shop") is cluster.facts("shop")
    assert view.find(POD, "shop", "web-1") == cluster.find(POD, "shop", "web-1")
    assert view.find_replaced(POD, "shop", "web-1") is None
    assert [node.name for node in view.decode_objects(NODE, ApiNode) or ()] == ["n1"]
    assert view.namespaces() == {"shop", "ops"}
    assert view.namespaces_of(DEPLOYMENT, "web") == ["shop"]
    assert view.is_complete is False


class CountingCluster(ManifestCluster):
    """A cluster that counts the lists that are read from it."""

    lists = 0

    def list_objects_of(self, kind: Any, namespace: str) -> list[dict[str, Any]]:
        self.lists += 1
        return super().list_objects_of(kind, namespace)

    def pods(self, namespace: str) -> list[Any]:
        self.lists += 1
        return super().pods(namespace)


def test_each_list_is_read_once_for_all_workloads() -> None:
    cluster = CountingCluster(cluster_of(*OBJECTS).documents, (), Inputs([]))
    inside = NamespaceCluster(cluster, "shop")
    for name in ("web", "api"):
        value = workload("Deployment", selector={"matchLabels": {"app": name}})
        subject = ExplainSubject(DEPLOYMENT, ("spec", "template"), "shop", value, exists=True)
        view = inside.narrow(subject)
        view.pods("shop")
        for kind in (REPLICA_SET, JOB):
            view.list_objects_of(kind, "shop")

    assert cluster.lists == 3
