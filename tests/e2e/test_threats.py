"""Ways around the webhooks, tried by a user on a real API server; SECURITY.md lists them."""

import json
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import pytest

from tests.controlplane.api import Json
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.objects import VERSIONS, constraints, service, workload
from tests.e2e.replica import Replica

LABELS = {"app": "it"}
GOOD = {
    "maxSkew": 1,
    "topologyKey": "topology.kubernetes.io/zone",
    "whenUnsatisfiable": "ScheduleAnyway",
    "labelSelector": {"matchLabels": LABELS},
}
BAD = {**GOOD, "maxSkew": 0}
INVALID = 422
OTHER = "other"
SCALED = ("ReplicationController", "Deployment", "ReplicaSet", "StatefulSet")
"""Kinds with replicas, and with the subresource ``scale``."""


def holding(kind: str, name: str, namespace: str, constraint: Json) -> Json:
    obj = workload(kind, name, namespace, LABELS, topologySpreadConstraints=[constraint])
    if kind in SCALED:
        obj["spec"]["replicas"] = 0
    return obj


def calls(replica: Replica, kind: str, operation: str) -> float:
    """How often both hooks were called; other kinds than ours are counted as one."""
    group = VERSIONS[kind].rpartition("/")[0] if kind in VERSIONS else ""
    label = f"{kind}.{group}" if group else kind
    return sum(
        replica.metric("admission_requests_total", hook=hook, kind=label, operation=operation)
        for hook in ("mutate", "validate")
    )


@pytest.mark.parametrize("kind", VERSIONS)
def test_every_kind_is_reviewed_whatever_is_done_to_it(
    control_plane: ControlPlane, replica: Replica, hooked: str, kind: str
) -> None:
    api = control_plane.api
    bad, good = (holding(kind, "web", hooked, version) for version in (BAD, GOOD))
    before = calls(replica, kind, "CREATE")

    assert api.request("POST", api.collection_of(bad), bad).status == INVALID
    stored = api.create(good)
    assert calls(replica, kind, "CREATE") > before + 1

    if kind == "Pod":  # its constraints cannot be changed
        return
    before = calls(replica, kind, "UPDATE")
    changed = {**bad, "metadata": stored["metadata"]}
    assert api.request("PUT", api.path_of(bad), changed).status == INVALID
    assert calls(replica, kind, "UPDATE") > before  # controllers of some kinds update it too


@pytest.mark.parametrize("kind", SCALED)
def test_a_subresource_that_cannot_change_a_template_costs_no_call(
    control_plane: ControlPlane, replica: Replica, hooked: str, kind: str
) -> None:
    api = control_plane.api
    path = f"{api.path_of(api.create(holding(kind, 'scaled', hooked, GOOD)))}/scale"

    def scales_without_a_call() -> bool:
        before = [calls(replica, name, "UPDATE") for name in (kind, OTHER)]
        scale = {**api.call("GET", path), "spec": {"replicas": 0}}
        scaled = api.request("PUT", path, scale).status == HTTPStatus.OK
        return scaled and [calls(replica, name, "UPDATE") for name in (kind, OTHER)] == before

    until(scales_without_a_call, "a moment in which no controller updates the object")


def test_deletion_members_set_by_a_user_evade_nothing(
    control_plane: ControlPlane, hooked: str
) -> None:
    leaving = {
        "deletionTimestamp": "2020-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 0,
        "finalizers": ["example.com/stays"],
    }
    api = control_plane.api
    for kind in VERSIONS:
        bad = holding(kind, "leaving", hooked, BAD)
        bad["metadata"] |= leaving
        assert api.request("POST", api.collection_of(bad), bad).status == INVALID, kind
    api.create(service("it", hooked, LABELS))
    pod = workload("Pod", "leaving", hooked, LABELS)
    pod["metadata"] |= leaving

    def has_defaults() -> bool:
        stored = api.create(pod, dryRun="All")
        return [constraint["maxSkew"] for constraint in constraints(stored)] == [3, 5]

    until(has_defaults, "the Service to be known")


def test_the_label_that_exempts_a_namespace_cannot_be_changed(
    control_plane: ControlPlane, hooked: str
) -> None:
    namespace: Json = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": hooked}}
    label = "kubernetes.io/metadata.name"

    control_plane.api.request(
        "PATCH",
        control_plane.api.path_of(namespace),
        {"metadata": {"labels": {label: "kube-system"}}},
        content_type="application/merge-patch+json",
    )

    assert control_plane.api.read(namespace)["metadata"]["labels"][label] == hooked
    bad = holding("Pod", "renamed", hooked, BAD)
    assert (
        control_plane.api.request("POST", control_plane.api.collection_of(bad), bad).status
        == INVALID
    )


CANARY = "canary-7f3a9c"


def secretive(kind: str, name: str, namespace: str, constraint: Json) -> Json:
    """An object with the canary wherever a secret may stand."""
    obj = holding(kind, name, namespace, constraint)
    obj["metadata"]["annotations"] = {"example.com/token": CANARY}
    container: Json = {
        "name": "main",
        "image": f"registry.example.com/{CANARY}",
        "args": [f"--password={CANARY}"],
        "env": [{"name": "PASSWORD", "value": CANARY}],
    }
    for spec in pod_specs(obj):
        spec["containers"] = [container]
    return obj


def pod_specs(value: Any) -> Iterator[Json]:
    """Yield every object that has containers."""
    if isinstance(value, dict):
        if "containers" in value:
            yield value
        for held in value.values():
            yield from pod_specs(held)


def test_no_secret_of_an_object_is_repeated(
    control_plane: ControlPlane, replica: Replica, hooked: str
) -> None:
    api, texts = control_plane.api, []
    for kind in VERSIONS:
        for name, constraint in (("good", GOOD), ("bad", BAD)):
            obj = secretive(kind, name, hooked, constraint)
            reply = api.request("POST", api.collection_of(obj), obj)
            texts += [*reply.warnings, *([json.dumps(reply.body)] if name == "bad" else [])]
    events = [event for event in api.items("v1", "Event") if "evenspread" in str(event)]

    pages = [replica.page(path) for path in ("/metrics", "/readyz?verbose=1")]
    for text in (*texts, *pages, json.dumps(events), replica.log.read_text()):
        assert CANARY not in text
