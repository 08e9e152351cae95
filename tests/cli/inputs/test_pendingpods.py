"""Pending pods of a workload are read with what kube-scheduler places of them."""

from collections.abc import Mapping
from typing import Any

from tests.cli.inputs.manifestclusters import cluster_of, workload
from tests.cli.inputs.targetcases import NOW, PLAIN, TEMPLATES
from webhook.cli.inputs.pendingpods import read_pending_pods
from webhook.cli.inputs.removals import gather_pods
from webhook.cli.inputs.replicas import select_replicas
from webhook.cli.inputs.scenarioreader import ScenarioReader
from webhook.cli.inputs.setvolumes import read_set_volumes
from webhook.cli.inputs.subjects import find
from webhook.explain.newpods import NewPod

SPREAD = {"maxSkew": 3, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
DATA = {"name": "data", "persistentVolumeClaim": {"claimName": "data-web-0"}}


def pod(name: str, **spec: Any) -> dict[str, Any]:
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "controller": True}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": f"uid-of-{name}",
            "labels": {"app": "web", "revision": "old"},
            "ownerReferences": [owner],
        },
        "spec": {"topologySpreadConstraints": [SPREAD], **spec},
    }


def claim(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"volumeName": "pv"},
    }


VOLUME = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv"}}


def read(*objects: dict[str, Any], **spec: Any) -> Mapping[str, NewPod]:
    cluster = cluster_of(workload("StatefulSet", **spec), *objects)
    (subject,) = find("sts/web", "shop", TEMPLATES, cluster)
    observed = cluster.pods("shop")
    selected = select_replicas(subject, observed, cluster)
    pods = gather_pods(subject, selected, observed, cluster, NOW)
    assert pods is not None
    reader = ScenarioReader(PLAIN, cluster, replaces=False)
    return read_pending_pods(subject, pods, read_set_volumes(subject, 2), reader, cluster)


def test_pods_without_a_node_have_their_own_constraints_and_labels() -> None:
    found = read(pod("web-0", nodeName="n1"), pod("web-1"), pod("web-2", nodeSelector={"a": "b"}))

    assert list(found) == ["web-1", "web-2"]
    assert found["web-1"].pod.labels == {"app": "web", "revision": "old"}
    assert [spread.max_skew for spread in found["web-1"].spreads.hard] == [3]
    assert found["web-2"].pod.demands.pairs == (("a", "b"),)


def test_pods_that_require_the_same_are_equal() -> None:
    found = read(pod("web-1"), pod("web-2"))

    assert found["web-1"] == found["web-2"]


def test_nothing_is_read_if_all_pods_have_a_node() -> None:
    assert read(pod("web-0", nodeName="n1")) == {}


def test_pods_of_a_stateful_set_have_the_claims_of_their_ordinals_once() -> None:
    templates = [{"metadata": {"name": "data"}}]
    pods = pod("web-0", volumes=[DATA]), pod("web-1")
    storage = claim("data-web-0"), claim("data-web-1"), VOLUME

    found = read(*pods, *storage, volumeClaimTemplates=templates)

    names = [[volume.name for volume in one.pod.volumes] for one in found.values()]
    assert names == [["data-web-0"], ["data-web-1"]]
