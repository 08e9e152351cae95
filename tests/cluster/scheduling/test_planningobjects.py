"""The objects of files and of API servers that a plan reads."""

import msgspec
import pytest

from tests.apiserver import ApiServer, refuse
from tests.cluster.scheduling.unevenshop import NODES, budget, node, uneven_pods, web_pod
from webhook.cluster.protocol import FailureReason
from webhook.cluster.scheduling.planningobjects import (
    PLANNING_KINDS,
    PlanningObjects,
    list_planning_objects,
)
from webhook.errors import ApiError
from webhook.manifests import Document
from webhook.manifests.positions import DocumentText

EVERY_POD = "/api/v1/pods"
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"selector": {"app": "web"}},
}


def document(value: object) -> Document:
    return Document("x.yaml", value, DocumentText("{}", 1, 0))


def names(found: PlanningObjects) -> list[str]:
    return [pod.metadata.name for pod in found.objects.pods or () if pod.metadata]


def test_the_plurals_of_kinds_are_those_of_the_api() -> None:
    plurals = [row.plural for row in PLANNING_KINDS.values()]

    assert plurals[-4:-1] == ["csidrivers", "csistoragecapacities", "volumeattachments"]


def test_a_later_object_replaces_an_earlier_one() -> None:
    found = PlanningObjects()
    for name in ("a1", "b1"):
        found.put_document(document(web_pod("web-0", name)), "default")
    unnamed = web_pod("web-1", "a1")
    del unnamed["metadata"]["namespace"]
    found.put_document(document(unnamed), "default")

    specs = [pod.spec for pod in found.objects.pods or ()]
    assert [spec and spec.node_name for spec in specs] == ["a1", "b1"]
    assert found.namespaces == {"shop", "default"}


def test_other_kinds_are_ignored_and_type_errors_reported() -> None:
    found = PlanningObjects()
    wrong = budget() | {"spec": {"minAvailable": []}}

    assert found.put_document(document({"apiVersion": "v1", "kind": "Secret"}), "") is None
    error = found.put_document(document(wrong), "")
    assert str(error).startswith("x.yaml:1: PodDisruptionBudget/web: spec.minAvailable: ")
    assert not found.objects.pod_disruption_budgets


def test_services_are_facts() -> None:
    found = PlanningObjects()
    found.put_document(document(SERVICE), "default")

    assert [service.name for service in found.facts.services("shop", {"app": "web"})] == ["web"]


async def test_a_live_cluster_is_listed_once() -> None:
    server = ApiServer(*NODES, *uneven_pods(), budget(maxUnavailable=1), SERVICE)
    server.page_size = 2
    progress: dict[str, int] = {}

    found = await list_planning_objects(server, report=progress.__setitem__)

    assert names(found) == [f"web-{number}" for number in range(5)]
    assert len(found.objects.pod_disruption_budgets or ()) == 1
    assert progress["Pod"] == 5
    assert found.unknown == []  # kinds that the API server lacks have no objects


async def test_pods_of_other_namespaces_take_room() -> None:
    server = ApiServer(*NODES, web_pod("web-0", "a1"), web_pod("x", "a1", namespace="other"))

    found = await list_planning_objects(server, "shop")

    assert names(found) == ["x", "web-0"]
    assert "/apis/policy/v1/namespaces/shop/poddisruptionbudgets" in server.paths


async def test_without_the_right_to_list_other_namespaces_they_are_unknown() -> None:
    server = ApiServer(*NODES, web_pod("web-0", "a1"), web_pod("x", "a1", namespace="other"))
    server.answers[f"GET {EVERY_POD}"] = refuse("no")

    found = await list_planning_objects(server, "shop")

    assert names(found) == ["web-0"]
    assert list(map(str, found.unknown)) == ["Pods: answered 403: no"]


async def test_optional_kinds_may_be_forbidden() -> None:
    server = ApiServer(*NODES)
    path = "/apis/policy/v1/namespaces/shop/poddisruptionbudgets"
    server.answers[f"GET {path}"] = refuse("no")

    found = await list_planning_objects(server, "shop")

    assert list(map(str, found.unknown)) == [
        "PodDisruptionBudgets in namespace shop: answered 403: no"
    ]


@pytest.mark.parametrize("path", ["/api/v1/nodes", EVERY_POD])
@pytest.mark.parametrize("status", [403, 500])
async def test_nodes_and_pods_are_required(path: str, status: int) -> None:
    server = ApiServer(*NODES)
    server.answers[f"GET {path}"] = refuse("no", status)

    with pytest.raises(ApiError) as caught:
        await list_planning_objects(server)

    assert caught.value.status == status


async def test_an_expired_list_is_read_again() -> None:
    server = ApiServer(*NODES)
    server.script("/api/v1/nodes", refuse("gone", 410))

    assert len((await list_planning_objects(server)).objects.nodes or ()) == 3

    server.script("/api/v1/nodes", *[refuse("gone", 410)] * 3)
    with pytest.raises(ApiError) as caught:
        await list_planning_objects(server)
    assert caught.value.reason == FailureReason.EXPIRED


async def test_an_object_that_cannot_be_read_is_unknown() -> None:
    wrong = web_pod("web-0", "a1") | {"spec": {"nodeName": 1}}
    server = ApiServer(*NODES, wrong, web_pod("web-1", "a1"))

    found = await list_planning_objects(server)

    assert names(found) == ["web-1"]
    (problem,) = map(str, found.unknown)
    assert problem.startswith("Pod: cannot be read: Expected `str | null`, got `int`")


def test_no_two_kinds_are_read_into_one_field() -> None:
    decoded = msgspec.json.decode(msgspec.json.encode(node("a1")))
    found = PlanningObjects()
    found.put("nodes", msgspec.json.encode(decoded))

    assert [one.name for one in found.objects.nodes or ()] == ["a1"]
