"""Why a named workload has no pods."""

import msgspec
import pytest

from tests.cluster.scheduling.unevenshop import NODES, web_pod
from tests.policy.placement.clusters import gates
from webhook.cli.inputs.missingworkloads import explain_missing
from webhook.cli.inputs.rebalancescope import RebalanceRequest
from webhook.cluster.scheduling.planningobjects import PlanningObjects

IDLE = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "idle", "namespace": "shop"},
    "spec": {"replicas": 0},
}
BARE = web_pod("bare", "a1", namespace="tools")
BARE["metadata"].pop("ownerReferences")
REQUEST = RebalanceRequest("", (), gates())


@pytest.fixture(scope="module")
def found() -> PlanningObjects:
    listed = PlanningObjects()
    for node in NODES:
        listed.put("nodes", msgspec.json.encode(node))
    pods = (web_pod("w", "a1"), web_pod("x", "a1", app="api", namespace="other"), BARE)
    for pod in pods:
        listed.put("pods", msgspec.json.encode(pod))
    listed.put("deployments", msgspec.json.encode(IDLE))
    return listed


@pytest.mark.parametrize(
    ("name", "namespace", "problem"),
    [
        ("Deployment/web", "default", "has no pods here, but in namespace shop: add -n shop"),
        ("ReplicaSet/web-5d9c", "shop", "is a part of Deployment/web: name that"),
        ("Deployment/idle", "shop", "has no pods: is it scaled to 0?"),
        ("Deployment/nope", "shop", "has no pods: workloads with pods are Deployment/web"),
        ("Deployment/nope", "tools", "has no pods, nor has any other workload there"),
    ],
)
def test_the_reason(found: PlanningObjects, name: str, namespace: str, problem: str) -> None:
    objects = found.objects
    pods = REQUEST.read_pods(found, objects.pods or (), "")

    assert explain_missing((name,), namespace, objects, pods) == problem
