import json

import pytest

from tests.apiserver import ApiServer, page
from tests.build import service
from webhook.cluster.discovery import ResourcePath
from webhook.cluster.facts import Cluster
from webhook.cluster.lists import fill_once, list_objects, read_object
from webhook.cluster.protocol import Response
from webhook.errors import ApiError

PODS = ResourcePath("/api/v1", "pods")

NODE = {"kind": "Node", "metadata": {"name": "n1", "labels": {"zone": "a"}}}
NAMESPACE = {"kind": "Namespace", "metadata": {"name": "shop", "labels": {"team": "x"}}}
BROKEN = {**service("odd"), "spec": {"selector": ["app"]}}


async def test_only_objects_that_matter_to_a_namespace_are_listed() -> None:
    server, cluster = ApiServer(NODE, NAMESPACE, service("web", "web"), BROKEN), Cluster()

    await fill_once(server, cluster, "shop")

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


async def test_a_namespace_that_does_not_exist_is_unknown() -> None:
    cluster = Cluster()

    await fill_once(ApiServer(NODE), cluster, "shop")

    assert cluster.namespace_labels("shop") is None


async def test_a_kind_that_cannot_be_listed_is_an_error() -> None:
    with pytest.raises(ApiError, match="404"):
        await fill_once(ApiServer(otherwise=Response(404)), Cluster(), "shop")


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
