"""
Random resources: what nodes have, and what the containers of pods request.

``make_node_status`` and ``make_containers`` are the entry points. Quantities have every spelling
that kube-apiserver accepts, and few values, so that requests often fill a node to the last unit.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.oracle.chance import Chance

GPU, HUGE_PAGES, STORAGE = "example.com/gpu", "hugepages-2Mi", "ephemeral-storage"

_REQUESTED: tuple[tuple[str, float, Sequence[str]], ...] = (
    ("cpu", 0.7, ("100m", "0.25", "250m", "500m", "1", "1500m", "2", "1e-1", "0")),
    ("memory", 0.6, ("1e3", "100k", "64Mi", "128M", "500Mi", "1Gi", "1.5Gi", "2G", "0")),
    (STORAGE, 0.15, ("100M", "0.5Gi", "1Gi", "5Gi")),
)
"""Resource -> the probability that a container requests it, and the quantities."""

_EXCESSIVE = {"cpu": "20", "memory": "9Gi", STORAGE: "60Gi", GPU: "5", "example.com/fpga": "1"}
"""Requests of which few nodes have enough."""

_SMALL: tuple[tuple[str, Sequence[str]], ...] = (
    ("cpu", ("2", "3920m", "4", "8", "1500m")),
    ("memory", ("4Gi", "8Gi", "16331752Ki", "5e9")),
    ("pods", ("4", "10", "110", "110")),
)
_LARGE = {"cpu": "64", "memory": "256Gi", "pods": "110", STORAGE: "500Gi", GPU: "8"}

_PROTOCOLS = (None, "TCP", "TCP", "UDP", "SCTP")  # absent is TCP
_ADDRESSES = (None, None, "", "0.0.0.0", "127.0.0.1", "10.0.0.1", "::")
_PORTS = (80, 8080, 8080, 9090)


def make_node_status(chance: Chance, *, large: bool) -> dict[str, Any]:
    """Make the status of a node; on large nodes resources are seldom the cause."""
    if large:
        allocatable = dict(_LARGE)
    else:
        allocatable = {name: chance.pick(values) for name, values in _SMALL}
        if chance.holds(0.7):
            allocatable[STORAGE] = chance.pick(("10Gi", "100Gi", "50e9"))
        if chance.holds(0.4):
            allocatable[GPU] = chance.pick(("0", "1", "2", "4"))
    if chance.holds(0.4):
        allocatable[HUGE_PAGES] = chance.pick(("0", "4Mi", "512Mi"))
    if chance.holds(0.03):
        del allocatable[chance.pick(("cpu", "memory", "pods"))]
    if chance.holds(0.1):
        return {"capacity": allocatable}  # which kube-apiserver copies to allocatable
    return {"capacity": allocatable, "allocatable": allocatable}


def make_containers(chance: Chance, *, excessive: float = 0.0) -> dict[str, Any]:
    """
    Make the members of a pod's ``spec`` that decide on its resources and its host ports.

    Args:
        excessive: Probability of a request of which few nodes have enough.
    """
    if chance.holds(0.08):
        return _make_bounded(chance)
    spec: dict[str, Any] = {"containers": _make_list(chance, "c", chance.pick((1, 1, 1, 2)))}
    if chance.holds(0.2):
        spec["initContainers"] = _make_list(chance, "i", chance.number(1, 2))
        for container in spec["initContainers"]:
            if chance.holds(0.5):
                container["restartPolicy"] = "Always"
    if chance.holds(excessive):
        name = chance.pick(tuple(_EXCESSIVE))
        resources = {"requests": {name: _EXCESSIVE[name]}}
        if "/" in name:
            resources["limits"] = dict(resources["requests"])
        chance.pick(spec["containers"])["resources"] = resources
    if chance.holds(0.06):
        spec["overhead"] = {"cpu": "250m", "memory": "64Mi"}
    _add_ports(chance, spec)
    return spec


def _make_list(chance: Chance, prefix: str, number: int) -> list[dict[str, Any]]:
    return [_make_container(chance, f"{prefix}{index}") for index in range(number)]


def _make_container(chance: Chance, name: str) -> dict[str, Any]:
    container: dict[str, Any] = {"name": name, "image": "x"}
    requests = {
        resource: chance.pick(quantities)
        for resource, probability, quantities in _REQUESTED
        if chance.holds(probability)
    }
    limits = {resource: value for resource, value in requests.items() if chance.holds(0.15)}
    if chance.holds(0.08):
        limits[GPU] = requests[GPU] = chance.pick(("0", "1", "2"))
    if chance.holds(0.05) and {"cpu", "memory"} & requests.keys():
        limits[HUGE_PAGES] = requests[HUGE_PAGES] = chance.pick(("2Mi", "4Mi", "64Mi"))
    for resource in limits:
        if chance.holds(0.5):
            del requests[resource]  # which kube-apiserver copies from the limit
    if resources := _drop_empty({"requests": requests, "limits": limits}):
        container["resources"] = resources
    return container


def _drop_empty(members: Mapping[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    return {name: value for name, value in members.items() if value}


def _make_bounded(chance: Chance) -> dict[str, Any]:
    """Make containers of a pod with resources of its own, which are at least theirs."""
    spec: dict[str, Any] = {"containers": [{"name": "c0", "image": "x"}]}
    if chance.holds(0.7):
        spec["containers"][0]["resources"] = {"requests": {"cpu": "100m", "memory": "64Mi"}}
    if chance.holds(0.3):
        sidecar = {"name": "i0", "image": "x", "restartPolicy": "Always"}
        spec["initContainers"] = [{**sidecar, "resources": {"requests": {"cpu": "0.25"}}}]
    amounts = {"cpu": chance.pick(("0.5", "1", "2500m")), "memory": chance.pick(("128Mi", "3e9"))}
    if chance.holds(0.4):
        del amounts[chance.pick(tuple(amounts))]
    kinds = chance.pick((("requests",), ("limits",), ("requests", "limits")))
    spec["resources"] = {kind: dict(amounts) for kind in kinds}
    return spec


def _add_ports(chance: Chance, spec: dict[str, Any]) -> None:
    """Add host ports, each of them once, and sometimes the network of the host."""
    if chance.holds(0.03):
        spec["hostNetwork"] = True  # each port is a host port
    taken = set[tuple[Any, ...]]()
    for container in (*spec["containers"], *spec.get("initContainers", ())):
        if not chance.holds(0.25):
            continue
        port = _make_port(chance, host_network=spec.get("hostNetwork", False))
        key = (port.get("protocol", "TCP"), port.get("hostIP", ""), port["containerPort"])
        if key not in taken:
            taken.add(key)
            container["ports"] = [port]


def _make_port(chance: Chance, *, host_network: bool) -> dict[str, Any]:
    number = chance.pick(_PORTS)
    port: dict[str, Any] = {"containerPort": number}
    if not host_network:
        port["hostPort"] = number
    for member, values in (("protocol", _PROTOCOLS), ("hostIP", _ADDRESSES)):
        if (value := chance.pick(values)) is not None:
            port[member] = value
    return port
