"""
``policy diff`` against the real control plane: what it predicts happens after the change.

Workloads without pods are compared while one policy is in force. Then the proposed ones are
applied, and the workloads are scaled up. Their pods are created by the real controllers, changed by
the server, and placed by the real kube-scheduler.
"""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
import yaml

from tests.controlplane import kubelet
from tests.controlplane.api import Json
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.objects import constraints, workload
from tests.e2e.replica import Registered, Replica, by_url
from tests.e2e.spreadpolicies import SOFT, defined, spread_policy
from webhook.__main__ import main

CONFIG = "apiVersion: evenspread.io/v1alpha1\nkind: SpreadConfiguration\n"
HOOKED = {"evenspread.test/policies": "diff"}
ZONE = "topology.kubernetes.io/zone"
HARD = {
    "maxSkew": 1,
    "topologyKey": ZONE,
    "whenUnsatisfiable": "DoNotSchedule",
}
RACKS = {**HARD, "topologyKey": "rack"}  # no node has this label
PREFIX = "evenspread.io/"


def for_team(name: str, **spec: Any) -> Json:
    """A policy for the pods of the team of its name."""
    match = {"objectSelector": {"matchLabels": {"team": name}}}
    return spread_policy(name, match=match, **spec)


IN_FORCE = spread_policy("others", order=10)
PROPOSED = (
    for_team("zones", defaultConstraints=[HARD, {**SOFT, "maxSkew": 4}]),
    for_team("racks", defaultConstraints=[RACKS]),
    for_team("strict", defaultConstraints=[], rules={"TSC101": {"action": "deny"}}),
)

# kind, name, team
WORKLOADS = (
    ("Deployment", "web", "zones"),
    ("StatefulSet", "db", "zones"),
    ("ReplicaSet", "bare", "none"),
    ("Deployment", "racked", "racks"),
    ("ReplicationController", "old", "zones"),
)
UNCHANGED = {"bare"}


def make(kind: str, name: str, team: str, namespace: str) -> Json:
    obj = workload(kind, name, namespace, {"app": name, "team": team})
    obj["spec"]["replicas"] = 0
    return obj


def odd_one(namespace: str) -> Json:
    """A Deployment whose constraint does not count its own pods."""
    own = {**HARD, "labelSelector": {"matchLabels": {"app": "other"}}}
    labels = {"app": "odd", "team": "strict"}
    obj = workload("Deployment", "odd", namespace, labels, topologySpreadConstraints=[own])
    obj["spec"]["replicas"] = 0
    return obj


@pytest.fixture(scope="module")
def namespace(control_plane: ControlPlane) -> Iterator[str]:
    """A namespace with the workloads, and nodes of two zones."""
    api = control_plane.api
    made = control_plane.create_namespace(HOOKED)
    nodes = [kubelet.join(api, f"diff-{zone}", {ZONE: zone}) for zone in "ab"]
    for row in WORKLOADS:
        api.create(make(*row, made))
    api.create(odd_one(made))
    yield made
    for node in nodes:
        api.delete(node)


@pytest.fixture(scope="module")
def replica(
    control_plane: ControlPlane, namespace: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Replica]:
    """A server with the policy in force."""
    folder, kubeconfig = tmp_path_factory.mktemp("diff"), control_plane.apiserver.kubeconfig
    with defined(control_plane):
        control_plane.api.create(IN_FORCE)
        with (
            Replica(folder, kubeconfig, CONFIG, namespace=namespace) as started,
            Registered(control_plane, by_url(started.wait(), "diff", HOOKED)),
        ):
            yield started


@pytest.fixture(scope="module")
def predicted(
    control_plane: ControlPlane, replica: Replica, namespace: str
) -> tuple[int, dict[str, Json]]:
    """The exit code, and the changes by the names of the workloads."""
    file, output = replica.folder / "new.yaml", replica.folder / "diff.json"
    file.write_text(yaml.safe_dump_all(PROPOSED))
    arguments = ["policy", "diff", "-f", str(file), "--config", str(replica.config)]
    kubeconfig = str(control_plane.apiserver.kubeconfig)
    with pytest.MonkeyPatch.context() as patch, output.open("w") as stream:
        patch.setattr("sys.stdout", stream)
        code = main([*arguments, "--kubeconfig", kubeconfig, "-n", namespace, "-o", "json"])
    found = json.loads(output.read_text())
    return code, {row["name"]: row for row in found["workloads"]}


@pytest.fixture(scope="module")
def applied(
    control_plane: ControlPlane,
    replica: Replica,
    namespace: str,
    predicted: tuple[int, dict[str, Json]],
) -> None:
    """The proposed policies in force, and the workloads with one pod each."""
    del predicted  # it was made before
    for policy in PROPOSED:
        control_plane.api.create(policy)
    names = sorted([*(one["metadata"]["name"] for one in PROPOSED), "others"])
    until(partial(are_in_force, replica, names), "the policies to be in force")
    for row in WORKLOADS:
        control_plane.api.merge(make(*row, namespace), {"spec": {"replicas": 1}})


def are_in_force(replica: Replica, names: list[str]) -> bool:
    lines = [line["profiles"] for line in replica.lines if line["event"] == "policies"]
    return bool(lines) and sorted(lines[-1].split(", ")) == names


def pod_of(plane: ControlPlane, namespace: str, name: str) -> Json:
    """The pod of a workload, once its controller has created it."""
    query = {"labelSelector": f"app={name}"}
    until(lambda: bool(plane.api.items("v1", "Pod", namespace, **query)), f"the pod of {name}")
    (pod,) = plane.api.items("v1", "Pod", namespace, **query)
    return pod


def own(pairs: Json | None) -> Json:
    return {key: value for key, value in (pairs or {}).items() if key.startswith(PREFIX)}


def test_the_workloads_are_those_that_change(predicted: tuple[int, dict[str, Json]]) -> None:
    code, changes = predicted

    assert code == 1
    assert changes.keys() == {name for _, name, _ in WORKLOADS} - UNCHANGED | {"odd"}
    marks = {name: row["becomes"] for name, row in changes.items()}
    assert {name for name, mark in marks.items() if mark["pending"]} == {"racked"}
    assert {name for name, mark in marks.items() if mark["denied"]} == {"odd"}


@pytest.mark.usefixtures("applied")
@pytest.mark.parametrize("name", [name for _, name, _ in WORKLOADS if name not in UNCHANGED])
def test_new_pods_are_as_predicted(
    control_plane: ControlPlane,
    namespace: str,
    predicted: tuple[int, dict[str, Json]],
    name: str,
) -> None:
    after = predicted[1][name]["after"]["pod"]

    pod = pod_of(control_plane, namespace, name)

    assert constraints(pod) == after["constraints"]
    assert own(pod["metadata"].get("annotations")) == after["annotations"]
    assert own(pod["metadata"]["labels"]) == after["labels"]


@pytest.mark.usefixtures("applied")
def test_a_pod_that_does_not_change_is_as_before(
    control_plane: ControlPlane, namespace: str
) -> None:
    (name,) = UNCHANGED

    (constraint,) = constraints(pod_of(control_plane, namespace, name))

    assert constraint["maxSkew"] == SOFT["maxSkew"]


@pytest.mark.usefixtures("applied")
def test_the_pod_stays_pending_for_the_predicted_reason(
    control_plane: ControlPlane, namespace: str, predicted: tuple[int, dict[str, Json]]
) -> None:
    pod = pod_of(control_plane, namespace, "racked")
    reason = predicted[1]["racked"]["after"]["failedScheduling"]

    def find_message() -> str:
        conditions = control_plane.api.read(pod).get("status", {}).get("conditions", ())
        return "".join(one.get("message", "") for one in conditions)

    until(lambda: bool(find_message()), "the scheduler to have tried the pod")
    assert find_message().startswith(reason)


@pytest.mark.usefixtures("applied")
def test_other_pods_find_a_node(
    control_plane: ControlPlane, namespace: str, predicted: tuple[int, dict[str, Json]]
) -> None:
    pod = pod_of(control_plane, namespace, "web")

    assert predicted[1]["web"]["after"]["failedScheduling"] == ""
    until(lambda: "nodeName" in control_plane.api.read(pod)["spec"], "a node for the pod")


@pytest.mark.usefixtures("applied")
def test_the_workload_is_denied_for_the_predicted_rule(
    control_plane: ControlPlane, namespace: str, predicted: tuple[int, dict[str, Json]]
) -> None:
    obj = odd_one(namespace)
    obj["metadata"]["name"] = "odd-again"

    reply = control_plane.api.request(
        "POST", control_plane.api.collection_of(obj), obj, query={"dryRun": "All"}
    )

    (refusal,) = predicted[1]["odd"]["after"]["denied"]
    assert reply.status == 422
    assert refusal["message"] in reply.body["message"]
    assert {(one["before"], one["after"]) for one in predicted[1]["odd"]["findings"]} == {
        ("warn", "deny")
    }
