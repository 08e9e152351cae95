import pytest

from tests.apiserver import ApiServer
from tests.cli.evictions import EvictingServer
from tests.cluster.scheduling.unevenshop import NODES, uneven_pods, web_pod
from tests.policy.placement.clusters import gates
from webhook.cli.inputs.livescope import LiveScope
from webhook.cli.inputs.rebalancescope import RebalanceRequest
from webhook.errors import ApiError, ConfigError

REQUEST = RebalanceRequest("shop", (), gates())
REPLICA_SET = {
    "apiVersion": "apps/v1",
    "kind": "ReplicaSet",
    "metadata": {
        "name": "web-5d9c",
        "namespace": "shop",
        "ownerReferences": [{"kind": "Rollout", "name": "web", "controller": True}],
    },
}


def new_server() -> ApiServer:
    return ApiServer(*NODES, *uneven_pods(), REPLICA_SET)


async def test_each_plan_reads_the_cluster_again() -> None:
    server = new_server()
    evicting = EvictingServer(server, "c1")
    scope = LiveScope(server, REQUEST)

    planned = await scope.plan()
    assert [step.pod for step in planned.plan.steps] == ["web-0"]
    (pod,) = (one for one in planned.pods if one.pod.name == "web-0")
    assert await scope.evict(pod)

    assert evicting.evicted == ["web-0"]
    assert (await scope.plan()).plan.steps == ()


async def test_the_pods_of_a_namespace_have_the_workloads_of_the_last_plan() -> None:
    server = new_server()
    scope = LiveScope(server, REQUEST)
    await scope.plan()
    server.add(web_pod("web-9", "b1"), web_pod("x", "b1", namespace="other"))

    pods = await scope.read_pods("shop")

    assert [one.pod.name for one in pods] == [*(f"web-{number}" for number in range(5)), "web-9"]
    assert {one.workload for one in pods} == {"Rollout/web"}


async def test_the_namespace_must_exist() -> None:
    server = new_server()
    scope = LiveScope(server, RebalanceRequest("sop", (), gates()))
    assert (await scope.plan()).pods == ()  # no Namespace can be listed, so that any may exist

    server.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    with pytest.raises(ConfigError, match="there is no namespace 'sop'"):
        await scope.plan()


async def test_a_refusal_is_an_error() -> None:
    server = new_server()
    EvictingServer(server).refuses = True
    scope = LiveScope(server, REQUEST)
    (one, *_) = (await scope.plan()).pods

    with pytest.raises(ApiError, match="forbidden"):
        await scope.evict(one)
