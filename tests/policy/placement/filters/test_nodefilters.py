from collections.abc import Callable
from typing import Any

import pytest

from tests.policy.placement.filters.objects import (
    REQUIRED,
    Json,
    cluster,
    container,
    node_object,
    pod,
    pod_object,
    run_check,
)
from webhook.policy.placement.filters.nodefilters import (
    CONFLICT,
    CORDON,
    NODE_AFFINITY,
    OTHER_NAME,
    PORTS,
    TAINT,
    prepare_affinity,
    prepare_cordon,
    prepare_name,
    prepare_ports,
    prepare_resources,
    prepare_taints,
)
from webhook.policy.placement.filters.rejections import FilterRejection

TAINTED = {**node_object("n1"), "spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}}
CORDONED = {**node_object("n1"), "spec": {"unschedulable": True}}
N1 = node_object("n1", labels={"disk": "ssd"})


def names(*values: str) -> Json:
    return {"key": "metadata.name", "operator": "In", "values": list(values)}


def required(*terms: Json) -> Json:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


EVERY_TAINT = {"tolerations": [{"operator": "Exists"}]}

# filter, node, specification of the pod, rejection
NODES: dict[str, tuple[Callable[..., Any], Json, Json, FilterRejection | None]] = {
    "a schedulable node": (prepare_cordon, N1, {}, None),
    "a cordoned node": (prepare_cordon, CORDONED, {}, CORDON),
    "a cordon that is tolerated": (prepare_cordon, CORDONED, EVERY_TAINT, None),
    "no node name": (prepare_name, N1, {}, None),
    "the node name": (prepare_name, N1, {"nodeName": "n1"}, None),
    "another node name": (prepare_name, N1, {"nodeName": "n2"}, OTHER_NAME),
    "no taint": (prepare_taints, N1, {}, None),
    "a taint": (prepare_taints, TAINTED, {}, TAINT),
    "a taint that is tolerated": (prepare_taints, TAINTED, EVERY_TAINT, None),
    "no affinity": (prepare_affinity, N1, {}, None),
    "a node selector": (prepare_affinity, N1, {"nodeSelector": {"disk": "ssd"}}, None),
    "another label": (prepare_affinity, N1, {"nodeSelector": {"disk": "hdd"}}, NODE_AFFINITY),
    "a required node": (
        prepare_affinity, N1, {"affinity": required({"matchFields": [names("n1")]})}, None
    ),
    "no terms": (prepare_affinity, N1, {"affinity": required()}, NODE_AFFINITY),
    "fields that exclude each other": (
        prepare_affinity, N1, {"affinity": required({"matchFields": [names("n1"), names("n2")]})},
        CONFLICT,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("prepare", "node", "spec", "rejection"), NODES.values(), ids=NODES.keys())
def test_what_a_pod_needs_of_a_node(
    prepare: Callable[..., Any], node: Json, spec: Json, rejection: FilterRejection | None
) -> None:
    scene = cluster([node])

    assert run_check(prepare(pod(**spec), scene), scene) == {"n1": rejection}


def port(number: int = 80, address: str = "", protocol: str = "TCP") -> Json:
    return container(ports=[{"hostPort": number, "hostIP": address, "protocol": protocol}])


# port of the pod, port in use, whether they exclude each other
PORT_PAIRS = {
    "the same port": (port(), port(), True),
    "another number": (port(), port(81), False),
    "another protocol": (port(), port(protocol="UDP"), False),
    "the same address": (port(80, "10.0.0.1"), port(80, "10.0.0.1"), True),
    "another address": (port(80, "10.0.0.1"), port(80, "10.0.0.2"), False),
    "all addresses": (port(80, "0.0.0.0"), port(80, "10.0.0.2"), True),
    "all addresses in use": (port(80, "10.0.0.1"), port(80), True),
    "no port": (container(), port(), False),
}


@pytest.mark.parametrize(("wanted", "used", "conflict"), PORT_PAIRS.values(), ids=PORT_PAIRS.keys())
def test_host_ports(wanted: Json, used: Json, conflict: bool) -> None:
    scene = cluster([node_object("n1")], [pod_object(nodeName="n1", containers=[used])])
    prepared = prepare_ports(pod(containers=[wanted]), scene)

    assert run_check(prepared, scene) == {"n1": PORTS if conflict else None}


def test_a_port_is_free_again_when_its_pod_is_removed() -> None:
    scene = cluster([node_object("n1")])
    wanted = pod(containers=[port()])
    scene.placed.add(wanted, "n1")
    assert run_check(prepare_ports(wanted, scene), scene) == {"n1": PORTS}

    scene.placed.remove(wanted, "n1")

    assert run_check(prepare_ports(wanted, scene), scene) == {"n1": None}


GPU = "example.com/gpu"
ROOM = {"pods": "2", "cpu": "2", "memory": "2Gi", "ephemeral-storage": "2Gi", GPU: "2"}
TAKEN = {"cpu": "500m", "memory": "1Gi", "ephemeral-storage": "1Gi", GPU: "1"}

# requests, reasons, whether the removal of pods can help
FITS: dict[str, tuple[Json, tuple[str, ...], bool]] = {
    "nothing": ({}, (), True),
    "all that is left": (
        {"cpu": "1500m", "memory": "1Gi", "ephemeral-storage": "1Gi", GPU: "1"}, (), True
    ),
    "too much CPU": ({"cpu": "1501m"}, ("Insufficient cpu",), True),
    "more CPU than the node has": ({"cpu": "3"}, ("Insufficient cpu",), False),
    "too much memory": ({"memory": "1025Mi"}, ("Insufficient memory",), True),
    "more memory than the node has": ({"memory": "3Gi"}, ("Insufficient memory",), False),
    "too much storage": (
        {"ephemeral-storage": "1.1Gi"}, ("Insufficient ephemeral-storage",), True
    ),
    "more storage than the node has": (
        {"ephemeral-storage": "3Gi"}, ("Insufficient ephemeral-storage",), False
    ),
    "too many devices": ({GPU: "2"}, (f"Insufficient {GPU}",), True),
    "a device that the node lacks": ({"b/c": "1"}, ("Insufficient b/c",), False),
    "none of a device that the node lacks": ({"b/c": "0"}, (), True),
    "several resources": (
        {"cpu": "2", "memory": "2Gi", "b/c": "1", "a/c": "1"},
        ("Insufficient cpu", "Insufficient memory", "Insufficient a/c", "Insufficient b/c"), False,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("requests", "reasons", "resolvable"), FITS.values(), ids=FITS.keys())
def test_the_resources_of_a_node(
    requests: Json, reasons: tuple[str, ...], resolvable: bool
) -> None:
    taken = pod_object(nodeName="n1", containers=[container(TAKEN)])
    scene = cluster([node_object("n1", ROOM)], [taken])
    prepared = prepare_resources(pod(containers=[container(requests)]), scene)

    expected = FilterRejection("NodeResourcesFit", reasons, is_resolvable=resolvable)
    assert run_check(prepared, scene) == {"n1": expected if reasons else None}


# CPU of a pod, pods on the node, reasons
COUNTS: dict[str, tuple[str, int, tuple[str, ...]]] = {
    "one place left": ("0", 1, ()),
    "no place left": ("0", 2, ("Too many pods",)),
    "no place and no CPU left": ("1", 2, ("Too many pods", "Insufficient cpu")),
}


@pytest.mark.parametrize(("cpu", "number", "reasons"), COUNTS.values(), ids=COUNTS.keys())
def test_the_number_of_pods(cpu: str, number: int, reasons: tuple[str, ...]) -> None:
    one = pod(containers=[container({"cpu": cpu})])
    scene = cluster([node_object("n1", ROOM)])
    for _ in range(number):
        scene.placed.add(one, "n1")

    found = run_check(prepare_resources(one, scene), scene)["n1"]

    assert (found.reasons if found else ()) == reasons


def test_a_node_of_unknown_resources_has_room() -> None:
    scene = cluster([node_object("n1", {"pods": "0"})])
    pods = pod(containers=[container({"cpu": "9"})])
    unknown = type(scene)(scene.topology)

    assert run_check(prepare_resources(pods, scene), scene)["n1"] is not None
    assert run_check(prepare_resources(pods, unknown), unknown) == {"n1": None}
