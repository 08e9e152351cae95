"""RuntimeClasses on a real control plane: what ``audit`` and ``explain`` say of their pods."""

import json
from pathlib import Path

import msgspec
import pytest

from tests.controlplane import kubelet
from tests.controlplane.api import Json
from tests.controlplane.fixtures import NewControlPlane
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.objects import workload
from tests.e2e.shop import SPREAD, ZONE, Shop
from webhook.__main__ import main
from webhook.policy.placement.nodes import Demands, SchedulingPod, Toleration
from webhook.policy.placement.runtimeclasses import RuntimeClass

KATA: Json = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "kata"},
    "handler": "kata",
    "scheduling": {
        "nodeSelector": {"pool": "kata"},
        "tolerations": [{"key": "kata", "operator": "Exists"}],
    },
}


@pytest.fixture
def shop(new_control_plane: NewControlPlane) -> tuple[ControlPlane, Shop]:
    """Three zones of ordinary nodes, and three of tainted ones for the class."""
    plane = new_control_plane()
    shop = Shop(plane)
    for zone in "abc":
        name = f"kata-{zone}"
        kubelet.join(plane.api, name, {ZONE: f"kata-{zone}", "pool": "kata"})
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
        plane.api.merge(node, {"spec": {"taints": [{"key": "kata", "effect": "NoSchedule"}]}})
    plane.api.create(KATA)
    return plane, shop


def run(
    command: str, kubeconfig: Path, capsys: pytest.CaptureFixture[str], *options: str
) -> tuple[int, Json]:
    """Run a command that reads the live cluster; return its exit code and its JSON."""
    code = main([command, *options, "--kubeconfig", str(kubeconfig), "-o", "json"])
    return code, json.loads(capsys.readouterr().out)


def list_pods(shop: Shop, app: str) -> list[Json]:
    return [pod for pod in shop.pods if pod["metadata"]["labels"]["app"] == app]


def test_pods_of_a_class_are_judged_by_the_nodes_that_they_get(
    shop: tuple[ControlPlane, Shop], capsys: pytest.CaptureFixture[str]
) -> None:
    plane, cluster = shop
    own = {"labelSelector": {"matchLabels": {"app": "secure"}}, "nodeTaintsPolicy": "Honor"}
    spread = {**SPREAD, **own, "minDomains": 3}
    cluster.create(
        "Deployment", "secure", 3, topologySpreadConstraints=[spread], runtimeClassName="kata"
    )
    cluster.wait(10)

    code, report = run("audit", plane.apiserver.kubeconfig, capsys)

    pods = list_pods(cluster, "secure")
    (row,) = (one for one in report["workloads"] if one["name"] == "secure")
    assert (code, row["findings"]) == (0, [])
    assert {pod["spec"]["nodeName"] for pod in pods} == {"kata-a", "kata-b", "kata-c"}
    cells = {cell["value"]: cell["pods"] for cell in row["spreads"][0]["cells"]}
    assert cells == {"kata-a": 1, "kata-b": 1, "kata-c": 1}
    decoded = RuntimeClass(
        name="kata", node_selector={"pool": "kata"}, tolerations=(Toleration("kata", "Exists"),)
    )
    created = msgspec.convert(pods[0], SchedulingPod).demands
    assert set(decoded.add_to(Demands()).pairs) == set(created.pairs)
    assert set(decoded.tolerations) <= set(created.tolerations or ())


def test_the_controller_of_a_daemon_set_does_not_know_of_the_class(
    shop: tuple[ControlPlane, Shop], capsys: pytest.CaptureFixture[str]
) -> None:
    plane, cluster = shop
    agent = workload(
        "DaemonSet", "agent", cluster.namespace, {"app": "agent"}, runtimeClassName="kata"
    )
    plane.api.create(agent)
    until(lambda: len(list_pods(cluster, "agent")) == 3, "the pods of the DaemonSet")

    code, answer = run(
        "explain", plane.apiserver.kubeconfig, capsys, "ds/agent", "-n", cluster.namespace
    )

    pods = list_pods(cluster, "agent")
    pinned = {
        term["matchFields"][0]["values"][0]
        for pod in pods
        for term in pod["spec"]["affinity"]["nodeAffinity"][
            "requiredDuringSchedulingIgnoredDuringExecution"
        ]["nodeSelectorTerms"]
    }
    assert pinned == {"node-a", "node-b", "node-c"}
    assert not any("nodeName" in pod["spec"] for pod in pods)
    found = answer["explanation"]
    assert code == 1
    assert {pod["node"] for pod in found["daemon"]["missing"]} == pinned
    assert all(pod["reason"] for pod in found["daemon"]["missing"])
    assert "write the same nodeSelector and tolerations" in found["sentence"]


def test_a_pod_that_contradicts_its_class_is_refused(
    shop: tuple[ControlPlane, Shop], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    plane, cluster = shop
    pod = workload(
        "Pod",
        "other",
        cluster.namespace,
        {"app": "other"},
        runtimeClassName="kata",
        nodeSelector={"pool": "web"},
    )
    (tmp_path / "pod.json").write_text(json.dumps(pod))

    code, answer = run(
        "explain", plane.apiserver.kubeconfig, capsys, "-f", str(tmp_path / "pod.json")
    )

    found = answer["explanation"]
    assert (code, found["placeable"]) == (1, False)
    assert found["refused"][0]["field"] == "spec.nodeSelector"
    with pytest.raises(Exception, match=r"conflict: runtimeClass\.scheduling\.nodeSelector"):
        plane.api.create(pod)
