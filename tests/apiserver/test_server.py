"""The fake API server, without a network and over HTTP with the client of the product."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver import (
    ApiServer,
    Behavior,
    Fault,
    Stream,
    after,
    listening,
    refuse,
    respond,
    watch,
    write_kubeconfig,
)
from webhook.cluster.client import Api, ApiAccess, Timeouts
from webhook.cluster.protocol import Response, WatchClient
from webhook.errors import ApiError, ExpiredError

JSON_PATCH, MERGE_PATCH = "application/json-patch+json", "application/merge-patch+json"
SERVICES = "/api/v1/namespaces/shop/services"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/audit"


def service(name: str, namespace: str = "shop", **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata}


@pytest.fixture
def server() -> ApiServer:
    return ApiServer(service("b", app="b"), service("a", app="a"), service("c", "a-b"))


@pytest.fixture(params=["memory", "HTTP"])
async def client(
    request: pytest.FixtureRequest,
    server: ApiServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[WatchClient]:
    if request.param == "memory":
        yield server
        return
    monkeypatch.setenv("SSL_CERT_FILE", os.devnull)  # the CAs of the system take long to read
    async with listening(server):
        access = ApiAccess(kubeconfig=write_kubeconfig(tmp_path, server.url))
        async with Api(access, lambda: 0.0, Timeouts()) as api:
            yield api


async def send(
    client: WatchClient, method: str, path: str, content: Any = None, content_type: str = ""
) -> tuple[int, Any]:
    """Send JSON; returns the status and the decoded response."""
    path, _, query = path.partition("?")
    body = b"" if content is None else json.dumps(content).encode()
    pairs = dict(pair.split("=", 1) for pair in query.split("&") if pair)
    response = await client.send(method, path, pairs, body, content_type or "application/json")
    return response.status, json.loads(response.body)


async def names(client: WatchClient, path: str) -> list[str]:
    _, found = await send(client, "GET", path)
    return [item["metadata"]["name"] for item in found["items"]]


LISTS = {
    "all namespaces, ordered by namespace and name": ("/api/v1/services", ["c", "a", "b"]),
    "one namespace": (SERVICES, ["a", "b"]),
    "a label": ("/api/v1/services?labelSelector=app=b", ["b"]),
    "a field": ("/api/v1/services?fieldSelector=metadata.name=a", ["a"]),
    "a kind without objects": ("/apis/apps/v1/deployments", []),
}


@pytest.mark.parametrize(("path", "expected"), LISTS.values(), ids=LISTS)
async def test_lists(client: WatchClient, path: str, expected: list[str]) -> None:
    assert await names(client, path) == expected


@pytest.mark.parametrize("path", ["/api/v1/gadgets", f"{SERVICES}/z", "/", f"{SERVICES}/a/status"])
async def test_what_does_not_exist_is_404(client: WatchClient, path: str) -> None:
    assert (await send(client, "GET", path))[0] == 404


async def test_pages_are_of_one_version_until_the_history_is_forgotten(
    client: WatchClient, server: ApiServer
) -> None:
    _, first = await send(client, "GET", "/api/v1/services?limit=2")
    server.add(service("z"))
    rest = f"/api/v1/services?limit=2&continue={first['metadata']['continue']}"
    _, second = await send(client, "GET", rest)
    server.compact()

    assert [item["metadata"]["name"] for item in second["items"]] == ["b"]
    assert second["metadata"] == {**first["metadata"], "continue": ""}
    assert (await send(client, "GET", rest))[0] == 410


async def test_an_object_is_created_replaced_patched_and_deleted(
    client: WatchClient, server: ApiServer
) -> None:
    leases, lease = LEASE.rsplit("/", 1)[0], {"metadata": {"name": "audit"}}
    created = await send(client, "POST", leases, lease)
    old = created[1]["metadata"]["resourceVersion"]
    held = {**created[1], "spec": {"holder": "me"}}
    add = [{"op": "add", "path": "/spec/x", "value": 1}]
    statuses = [
        created[0],
        (await send(client, "POST", leases, lease))[0],
        (await send(client, "PUT", LEASE, held))[0],
        (await send(client, "PUT", LEASE, held))[0],
        (await send(client, "PATCH", LEASE, add, JSON_PATCH))[0],
        (await send(client, "PATCH", LEASE, {"spec": {"holder": None}}, MERGE_PATCH))[0],
        (await send(client, "PATCH", LEASE, [{"op": "remove", "path": "/y"}], JSON_PATCH))[0],
    ]
    spec = server.objects[LEASE]["spec"]
    stale = {"preconditions": {"resourceVersion": old}}
    statuses += [
        (await send(client, "DELETE", LEASE, stale))[0],
        (await send(client, "DELETE", LEASE))[0],
        (await send(client, "DELETE", LEASE))[0],
    ]

    assert statuses == [201, 409, 200, 409, 200, 200, 422, 409, 200, 404]
    assert spec == {"x": 1}


async def test_the_status_is_changed_alone(client: WatchClient, server: ApiServer) -> None:
    path = f"{SERVICES}/a"
    metadata = {"resourceVersion": server.objects[path]["metadata"]["resourceVersion"]}
    change = {"metadata": metadata, "spec": {"a": 1}, "status": {"ready": True}}
    statuses = [
        (await send(client, "PATCH", f"{path}/status", change, MERGE_PATCH))[0],
        (await send(client, "PATCH", f"{path}/status", change, MERGE_PATCH))[0],
        (await send(client, "PATCH", f"{SERVICES}/z/status", change, MERGE_PATCH))[0],
    ]

    assert statuses == [200, 409, 404]
    assert server.objects[path]["status"] == {"ready": True}
    assert "spec" not in server.objects[path]


async def test_a_dry_run_stores_nothing_and_names_are_generated(
    client: WatchClient, server: ApiServer
) -> None:
    pod = {"metadata": {"generateName": "web-"}}

    status, dry = await send(client, "POST", "/api/v1/namespaces/shop/pods?dryRun=All", pod)
    before = await names(client, "/api/v1/pods")
    await send(client, "POST", "/api/v1/namespaces/shop/pods", pod)

    assert (status, before) == (201, [])
    assert dry["metadata"]["name"].startswith("web-")
    assert len(await names(client, "/api/v1/pods")) == 1
    assert [request.method for request in server.writes] == ["POST", "POST"]


async def test_discovery_names_the_kinds_of_all_objects(
    client: WatchClient, server: ApiServer
) -> None:
    metadata = {"name": "sea", "namespace": "shop"}
    server.add({"apiVersion": "example.io/v1", "kind": "Fleet", "metadata": metadata})

    _, groups = await send(client, "GET", "/apis")
    _, kinds = await send(client, "GET", "/apis/example.io/v1")

    assert groups["groups"][-1]["preferredVersion"]["groupVersion"] == "example.io/v1"
    assert kinds["resources"] == [{"name": "fleets", "kind": "Fleet"}]
    assert await names(client, "/apis/example.io/v1/fleets") == ["sea"]
    assert await send(client, "GET", "/version") == (200, {"gitVersion": "v1.37.0"})


@pytest.mark.parametrize("allowed", [True, False])
async def test_access_reviews(client: WatchClient, server: ApiServer, allowed: bool) -> None:
    server.allows = lambda _spec: allowed
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

    _, review = await send(client, "POST", path, {"spec": {}})

    assert review["status"] == {"allowed": allowed}


async def events(client: WatchClient, path: str, query: Mapping[str, str], count: int) -> list[Any]:
    """Watch until there were so many events, or the end; returns their types and names."""
    text = b""
    async with client.stream(path, {"watch": "1", **query}) as chunks:
        async for chunk in chunks:
            text += chunk
            if text.count(b"\n") == count:
                break
    found = [json.loads(line) for line in text.splitlines()]
    return [(event["type"], event["object"]["metadata"].get("name")) for event in found]


async def test_a_watch_goes_on_after_its_version(client: WatchClient, server: ApiServer) -> None:
    since = str(server.revision)
    server.add(service("d"))
    watching = asyncio.create_task(events(client, SERVICES, {"resourceVersion": since}, 3))
    while len(server.requests) < 1:  # noqa: ASYNC110  # there is no event for it
        await asyncio.sleep(0)
    server.add(service("c", "a-b"), service("a"))
    server.delete(f"{SERVICES}/b")

    assert await watching == [("ADDED", "d"), ("MODIFIED", "a"), ("DELETED", "b")]


async def test_a_streamed_list_ends_with_a_bookmark(client: WatchClient) -> None:
    query = {"sendInitialEvents": "true"}

    found = await events(client, SERVICES, query, 3)

    assert found == [("ADDED", "a"), ("ADDED", "b"), ("BOOKMARK", None)]


async def test_a_forgotten_version_is_an_event_of_410(
    client: WatchClient, server: ApiServer
) -> None:
    server.compact()

    assert await events(client, SERVICES, {"resourceVersion": "1"}, 9) == [("ERROR", None)]


FAULTS: dict[str, tuple[Behavior, str]] = {
    "a status": (refuse("no", 403), "answered 403: no"),
    "a reset connection": (Fault.RESET, "cannot be reached"),
    "text that is no HTTP": (Fault.NO_HTTP, "answered with"),
    "an exception": (ApiError("api", "cannot be reached", "unreachable"), "cannot be reached"),
    "a stream that is cut": (watch(b"a", end=Fault.RESET), "cannot be reached"),
}


@pytest.mark.parametrize(("fault", "message"), FAULTS.values(), ids=FAULTS)
async def test_faults_of_a_watch(
    client: WatchClient, server: ApiServer, fault: Behavior, message: str
) -> None:
    server.faults.append(lambda _request: fault)

    with pytest.raises(ApiError, match=message):
        await events(client, SERVICES, {}, 1)


async def test_an_expired_version_is_an_error_of_its_own(
    client: WatchClient, server: ApiServer
) -> None:
    server.answers[f"GET {SERVICES}"] = refuse("old", 410)

    with pytest.raises(ExpiredError):
        await events(client, SERVICES, {}, 1)


@pytest.mark.parametrize("silence", [Fault.SILENCE, Stream([], Fault.SILENCE)])
async def test_silence_lasts(client: WatchClient, server: ApiServer, silence: Behavior) -> None:
    server.script(SERVICES, silence)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await client.send("GET", SERVICES)


async def test_scripts_come_before_answers_and_these_before_objects(
    client: WatchClient, server: ApiServer
) -> None:
    path, opened = f"{SERVICES}/a", asyncio.Event()
    opened.set()
    server.script(path, Response(500, b"{}"), None, after(opened, Response(200, b"[]")))
    server.answers[f"GET {path}"] = respond("always")

    found = [await send(client, "GET", path) for _ in range(4)]
    del server.answers[f"GET {path}"]

    assert found == [(500, {}), (200, "always"), (200, []), (200, "always")]
    assert (await send(client, "GET", path))[1]["kind"] == "Service"
    assert server.paths == [path] * 5
