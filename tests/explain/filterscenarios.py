"""Pods and clusters for all filters, written as objects of the API, and random ones."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.policy.placement.clusters import gates
from tests.policy.placement.filters.nominees import nominate
from tests.policy.placement.filters.objects import (
    Json,
    anti_affinity,
    cluster,
    container,
    node_object,
    pod,
    pod_affinity,
    pod_object,
    term,
)
from tests.policy.placement.filters.volumes import bound_claim, uses
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.cluster.scheduling.pods import read_pod
from webhook.explain.scenario import Scenario
from webhook.policy.api.versions import Version
from webhook.policy.model import HOSTNAME, ZONE
from webhook.policy.placement.spreads import resolve_constraints

WEB = {"app": "web"}
SPREAD = {
    "maxSkew": 1,
    "topologyKey": ZONE,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": WEB},
}


def filter_scenario(nodes: Sequence[Json], pods: Sequence[Json] = (), **spec: Any) -> Scenario:
    """Make that of a pod with this specification."""
    written = msgspec.convert(pod_object("web-9", labels=WEB, **spec), ApiPod)
    spreads = resolve_constraints(written.constraints, written.labels, gates())
    return Scenario(read_pod(written, Version(1, 36)), spreads, cluster(nodes, pods))


def storage_scenario(nodes: Sequence[Json], *volumes: Json) -> Scenario:
    """Make that of a pod with a constraint, whose claims are bound to these volumes."""
    names = [volume["metadata"]["name"] for volume in volumes]
    spec = {"volumes": list(map(uses, names)), "topologySpreadConstraints": [SPREAD]}
    claims = [bound_claim(name, name) for name in names]
    found = cluster(nodes, persistentVolumeClaims=claims, persistentVolumes=volumes)
    return replace(filter_scenario(nodes, **spec), cluster=found)


def node(name: str, zone: str, cpu: str = "4", pods: str = "10") -> Json:
    return node_object(name, {"cpu": cpu, "pods": pods}, {ZONE: zone})


def running(name: str, at: str, cpu: str = "1", **spec: Any) -> Json:
    return pod_object(name, labels=WEB, nodeName=at, containers=[container({"cpu": cpu})], **spec)


def cpu(amount: str, **members: Any) -> Mapping[str, Any]:
    return {"containers": [container({"cpu": amount}, **members)]}


def taking(name: str, at: str, spec: Mapping[str, Any]) -> Json:
    return pod_object(name, labels=WEB, nodeName=at, **spec)


def owned_by(kind: str, pod: Json) -> Json:
    """The pod with a controller."""
    owner = {"kind": kind, "name": "owner", "controller": True}
    return {**pod, "metadata": {**pod["metadata"], "ownerReferences": [owner]}}


PORT_80 = [{"hostPort": 80}]
TWO = (node("n1", "a"), node("n2", "b"))


amounts = st.sampled_from(["0", "1", "2", "5"])


some_ports = st.lists(st.sampled_from([80, 81]), max_size=2, unique=True).map(
    lambda ports: [{"hostPort": port} for port in ports]
)
apps = st.sampled_from(["web", "db"])


@st.composite
def filter_scenarios(draw: st.DrawFn) -> Scenario:
    """Draw a pod with requests, ports, affinity and a constraint, and a small cluster."""
    nodes = [
        node(f"n{number}", draw(st.sampled_from("ab")), draw(amounts), draw(st.sampled_from("13")))
        for number in range(draw(st.integers(1, 4)))
    ]
    found = term(draw(st.sampled_from([ZONE, HOSTNAME])), app=draw(apps))
    pods = [
        owned_by(
            draw(st.sampled_from(["ReplicaSet", "DaemonSet"])),
            pod_object(
                f"p{number}",
                labels={"app": draw(apps)},
                nodeName=f"n{draw(st.integers(0, len(nodes) - 1))}",
                affinity=draw(st.sampled_from([{}, {}, anti_affinity(found)])),
                **cpu(draw(amounts), ports=draw(some_ports)),
            ),
        )
        for number in range(draw(st.integers(0, 4)))
    ]
    drawn = filter_scenario(
        nodes,
        pods,
        affinity=draw(st.sampled_from([{}, anti_affinity(found), pod_affinity(found)])),
        topologySpreadConstraints=draw(st.sampled_from([[], [SPREAD]])),
        **cpu(draw(amounts), ports=draw(some_ports)),
    )
    waiting = st.builds(
        lambda app, requested: pod("w", labels={"app": app}, **cpu(requested)), apps, amounts
    )
    nominated = draw(st.dictionaries(st.sampled_from(["n0", "n1"]), st.lists(waiting), max_size=1))
    return replace(drawn, cluster=nominate(drawn.cluster, **nominated))
