"""
Cost of binding a pod through kube-apiserver: alone, with a rank, and with an empty webhook.

The webhook for ranks is registered as the chart renders it. Pods of three namespaces are bound in
turn, so that what others on the machine do is the same for all.
"""

import time
from collections.abc import Mapping
from typing import NamedTuple

from tests.bench import servers
from tests.bench.bindings import CONFIGURATION
from tests.bench.live import LiveCluster
from tests.bench.load import LoadError
from tests.bench.servers import Server
from tests.cluster.objects import labelled_pod
from tests.controlplane import kubelet, webhooks
from tests.controlplane.api import Json
from tests.controlplane.waiting import until
from tests.deploy.manifests import Helm, by_name
from tests.e2e.objects import POD_SPEC
from tests.e2e.ranks import bind, cost_of, pods_in
from tests.e2e.replica import Registered
from webhook.policy.model import ZONE

A_SECOND = 50  # pods in each namespace for a second of a turn
NODE = "bench-bindings"
RANKED = {"evenspread.test/bindings": "ranked"}  # labels of namespaces
EMPTY = {"evenspread.test/bindings": "empty"}


class Bindings(NamedTuple):
    """Seconds of each binding, by turn: alone, with an empty webhook, with a rank."""

    alone: list[list[float]]
    empty: list[list[float]]
    ranked: list[list[float]]


def bind_in_turns(live: LiveCluster, turns: int, seconds: float) -> Bindings:
    """
    Bind pods of three namespaces in turn.

    Args:
        live: The cluster, which has as many objects afterwards as before.
        turns: Of each.
        seconds: Of a turn, about.

    Raises:
        LoadError: Pods have other ranks than they should.
        ToolError: Helm, which renders the chart, has not been built.
    """
    ranking, floor = live.serve(CONFIGURATION), live.serve_floor()
    api = live.plane.api
    node = kubelet.join(api, NODE, {ZONE: "zone-a"})
    namespaces = [live.plane.create_namespace(labels) for labels in ({}, EMPTY, RANKED)]
    hooks = [_webhook(floor, "/allow", EMPTY), _webhook(ranking, "/bind", RANKED)]
    with Registered(live.plane, hooks):
        pods = max(1, int(seconds * A_SECOND))
        taken = [_take_turn(live, ranking, namespaces, pods) for _ in range(turns)]
    api.delete(node)
    for server in (ranking, floor):
        server.stop()
    return Bindings(*([*turn] for turn in zip(*taken, strict=True)))


def _take_turn(
    live: LiveCluster, server: Server, namespaces: list[str], count: int
) -> list[list[float]]:
    """Bind so many pods of each namespace; seconds of each, by namespace."""
    api = live.plane.api
    pods = [[api.create(_pod(number, name)) for number in range(count)] for name in namespaces]
    until(lambda: live.cached_by(server, "Pod") == count * len(pods), "all pods in the cache")
    took: list[list[float]] = [[] for _ in namespaces]
    for group in zip(*pods, strict=True):
        for pod, times in zip(group, took, strict=True):
            begun = time.perf_counter()
            bind(live.plane, pod, NODE)
            times.append(time.perf_counter() - begun)
    _check_ranks([pods_in(live.plane, name) for name in namespaces])
    for pod in (pod for group in pods for pod in group):
        api.delete(pod)
    until(lambda: not live.cached_by(server, "Pod"), "no pod in the cache")
    return took


def _check_ranks(pods: list[list[Json]]) -> None:
    ranked = [{cost_of(pod) is not None for pod in group} for group in pods]
    if ranked != [{False}, {False}, {True}]:
        raise LoadError("other pods have ranks than those that should")


def _pod(number: int, namespace: str) -> Json:
    """Make a pod as admission labels it; its controller is no object of the cluster."""
    pod = labelled_pod(f"web-{number}", namespace=namespace, controller=f"of-{namespace}")
    del pod["status"]
    labels = {"matchLabels": pod["metadata"]["labels"]}
    (constraint,) = pod["spec"]["topologySpreadConstraints"]
    spread = [{**constraint, "maxSkew": 1, "labelSelector": labels}]
    pod["metadata"]["ownerReferences"][0]["name"] = "web"
    return {**pod, "spec": {**POD_SPEC, "topologySpreadConstraints": spread}}


def _webhook(server: Server, called: str, selected: Mapping[str, str]) -> Json:
    """Register a server for the bindings of some namespaces, as the chart registers evenspread."""
    match = {"namespaceSelector": {"matchLabels": selected}}
    profile = {"name": "cluster", "scaleDown": "KeepSpread", "match": match}
    objects = by_name(Helm.located().objects({"config": {"profiles": [profile]}}))
    rendered = objects["MutatingWebhookConfiguration/evenspread"]
    (hook,) = (hook for hook in rendered["webhooks"] if hook["name"].startswith("bind."))
    hook["clientConfig"]["service"]["path"] = called
    made = {**rendered, "metadata": {"name": called.strip("/")}, "webhooks": [hook]}
    trusted = servers.authority_of(server)
    return webhooks.by_url(made, f"https://127.0.0.1:{server.port}", trusted)
