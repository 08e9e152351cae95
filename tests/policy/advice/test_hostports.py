import msgspec
import pytest

from webhook.policy.advice.hostports import requests_host_ports

LISTENS = {"ports": [{"containerPort": 80}]}
TAKES = {"ports": [{"containerPort": 80}, {"containerPort": 53, "hostPort": 53}]}

PODS: dict[str, tuple[object, bool]] = {
    "a port of the node": ({"spec": {"containers": [{}, TAKES]}}, True),
    "a port of the pod alone": ({"spec": {"containers": [LISTENS]}}, False),
    "a port of the node that is none": (
        {"spec": {"containers": [{"ports": [{"containerPort": 80, "hostPort": 0}]}]}}, False
    ),
    "the node's network": ({"spec": {"hostNetwork": True, "containers": [LISTENS]}}, True),
    "the node's network, without ports": (
        {"spec": {"hostNetwork": True, "containers": [{}]}}, False
    ),
    "an init container that is over before the others start": (
        {"spec": {"initContainers": [TAKES]}}, False
    ),
    "an init container that stays": (
        {"spec": {"initContainers": [{**TAKES, "restartPolicy": "Always"}]}}, True
    ),
    "nulls": ({"spec": {"containers": [{"ports": None}], "initContainers": None}}, False),
    "no specification": ({}, False),
}  # fmt: skip


@pytest.mark.parametrize(("pod", "asks"), PODS.values(), ids=PODS.keys())
def test_host_ports_that_a_pod_requests(pod: object, asks: bool) -> None:
    assert requests_host_ports(msgspec.json.encode(pod)) is asks
