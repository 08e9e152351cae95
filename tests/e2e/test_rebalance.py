"""``evenspread rebalance --apply`` on a real control plane: what is evicted, and what is left."""

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

from tests.controlplane.api import Json
from tests.controlplane.assets import Assets
from tests.controlplane.fixtures import run_plane
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.objects import rounds
from tests.e2e.ranks import join_zones, pods_in, zone_of_nodes
from tests.e2e.uneven import (
    Kubelets,
    UnevenWorkload,
    create_uneven,
    draw_workload,
    is_uneven,
    pods_of,
)
from webhook.__main__ import main

ZONES = {"a": 3, "b": 2, "c": 1}
"""The Nodes of each zone."""

RUNS = rounds(3, 50)
UNEVEN = UnevenWorkload("web", ["a0"] * 5 + ["b0", "c0"])


@pytest.fixture(scope="module")
def plane(control_plane_assets: Assets, request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """Start one control plane for all these tests; its Nodes belong to them."""
    with run_plane(ControlPlane(control_plane_assets), request.config) as started:
        join_zones(started, **ZONES)
        yield started


@pytest.fixture
def namespace(plane: ControlPlane) -> Iterator[str]:
    """Create a namespace, and delete its workloads at the end, since pods take room."""
    name = plane.create_namespace()
    yield name
    plane.kubectl("delete", "deployments", "--all", "-n", name)
    until(lambda: not pods_in(plane, name), "the pods to be gone")


def command(plane: ControlPlane, namespace: str, *arguments: str) -> list[str]:
    kubeconfig = str(plane.apiserver.kubeconfig)
    return ["rebalance", "--kubeconfig", kubeconfig, "-n", namespace, *arguments]


def run_json(capsys: pytest.CaptureFixture[str], arguments: list[str], expected: int = 0) -> Json:
    """Run a command, and return its document."""
    capsys.readouterr()
    code = main([*arguments, "-o", "json"])
    out, err = capsys.readouterr()
    assert code == expected, err
    document: Json = json.loads(out)
    return document


def uids(plane: ControlPlane, namespace: str) -> set[str]:
    return {pod["metadata"]["uid"] for pod in pods_in(plane, namespace)}


@pytest.mark.parametrize("seed", range(RUNS))
def test_workloads_end_within_max_skew(
    plane: ControlPlane, namespace: str, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    random = Random(seed)
    nodes = list(zone_of_nodes(ZONES))
    workloads = [draw_workload(random, f"w{number}", nodes) for number in range(3)]
    create_uneven(plane, namespace, *workloads)
    before = uids(plane, namespace)
    planned = run_json(capsys, command(plane, namespace))

    with Kubelets(plane, namespace) as kubelets:
        done = run_json(capsys, command(plane, namespace, "--apply", "--yes"))

    assert done["stopped"] is None
    assert len(done["evicted"]) <= len(planned["evictions"])
    assert len(before - uids(plane, namespace)) == len(done["evicted"])
    for one in workloads:
        assert len(pods_of(plane, namespace, one.name)) == len(one.nodes)
        assert not is_uneven(plane, namespace, one, nodes), one
        if one.unavailable is not None:
            least = len(one.nodes) - one.unavailable
            assert kubelets.fewest_ready.get(one.name, least) >= least


def test_a_refused_eviction_stops_it(
    plane: ControlPlane, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second budget, which the user may not list, allows no disruption."""
    create_uneven(plane, namespace, UNEVEN)
    budget: Json = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "none", "namespace": namespace},
        "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "web"}}},
    }
    plane.api.create(budget)
    until(lambda: "observedGeneration" in plane.api.read(budget).get("status", {}), "the budget")
    before = uids(plane, namespace)
    arguments = command(plane, namespace, "--apply", "--yes")
    arguments[arguments.index("--kubeconfig") + 1] = str(blind_user(plane, namespace))

    done = run_json(capsys, arguments, expected=3)

    assert (done["stopped"], done["evicted"]) == ("an eviction is refused", [])
    assert "429" in done["detail"]
    assert uids(plane, namespace) == before


def blind_user(plane: ControlPlane, namespace: str) -> object:
    """A user who may list nodes and pods, and evict, but not list budgets."""
    role: Json = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": f"blind-{namespace}"},
        "rules": [
            {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["list"]},
            {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]},
        ],
    }
    binding: Json = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"blind-{namespace}"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": f"blind-{namespace}",
        },
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": namespace}],
    }
    plane.api.create(role)
    plane.api.create(binding)
    return plane.kubeconfig_of(namespace, "default")


def test_a_replacement_that_is_not_ready_stops_it(
    plane: ControlPlane, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    create_uneven(plane, namespace, UNEVEN)

    done = run_json(
        capsys, command(plane, namespace, "--apply", "--yes", "--timeout", "3s"), expected=3
    )

    assert done["stopped"] == "a replacement is not ready in time"
    assert done["evicted"] == []
    assert len(pods_of(plane, namespace, "web")) == len(UNEVEN.nodes)


def test_a_rollout_is_not_disturbed(
    plane: ControlPlane, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its three new pods have nodes, and no kubelet runs them: six old pods are left."""
    create_uneven(plane, namespace, UNEVEN)
    plane.kubectl("rollout", "restart", "deployment/web", "-n", namespace)
    until(lambda: _count_placed(plane, namespace) == [3, 6], "the new pods to be placed")
    before = uids(plane, namespace)

    planned = run_json(capsys, command(plane, namespace))
    done = run_json(capsys, command(plane, namespace, "--apply", "--yes"), expected=3)

    assert planned["evictions"]
    assert (done["stopped"], done["evicted"]) == ("a rollout is running", [])
    assert f"kubectl rollout status deployment/web -n {namespace}" in done["detail"]
    assert {pod["metadata"]["uid"] for pod in pods_of(plane, namespace, "web")} <= before
    assert _count_placed(plane, namespace) == [3, 6]


def _count_placed(plane: ControlPlane, namespace: str) -> list[int]:
    """Count the pods with a node of each revision; the numbers are sorted."""
    pods = [pod for pod in pods_of(plane, namespace, "web") if pod["spec"].get("nodeName")]
    revisions = Counter(pod["metadata"]["labels"]["pod-template-hash"] for pod in pods)
    return sorted(revisions.values())


def test_ctrl_c_stops_it(plane: ControlPlane, namespace: str) -> None:
    """It waits for a replacement that no kubelet runs."""
    create_uneven(plane, namespace, UNEVEN)
    before = uids(plane, namespace)
    arguments = command(plane, namespace, "--apply", "--yes")
    with subprocess.Popen(
        [sys.executable, "-m", "webhook", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        until(lambda: before - uids(plane, namespace), "the first eviction")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)

    assert process.returncode == 130
    assert err.strip() == "stopped after 1 eviction with 0 replacements ready: plan again"
    assert len(before - uids(plane, namespace)) == 1
