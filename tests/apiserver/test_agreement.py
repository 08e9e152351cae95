"""The fake API server answers like a real kube-apiserver."""

import json
from typing import Any, NamedTuple, TypeAlias

import pytest

from tests.apiserver import ApiServer
from tests.controlplane.plane import ControlPlane
from webhook.cluster.protocol import NO_QUERY, Query

CONFIG_MAPS = "/api/v1/namespaces/NS/configmaps"
A = f"{CONFIG_MAPS}/a"
JSON_PATCH, MERGE_PATCH = "application/json-patch+json", "application/merge-patch+json"


class Step(NamedTuple):
    """A request; ``NS`` in the path stands for the namespace of the test."""

    method: str
    path: str
    body: Any = None
    query: Query = NO_QUERY
    content_type: str = "application/json"


def config_map(name: str, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}


CREATE_A, CREATE_B = (Step("POST", CONFIG_MAPS, config_map(name)) for name in "ab")

SCENARIOS: dict[str, list[Step]] = {
    "an object is created once": [CREATE_A, CREATE_A, Step("GET", A)],
    "a dry run stores nothing": [
        Step("POST", CONFIG_MAPS, config_map("a"), {"dryRun": "All"}),
        Step("GET", A),
    ],
    "a stale replacement is a conflict": [
        CREATE_A,
        Step("PUT", A, config_map("a", resourceVersion="1")),
        Step("PUT", A, {**config_map("a"), "data": {"x": "1"}}),
        Step("GET", A),
    ],
    "a replacement of nothing is not found": [Step("GET", A), Step("DELETE", A)],
    "a JSON Patch applies completely or not at all": [
        CREATE_A,
        Step("PATCH", A, [{"op": "add", "path": "/data", "value": {"x": "1"}}], {}, JSON_PATCH),
        Step("PATCH", A, [{"op": "test", "path": "/data/x", "value": "2"}], {}, JSON_PATCH),
        Step("GET", A),
    ],
    "a merge patch adds and removes": [
        CREATE_A,
        Step("PATCH", A, {"data": {"x": "1", "y": "2"}}, {}, MERGE_PATCH),
        Step("PATCH", A, {"data": {"x": None}}, {}, MERGE_PATCH),
        Step("GET", A),
    ],
    "preconditions of a deletion": [
        CREATE_A,
        Step("DELETE", A, {"preconditions": {"resourceVersion": "1"}}),
        Step("DELETE", A),
        Step("GET", A),
    ],
    "selectors of a list": [
        CREATE_B,
        Step("POST", CONFIG_MAPS, config_map("a", labels={"app": "x"})),
        Step("GET", CONFIG_MAPS, query={"labelSelector": "app=x"}),
        Step("GET", CONFIG_MAPS, query={"fieldSelector": "metadata.name=b"}),
    ],
    "an unknown continue token": [Step("GET", CONFIG_MAPS, query={"continue": "x", "limit": "1"})],
    "an unknown resource": [
        Step("GET", "/api/v1/namespaces/NS/gadgets"),
        Step("GET", "/apis/x/v1"),
    ],
}

Outcome: TypeAlias = tuple[int, Any]


def outcome(status: int, body: Any) -> Outcome:
    """Reduce a response to its status, and the names and data of its objects."""
    if status >= 400 or body.get("kind") == "Status":
        return status, None
    items = body.get("items", [body])
    return status, [(item["metadata"]["name"], item.get("data")) for item in items]


async def send_to_fake(steps: list[Step]) -> list[Outcome]:
    server, outcomes = ApiServer(), list[Outcome]()
    for step in steps:
        body = b"" if step.body is None else json.dumps(step.body).encode()
        path = step.path.replace("NS", "shop")
        response = await server.send(step.method, path, step.query, body, step.content_type)
        outcomes.append(outcome(response.status, json.loads(response.body)))
    return outcomes


def send_to_real(plane: ControlPlane, steps: list[Step]) -> list[Outcome]:
    namespace, outcomes = plane.create_namespace(), list[Outcome]()
    for step in steps:
        path = step.path.replace("NS", namespace)
        reply = plane.api.request(
            step.method, path, step.body, query=step.query, content_type=step.content_type
        )
        outcomes.append(outcome(reply.status, reply.body))
    return outcomes


@pytest.mark.parametrize("steps", SCENARIOS.values(), ids=SCENARIOS)
async def test_the_same_requests_have_the_same_outcome(
    control_plane: ControlPlane, steps: list[Step]
) -> None:
    assert await send_to_fake(steps) == send_to_real(control_plane, steps)
