from typing import Any

import msgspec
import pytest

from tests.cli.inputs.manifestclusters import cluster_of, workload
from tests.cli.inputs.targetcases import PLAIN, TEMPLATES
from webhook.cli.inputs.observedworkloads import observe_workload
from webhook.cli.inputs.placementtargets import TargetOptions
from webhook.cli.inputs.podplacement import PodPlacer
from webhook.cli.inputs.scenarioreader import create_unadmitted
from webhook.cli.inputs.subjects import find
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.policy.model import ZONE

HARD = {
    "maxSkew": 1,
    "topologyKey": ZONE,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "web"}},
}
RACK = {**HARD, "topologyKey": "rack"}
LACKING = (
    "0/2 nodes are available: 2 node(s) didn't match pod topology spread constraints (missing "
    "required label)."
)


def node(name: str, zone: str) -> dict[str, Any]:
    labels = {ZONE: zone, "kubernetes.io/hostname": name}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


NODES = (node("n1", "a"), node("n2", "b"))


def place(obj: dict[str, Any], *constraints: Any, nodes: Any = NODES, **spec: Any) -> str | None:
    """Place the next pod of a workload, which its admission gives these constraints."""
    template = obj["spec"]["template"]["spec"]
    template.update(spec)
    cluster = cluster_of(obj, *nodes)
    (subject,) = find(f"{obj['kind'].lower()}/web", "shop", TEMPLATES, cluster)
    observed = observe_workload(subject, cluster, TargetOptions(now=0.0))
    pod, facts = create_unadmitted(observed.revision, observed.own, cluster.facts("shop"))
    written = msgspec.json.decode(msgspec.json.encode(pod))
    written["spec"]["topologySpreadConstraints"] = list(constraints)
    placer = PodPlacer(cluster, PLAIN)
    return placer.find_failure(observed, msgspec.convert(written, ApiPod), facts)


# workload, constraints, its specification, sentence
CASES: dict[str, tuple[dict[str, Any], tuple[Any, ...], dict[str, Any], str]] = {
    "a pod that fits": (workload("Deployment"), (HARD,), {}, ""),
    "a pod that does not": (workload("Deployment"), (RACK,), {}, LACKING),
    "a pod of a StatefulSet": (workload("StatefulSet"), (RACK,), {}, LACKING),
    "another scheduler": (workload("Deployment"), (RACK,), {"schedulerName": "other"}, ""),
    "a written node": (workload("Deployment"), (RACK,), {"nodeName": "n1"}, ""),
    "a DaemonSet that fits": (workload("DaemonSet"), (HARD,), {}, ""),
}


@pytest.mark.parametrize(
    ("obj", "constraints", "spec", "sentence"), CASES.values(), ids=CASES.keys()
)
def test_failures(
    obj: dict[str, Any], constraints: tuple[Any, ...], spec: dict[str, Any], sentence: str
) -> None:
    assert place(obj, *constraints, **spec) == sentence


def test_a_node_that_lacks_its_pod_of_a_daemon_set_is_described() -> None:
    failure = place(workload("DaemonSet"), RACK)

    assert failure is not None
    assert failure.startswith("0/2 nodes are available: ")


def test_without_nodes_nothing_is_known() -> None:
    assert place(workload("Deployment"), RACK, nodes=()) is None


def test_a_pod_of_a_stateful_set_is_placed_after_its_namesake() -> None:
    port = {"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]}
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "controller": True}
    old = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "web-0",
            "namespace": "shop",
            "labels": {"app": "web"},
            "ownerReferences": [owner],
            "deletionTimestamp": "2026-11-27T10:00:00Z",
        },
        "spec": {**port, "nodeName": "n1"},
    }

    assert place(workload("StatefulSet"), nodes=(node("n1", "a"), old), **port) == ""
    assert place(workload("Deployment"), nodes=(node("n1", "a"), old), **port) != ""
