"""Objects behind an API server: what is read once, and what must not fail."""

import asyncio
from collections.abc import Iterator

import pytest
import yaml

from tests.apiserver import ApiServer, refuse
from tests.cli.inputs.shopcluster import FLEET, OBJECTS, OWNERS
from webhook.cli.inputs.livecluster import LiveCluster, name_of
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.errors import ApiError
from webhook.policy.kinds import DEPLOYMENT, POD
from webhook.policy.model import GroupKind


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def shop() -> ApiServer:
    return ApiServer(*yaml.safe_load_all(OBJECTS))


@pytest.fixture
def live(shop: ApiServer, runner: asyncio.Runner) -> LiveCluster:
    return LiveCluster(shop, OWNERS, runner)


def test_objects_are_read_by_their_kinds_and_names(live: LiveCluster) -> None:
    (pod,) = live.pods("shop")
    (decoded,) = live.decode_objects(POD, ApiPod) or [ApiPod()]
    found = live.find(FLEET, "shop", "ships")

    assert pod.metadata.name == "web-1"
    assert decoded.spec is not None
    assert decoded.spec.node_name == "n1"
    assert found is not None
    assert name_of(found) == "ships"
    assert live.find(DEPLOYMENT, "shop", "none") is None
    assert live.find(GroupKind("example.io", "Boat"), "shop", "ships") is None
    assert [name_of(one) for one in live.list_objects_of(DEPLOYMENT, "")] == ["web"]


def test_facts_of_a_namespace_are_read_once(live: LiveCluster, shop: ApiServer) -> None:
    facts = live.facts("shop")
    requests = len(shop.requests)

    assert [node.name for node in facts.node_store] == ["n1"]
    assert live.facts("shop") is facts
    assert len(shop.requests) == requests
    assert live.scope_of("shop") == "shop"


def test_facts_of_all_namespaces_are_read_at_once(shop: ApiServer, runner: asyncio.Runner) -> None:
    live = LiveCluster(shop, OWNERS, runner, everywhere=True)

    assert live.facts("shop") is live.facts("ops")
    assert live.scope_of("shop") == ""
    assert shop.paths.count("/api/v1/services") == 1


def test_the_path_of_a_custom_kind_is_looked_up_once(live: LiveCluster, shop: ApiServer) -> None:
    for _ in range(3):
        assert len(live.list_objects_of(FLEET, "shop")) == 1

    assert shop.paths.count("/apis") == 1


def test_namespaces_that_may_not_be_listed_are_unknown(live: LiveCluster, shop: ApiServer) -> None:
    shop.add({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "net"}})
    assert live.namespaces() == {"net"}

    shop.answers["GET /api/v1/namespaces"] = refuse("namespaces is forbidden")
    assert live.namespaces() == set()


def test_other_errors_of_namespaces_are_raised(live: LiveCluster, shop: ApiServer) -> None:
    shop.answers["GET /api/v1/namespaces"] = refuse("down", 500)

    with pytest.raises(ApiError, match="500"):
        live.namespaces()


@pytest.mark.parametrize("status", [403, 404])
def test_objects_that_may_not_be_listed_are_none(
    status: int, live: LiveCluster, shop: ApiServer
) -> None:
    shop.answers["GET /api/v1/pods"] = refuse("no", status)

    assert live.decode_objects(POD, ApiPod) is None


def test_a_server_that_fails_to_list_objects_is_an_error(
    live: LiveCluster, shop: ApiServer
) -> None:
    shop.answers["GET /api/v1/pods"] = refuse("no", 400)

    with pytest.raises(ApiError):
        live.decode_objects(POD, ApiPod)
