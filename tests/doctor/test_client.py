"""Refusals become lookups with the missing right; only rejected credentials are errors."""

import pytest

from tests.apiserver import ApiServer, Request, refuse, respond
from tests.doctor.api import client_of
from webhook.cluster.discovery import ResourcePath
from webhook.cluster.protocol import Response
from webhook.doctor.client import MOST_QUOTED_BYTES, DoctorClient, DoctorResponse, describe_right
from webhook.doctor.installation import Lookup
from webhook.doctor.objects import ConfigMap
from webhook.errors import ApiError

PLACE = ResourcePath("/api/v1", "configmaps")
PATH = "GET /api/v1/namespaces/shop/configmaps"
DATA = {"data": {"a": "b"}}


@pytest.mark.parametrize(
    ("place", "namespace", "right"),
    [
        (PLACE, "", "get on configmaps"),
        (PLACE, "shop", "get on configmaps in namespace shop"),
        (ResourcePath("/apis/apps/v1", "deployments"), "", "get on deployments.apps"),
    ],
)
def test_a_right_is_described(place: ResourcePath, namespace: str, right: str) -> None:
    assert describe_right("get", place, namespace) == right


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"message": "no"}', "no"),
        (b" down\n", "down"),
        (b'{"message": "\xff"}', '{"message": "\ufffd"}'),
        (b'{"x":' + b"[" * 5000, '{"x":' + "[" * (MOST_QUOTED_BYTES - 5)),
        (b"x" * 1000, "x" * MOST_QUOTED_BYTES),
    ],
)
def test_the_message_of_a_failed_response_is_short(body: bytes, message: str) -> None:
    assert DoctorResponse(500, body).message == message


async def test_warnings_are_read_without_quotes_and_escapes() -> None:
    client = client_of({"GET /a": respond({}, 200, r"say \"no\" \\ twice")})

    assert (await client.send("GET", "/a")).warnings == ('say "no" \\ twice',)


async def test_a_body_is_sent_as_json_of_its_content_type() -> None:
    api = ApiServer()

    await DoctorClient(api).send("PATCH", "/a", [1], {"dryRun": "All"}, "text/x")

    assert api.requests == [Request("PATCH", "/a", {"dryRun": "All"}, b"[1]", "text/x")]


async def test_rejected_credentials_are_an_error() -> None:
    with pytest.raises(ApiError, match="does not accept these credentials"):
        await client_of({"GET /a": refuse("Unauthorized", 401)}).send("GET", "/a")


OBJECTS = {
    "an object": (respond(DATA), ""),
    "a refusal": (refuse("no"), "needs get on configmaps in namespace shop"),
    "a fault": (
        refuse("broken", 500),
        "the API server answered 500 to get on configmaps in namespace shop: broken",
    ),
    "no UTF-8": (
        Response(200, b'{"data":{"a":"\xff"}}'),
        "the answer to get on configmaps in namespace shop cannot",
    ),
    "garbage": (Response(200, b"[]"), "the answer to get on configmaps in namespace shop cannot"),
}


@pytest.mark.parametrize(("response", "problem"), OBJECTS.values(), ids=OBJECTS)
async def test_an_object_or_the_reason_why_it_is_unknown(response: Response, problem: str) -> None:
    found = await client_of({f"{PATH}/web": response}).get_object(PLACE, ConfigMap, "web", "shop")

    if problem:
        assert found.problem.startswith(problem)
    else:
        assert found.value == ConfigMap({"a": "b"})


async def test_what_does_not_exist_is_none_or_empty() -> None:
    client = client_of({PATH: refuse("no such kind", 404)})

    assert (await client.get_object(PLACE, ConfigMap, "web", "shop")).value is None
    assert (await client.list_objects(PLACE, ConfigMap, "shop")).value == ()


@pytest.mark.parametrize(("items", "number"), [([DATA, DATA], 2), (None, 0)])
async def test_lists_are_decoded(items: object, number: int) -> None:
    client = client_of({PATH: respond({"items": items})})

    found = await client.list_objects(PLACE, ConfigMap, "shop")

    assert found.value == (ConfigMap({"a": "b"}),) * number


CUSTOM: dict[str, tuple[Response, tuple[bytes, ...] | None, str]] = {
    "objects": (Response(200, b'{"items": [{"a": 1}, {}]}'), (b'{"a": 1}', b"{}"), ""),
    "no objects": (respond({"items": None}), (), ""),
    "no such kind": (refuse("no such kind", 404), None, ""),
    "a refusal": (refuse("no"), None, "needs list on configmaps"),
}


@pytest.mark.parametrize(("response", "items", "problem"), CUSTOM.values(), ids=CUSTOM)
async def test_objects_of_a_custom_kind_are_decoded_if_the_kind_exists(
    response: Response, items: tuple[bytes, ...] | None, problem: str
) -> None:
    client = client_of({"GET /api/v1/configmaps": response})

    found = await client.list_custom(PLACE, bytes)

    assert (found.or_none, found.problem) == (items, problem)


PAGES = {
    "a page": (Response(200, b"ok\n"), "ok\n", ""),
    "a page of an unready replica": (Response(503, b"[-]a failed\n"), "[-]a failed\n", ""),
    "a refusal": (refuse("no"), None, "needs a right"),
    "an error of the API server": (refuse("no endpoints", 503), None, "no endpoints"),
}


@pytest.mark.parametrize(("response", "text", "problem"), PAGES.values(), ids=PAGES)
async def test_a_page_is_text_whatever_its_status(
    response: Response, text: str | None, problem: str
) -> None:
    found: Lookup[str] = await client_of({"GET /a": response}).get_text("/a", "a right")

    assert found.problem == problem
    assert problem or found.value == text
