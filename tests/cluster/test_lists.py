import json
from typing import Any

import pytest

from tests.cluster.sources import Answers
from webhook.cluster.discovery import ResourcePath
from webhook.cluster.facts import Cluster
from webhook.cluster.lists import fill_once, list_objects, read_object
from webhook.errors import ApiError

PODS = ResourcePath("/api/v1", "pods")

NODE = {"metadata": {"name": "n1", "labels": {"zone": "a"}}}
SERVICE = {"metadata": {"name": "web", "namespace": "shop"}, "spec": {"selector": {"app": "web"}}}
BROKEN = {"metadata": {"name": "odd", "namespace": "shop"}, "spec": {"selector": ["app"]}}


def page(*items: Any) -> Any:
    return {"metadata": {"resourceVersion": "1"}, "items": list(items)}


def everything(namespace: str) -> dict[str, Any]:
    """What a cluster of one node and one Service answers."""
    core, apps = f"/api/v1/namespaces/{namespace}", f"/apis/apps/v1/namespaces/{namespace}"
    return {
        core: {"metadata": {"name": namespace, "labels": {"team": "x"}}},
        "/api/v1/nodes": page(NODE),
        f"{core}/services": page(SERVICE, BROKEN),
        f"{core}/replicationcontrollers": page(),
        f"{apps}/replicasets": page(),
        f"{apps}/statefulsets": page(),
        "/apis": {"groups": []},
    }


async def test_what_counts_for_a_namespace_is_listed_and_no_more() -> None:
    source, cluster = Answers(**everything("shop")), Cluster()

    await fill_once(source, cluster, "shop")

    assert [node.name for node in cluster.node_store] == ["n1"]
    assert [each.name for each in cluster.services("shop", {"app": "web"})] == ["web"]
    assert cluster.namespace_labels("shop") == {"team": "x"}
    assert set(source.asked) == set(everything("shop"))


async def test_a_namespace_that_is_not_there_is_not_known() -> None:
    answers = everything("shop")
    del answers["/api/v1/namespaces/shop"]
    cluster = Cluster()

    await fill_once(Answers(**answers), cluster, "shop")

    assert cluster.namespace_labels("shop") is None


async def test_a_kind_that_cannot_be_listed_is_told() -> None:
    with pytest.raises(ApiError, match="404"):
        await fill_once(Answers(), Cluster(), "shop")


async def test_objects_of_a_kind_in_a_namespace() -> None:
    source = Answers(**{"/api/v1/namespaces/shop/pods": page(NODE)})

    (written,) = [each async for each in list_objects(source, PODS, "shop")]

    assert json.loads(written) == NODE


async def test_an_object_that_is_not_there() -> None:
    assert await read_object(Answers(), PODS, "shop", "web-1") is None
