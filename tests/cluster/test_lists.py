import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.apiserver import ApiServer, Json, page
from tests.build import service
from webhook.cluster.discovery import ResourcePath
from webhook.cluster.facts import Cluster
from webhook.cluster.lists import (
    PageReader,
    fill_exceptions,
    fill_once,
    list_objects,
    list_pages,
    read_object,
)
from webhook.cluster.protocol import METADATA_LIST, Response
from webhook.errors import ApiError, SourceError

PODS = ResourcePath("/api/v1", "pods")

NODE = {"kind": "Node", "metadata": {"name": "n1", "labels": {"zone": "a"}}}
NAMESPACE = {"kind": "Namespace", "metadata": {"name": "shop", "labels": {"team": "x"}}}
BROKEN = {**service("odd"), "spec": {"selector": ["app"]}}


async def test_only_objects_that_matter_to_a_namespace_are_listed() -> None:
    server, cluster = ApiServer(NODE, NAMESPACE, service("web", "web"), BROKEN), Cluster()

    await fill_once(server, cluster, ["shop"])

    assert [node.name for node in cluster.node_store] == ["n1"]
    assert [service.name for service in cluster.services("shop", {"app": "web"})] == ["web"]
    assert cluster.namespace_labels("shop") == {"team": "x"}
    assert set(server.paths) == {
        "/api/v1/namespaces/shop",
        "/api/v1/nodes",
        "/api/v1/namespaces/shop/services",
        "/api/v1/namespaces/shop/replicationcontrollers",
        "/apis/apps/v1/namespaces/shop/replicasets",
        "/apis/apps/v1/namespaces/shop/statefulsets",
        "/apis",
    }


async def test_all_namespaces_are_one_list_of_each_kind() -> None:
    far = {**service("far", "web"), "metadata": {"name": "far", "namespace": "ops"}}
    server, cluster = ApiServer(NODE, NAMESPACE, service("web", "web"), far), Cluster()

    await fill_once(server, cluster, [""])

    for namespace, name in (("shop", "web"), ("ops", "far")):
        found = cluster.services(namespace, {"app": "web"})
        assert [service.name for service in found] == [name]
    assert cluster.namespace_labels("shop") == {"team": "x"}
    assert {"/api/v1/namespaces", "/api/v1/services"} <= set(server.paths)


async def test_an_object_that_is_no_utf8_is_left_out() -> None:
    items = b'{"metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"\xff"}}]}'
    server, cluster = ApiServer(answers={"GET /api/v1/nodes": Response(200, items)}), Cluster()
    server.otherwise = Response(404)

    with pytest.raises(ApiError, match="404"):
        await fill_once(server, cluster, ["shop"])

    assert "/api/v1/nodes" in server.paths
    assert len(cluster.node_store) == 0


async def test_a_namespace_that_does_not_exist_is_unknown() -> None:
    cluster = Cluster()

    await fill_once(ApiServer(NODE), cluster, ["shop"])

    assert cluster.namespace_labels("shop") is None


async def test_a_kind_that_cannot_be_listed_is_an_error() -> None:
    with pytest.raises(ApiError, match="404"):
        await fill_once(ApiServer(otherwise=Response(404)), Cluster(), ["shop"])


async def test_objects_of_a_kind_in_a_namespace() -> None:
    web = {"kind": "Pod", "metadata": {"name": "web-1", "namespace": "shop"}}
    other = {"kind": "Pod", "metadata": {"name": "web-1", "namespace": "zoo"}}

    (item,) = [item async for item in list_objects(ApiServer(web, other), PODS, "shop")]

    assert json.loads(item)["metadata"]["namespace"] == "shop"


async def test_an_object_that_is_not_there() -> None:
    assert await read_object(ApiServer(), PODS, "shop", "web-1") is None


async def test_an_object_that_cannot_be_read_is_an_error() -> None:
    server = ApiServer(otherwise=Response(403))

    with pytest.raises(ApiError, match="answered 403"):
        await read_object(server, PODS, "shop", "web-1")


async def test_all_pages_of_a_list_are_read() -> None:
    server = ApiServer()
    server.script("/api/v1/pods", page(service("a"), rest="x"), page(service("b")))

    assert [json.loads(item)["metadata"]["name"] async for item in list_objects(server, PODS)] == [
        "a",
        "b",
    ]
    assert [query.get("continue") for query in server.queries("/api/v1/pods")] == [None, "x"]


BOUND = 10_000  # bytes of an answer
SERVICES = "/api/v1/services"


def sized(*sizes: int) -> ApiServer:
    """Build a server with a Service of each of these sizes, whose answers have a bound."""
    server = ApiServer(
        *({**service(f"s{i:03}"), "status": "x" * size} for i, size in enumerate(sizes))
    )
    server.max_body = BOUND
    return server


async def names(server: ApiServer, problems: list[SourceError] | None) -> list[str]:
    pages = list_pages(server, SERVICES, problems=problems)
    return [json.loads(bytes(item))["metadata"]["name"] async for page in pages for item in page]


@given(sizes=st.lists(st.sampled_from([10, 1000, 6000, BOUND]), max_size=40))
async def test_every_object_that_fits_into_an_answer_is_listed_once(sizes: list[int]) -> None:
    server, problems = sized(*sizes), list[SourceError]()

    assert await names(server, problems) == [
        f"s{i:03}" for i, size in enumerate(sizes) if size < BOUND
    ]
    assert len(problems) == sizes.count(BOUND)


async def test_a_page_that_is_too_large_is_halved_until_it_fits() -> None:
    server = sized(*[3000] * 7)

    assert len(await names(server, None)) == 7
    limits = [query["limit"] for query in server.queries(SERVICES)]
    assert limits[:8] == ["500", "250", "125", "62", "31", "15", "7", "3"]


async def test_an_object_that_is_too_large_is_left_out() -> None:
    server, problems = sized(10, BOUND, 10), list[SourceError]()

    assert await names(server, problems) == ["s000", "s002"]
    assert list(map(str, problems)) == [
        f"{SERVICES}: an object is larger than an answer may be, and is left out"
    ]
    assert [r.content_type for r in server.requests].count(METADATA_LIST) == 1


async def test_without_a_place_for_problems_an_object_that_is_too_large_is_an_error() -> None:
    with pytest.raises(ApiError, match="an object is larger than an answer may be"):
        await names(sized(BOUND), None)


async def test_metadata_that_is_too_large_is_an_error() -> None:
    server = ApiServer(service("x" * BOUND))
    server.max_body = BOUND

    with pytest.raises(ApiError, match="answered with too much"):
        await PageReader(server, SERVICES).read("")


async def test_other_failures_are_not_repeated() -> None:
    server = ApiServer(otherwise=Response(500))

    with pytest.raises(ApiError, match="answered 500"):
        await PageReader(server, SERVICES).read("")

    assert len(server.requests) == 1


def policy_exception(name: str, namespace: str = "shop", **spec: object) -> Json:
    return {
        "apiVersion": "evenspread.io/v1alpha1",
        "kind": "SpreadPolicyException",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"defaults": True, "reason": "old", **spec},
    }


async def test_exceptions_of_namespaces_are_listed_without_those_that_cannot_be_read() -> None:
    broken = policy_exception("broken", reason=7)
    server, cluster = (
        ApiServer(policy_exception("a"), policy_exception("b", "other"), broken),
        Cluster(),
    )

    await fill_exceptions(server, cluster, ["shop"])

    assert [one.name for one in cluster.exceptions("shop")] == ["a"]
    assert len(cluster.exception_store) == 1


async def test_without_the_kind_there_are_no_exceptions() -> None:
    server, cluster = ApiServer(), Cluster()

    await fill_exceptions(server, cluster, ["shop"])

    assert (server.paths, len(cluster.exception_store)) == (["/apis"], 0)
