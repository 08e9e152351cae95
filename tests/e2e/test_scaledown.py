"""Ranks at binding on a real control plane: what is stored, and which pods a scale-down leaves."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.api import Json
from tests.controlplane.assets import Assets
from tests.controlplane.fixtures import run_plane
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.objects import rounds
from tests.e2e.ranks import (
    annotations_of,
    bind,
    cost_of,
    count_by_zone,
    join_zones,
    pods_in,
    rank_of,
    ranking,
    settle,
    spread_pods,
    zone_of_nodes,
)
from tests.e2e.replica import MARK, Replica
from tests.e2e.spreadpolicies import defined, spread_policy
from webhook.__main__ import main
from webhook.policy.model import ZONE
from webhook.policy.scaledown.ranks import (
    DELETION_COST,
    RANK_ANNOTATION,
    SCALE_DOWN_LABEL,
    annotate_rank,
)

ZONES = {"a": 8, "b": 3, "c": 1}
"""The Nodes of each zone."""

RUNS = rounds(1, 20)

NO_PROFILES = "apiVersion: evenspread.io/v1alpha1\nkind: SpreadConfiguration\n"


@pytest.fixture(scope="module")
def plane(control_plane_assets: Assets, request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """Start one control plane for all these tests; its Nodes belong to them."""
    with run_plane(ControlPlane(control_plane_assets), request.config) as started:
        join_zones(started, **ZONES)
        yield started


def test_pods_get_ranks_by_a_spread_policy_alone(plane: ControlPlane, tmp_path: Path) -> None:
    """Before the other tests: their server is called for the same namespaces."""
    keeping = spread_policy("keeping", scaleDown="KeepSpread", defaultConstraints=[])
    namespace = plane.create_namespace(MARK)
    workload = spread_pods(6, namespace)

    with defined(plane):
        plane.api.create(keeping)
        with ranking(plane, tmp_path, NO_PROFILES):
            plane.api.create(workload)
            settle(plane, workload, 6)
            ranks = sorted(map(rank_of, pods_in(plane, namespace)))
            plane.api.merge(workload, {"spec": {"replicas": 3}})
            settle(plane, workload, 3)
            left = count_by_zone(pods_in(plane, namespace), zone_of_nodes(ZONES))

    assert ranks == [1, 1, 1, 2, 2, 2]
    assert left == dict.fromkeys(ZONES, 1)
    plane.api.delete(workload)


@pytest.fixture(scope="module")
def replica(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replica]:
    with ranking(plane, tmp_path_factory.mktemp("replica")) as started:
        yield started


def cached(replica: Replica, pods: int) -> bool:
    return replica.metric("cache_objects", kind="Pod") == pods


def test_the_api_server_copies_the_rank_of_a_binding_to_the_pod(
    plane: ControlPlane, replica: Replica
) -> None:
    namespace = plane.create_namespace(MARK)
    workload = spread_pods(4, namespace, nodeSelector={"none": "has-it"})  # the test is scheduler
    plane.api.create(workload)
    until(lambda: cached(replica, 4), "four pods in the cache")
    pods = pods_in(plane, namespace)
    bind(plane, pods[0], "a0", dryRun="All")
    for pod, node in zip(pods, ("a0", "a1", "b0", "a0"), strict=True):
        bind(plane, pod, node)

    bound = [rank_of(plane.api.read(pod)) for pod in pods]
    assert bound == [1, 2, 1, 3]
    assert cost_of(plane.api.read(pods[3])) == "997000"
    for before, after in zip(pods, map(plane.api.read, pods), strict=True):
        assert annotations_of(after) == annotations_of(before) | annotate_rank(rank_of(after))
        added = after["metadata"]["labels"].items() - before["metadata"]["labels"].items()
        assert {key for key, _ in added} <= {ZONE}, "the API server adds the zone"
    assert replica.metric("bindings_total", result="ranked") == 4
    assert replica.metric("bindings_total", result="dry-run") == 1

    plane.api.delete(pods[1])
    fresh = until(lambda: unbound(plane, namespace), "another pod")
    until(lambda: cached(replica, 4), "its cache")
    bind(plane, fresh, "a1")

    assert rank_of(plane.api.read(fresh)) == 2, "the rank of the deleted pod"
    plane.api.delete(workload)
    until(lambda: cached(replica, 0), "the pods to be gone")


def unbound(plane: ControlPlane, namespace: str) -> Json | None:
    pods = (pod for pod in pods_in(plane, namespace) if not pod["spec"].get("nodeName"))
    return next(pods, None)


def test_a_command_removes_ranks_and_keeps_other_costs(
    plane: ControlPlane, replica: Replica, capsys: pytest.CaptureFixture[str]
) -> None:
    namespace = plane.create_namespace(MARK)
    workload = spread_pods(4, namespace)
    plane.api.create(workload)
    settle(plane, workload, 4)
    before = pods_in(plane, namespace)
    assert len(set(map(cost_of, before))) > 1
    costs = ["7", "1000", None, None]  # the second looks like that of rank 999
    for pod, cost in zip(before, costs[:2], strict=False):
        plane.api.merge(pod, {"metadata": {"annotations": {DELETION_COST: cost}}})

    kubeconfig = str(plane.apiserver.kubeconfig)
    arguments = ("scaledown", "--remove", "--kubeconfig", kubeconfig, "-n", namespace, "-o", "json")
    assert main(arguments) == 0

    document = json.loads(capsys.readouterr().out)
    assert (document["labels"], document["ranks"], document["keptCosts"]) == (4, 2, 2)
    after = {pod["metadata"]["uid"]: pod for pod in pods_in(plane, namespace)}
    assert [cost_of(after[pod["metadata"]["uid"]]) for pod in before] == costs
    assert not any(RANK_ANNOTATION in annotations_of(pod) for pod in after.values())
    assert not any(SCALE_DOWN_LABEL in pod["metadata"]["labels"] for pod in after.values())
    until(lambda: cached(replica, 0), "the cache to forget the pods")
    plane.api.delete(workload)


def scale_down(plane: ControlPlane) -> list[dict[str, int]]:
    """Scale 24 pods down to 12, 6 and 3, and count the pods by zone after each step."""
    namespace, zones = plane.create_namespace(MARK), zone_of_nodes(ZONES)
    workload = spread_pods(24, namespace)
    plane.api.create(workload)
    settle(plane, workload, 24)
    counts = [count_by_zone(pods_in(plane, namespace), zones)]
    for replicas in (12, 6, 3):
        plane.api.merge(workload, {"spec": {"replicas": replicas}})
        settle(plane, workload, replicas)
        counts.append(count_by_zone(pods_in(plane, namespace), zones))
    plane.api.delete(workload)
    return counts


@pytest.mark.parametrize("run", range(RUNS))
def test_a_scale_down_keeps_pods_even_over_zones_of_different_sizes(
    plane: ControlPlane, replica: Replica, run: int
) -> None:
    before = replica.metric("bindings_total", result="ranked")

    counts = scale_down(plane)

    assert counts == [dict.fromkeys(ZONES, number) for number in (8, 4, 2, 1)], run
    assert replica.metric("bindings_total", result="ranked") == before + 24
