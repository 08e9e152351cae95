"""Corrections of ranks on a real control plane, with the rights of the chart and no others."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.api import Json
from tests.controlplane.fixtures import NewControlPlane
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.deploy.manifests import NAMESPACE, Helm
from tests.e2e.churn import ranks_by_zone
from tests.e2e.installation import NAME
from tests.e2e.ranks import (
    KEEPS_SPREAD,
    bind,
    cost_of,
    join_zones,
    pods_in,
    rank_of,
    spread_pods,
    zone_of_nodes,
)
from tests.e2e.replica import Replica
from tests.e2e.test_audit_server import RIGHTS
from tests.e2e.test_churn import REPAIRS
from tests.e2e.test_shipped import granted, requested_rights, unused
from webhook.policy.scaledown.ranks import (
    DELETION_COST,
    KEEP_SPREAD,
    SCALE_DOWN_LABEL,
    annotate_rank,
)

ZONES = {"a": 2, "b": 1}
"""The Nodes of each zone."""

NODES_AND_RANKS = (("a0", 0), ("a0", 2), ("a1", 2), ("a1", 7), ("b0", 1), ("b0", 5))
"""Where each pod is, and its rank; 0: none. In a there are a duplicate and a gap, in b a gap."""

VALUES: Json = {
    "config": {
        "profiles": [{"name": "cluster", "scaleDown": "KeepSpread", "defaultConstraints": []}],
        "scaleDownRepair": True,
    }
}


@pytest.fixture
def plane(new_control_plane: NewControlPlane, helm: Helm) -> ControlPlane:
    """
    Start a control plane without a scheduler, with the rights of the chart.

    It cannot stream lists, as before 1.32: so the right to list is needed, too.
    """
    gates = {"WatchList": False}
    plane = new_control_plane(audit=True, scheduler=False, feature_gates=gates)
    plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    for rendered in helm.objects(VALUES):
        if rendered["kind"] in RIGHTS:
            plane.api.create(rendered)
    join_zones(plane, **ZONES)
    return plane


@pytest.fixture
def replica(plane: ControlPlane, tmp_path: Path) -> Iterator[Replica]:
    account, config = plane.kubeconfig_of(NAMESPACE, NAME), KEEPS_SPREAD + REPAIRS
    with Replica(tmp_path, account, config, namespace=NAMESPACE) as started:
        yield started.wait()


def create_labelled_pods(plane: ControlPlane) -> list[Json]:
    """Create labelled pods that are bound as while no replica answers; some get a rank later."""
    namespace = plane.create_namespace()
    workload = spread_pods(len(NODES_AND_RANKS), namespace)
    workload["spec"]["template"]["metadata"]["labels"] = {
        **workload["spec"]["selector"]["matchLabels"],
        SCALE_DOWN_LABEL: KEEP_SPREAD,
    }
    plane.api.create(workload)
    wanted = len(NODES_AND_RANKS)
    until(lambda: len(pods_in(plane, namespace)) == wanted, f"{wanted} pods")
    pods = pods_in(plane, namespace)
    for pod, (node, rank) in zip(pods, NODES_AND_RANKS, strict=True):
        if rank:
            annotate(plane, pod, annotate_rank(rank))
        bind(plane, pod, node)
    return pods


def annotate(plane: ControlPlane, pod: Json, annotations: dict[str, str]) -> None:
    plane.api.merge(pod, {"metadata": {"annotations": annotations}})


def repairs(replica: Replica, reason: str) -> float:
    return replica.metric("rank_repairs_total", reason=reason)


def test_ranks_are_corrected_with_the_rights_of_the_chart(
    plane: ControlPlane, replica: Replica
) -> None:
    pods, zones = create_labelled_pods(plane), zone_of_nodes(ZONES)
    corrected = {"a": [1, 2, 3, 4], "b": [1, 2]}

    def stored() -> list[Json]:
        return [plane.api.read(pod) for pod in pods]

    until(lambda: ranks_by_zone(stored(), zones) == corrected, "the ranks to be corrected")
    assert repairs(replica, "unranked") == 1
    assert repairs(replica, "gap") + repairs(replica, "order") + repairs(replica, "duplicate") >= 2
    first = Counter(pod["spec"]["nodeName"] for pod in stored() if rank_of(pod) in (1, 2))
    assert first == {"a0": 1, "a1": 1, "b0": 2}, "one pod of each node of a zone first"

    cost = {DELETION_COST: "1000"}  # it looks like that of rank 999
    annotate(plane, pods[0], cost)

    until(lambda: repairs(replica, "contested") == 1, "the pod of another client to be reported")
    assert cost_of(plane.api.read(pods[0])) == "1000"
    needed = {right for right in granted(plane) if right.resource in ("pods", "leases")}
    assert {right.verb for right in needed} == {"list", "watch", "get", "patch", "update"}
    until(lambda: not unused(plane, needed), "the rights on pods and on the Lease to be used")
    assert {right for right, code in requested_rights(plane) if code in (401, 403)} == set()
