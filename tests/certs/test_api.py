import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from certs.api import ApiObject
from certs.errors import AbsentError, ConflictError, StoreError
from tests.apiserver import ApiServer, encode, listening, write_kubeconfig
from tests.certs.cluster import SECRET, Cluster
from tests.certs.world import NOW
from webhook.cluster.client import Api, ApiAccess
from webhook.cluster.protocol import Response

ADD = {"op": "add", "path": "/data", "value": {"a": "c2VjcmV0"}}


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(clock=lambda: NOW)


def version(cluster: Cluster) -> str:
    """Return the resource version of the Secret."""
    return str(cluster.objects[SECRET]["metadata"]["resourceVersion"])


def secret(cluster: Cluster) -> ApiObject:
    return ApiObject(client=cluster, path=SECRET, title="Secret ns/ca")


async def test_an_object_is_read_with_the_clock_of_the_server(cluster: Cluster) -> None:
    reply = await secret(cluster).read()

    assert reply.content["metadata"]["name"] == "ca"
    assert reply.resource_version == version(cluster)
    assert reply.at == NOW


async def test_a_patch_of_an_unchanged_object_succeeds(cluster: Cluster) -> None:
    await secret(cluster).patch([ADD], resource_version=version(cluster))

    assert cluster.objects[SECRET]["data"] == {"a": "c2VjcmV0"}


async def test_a_patch_of_a_changed_object_is_a_conflict(cluster: Cluster) -> None:
    before = version(cluster)
    cluster.put(SECRET, cluster.objects[SECRET])

    with pytest.raises(ConflictError, match="Secret ns/ca: was changed by another client"):
        await secret(cluster).patch([ADD], resource_version=before)

    assert "data" not in cluster.objects[SECRET]


async def test_annotations_are_set_beside_existing_ones(cluster: Cluster) -> None:
    await secret(cluster).annotate({"one": "1"})
    await secret(cluster).annotate({"two": "2"})

    assert cluster.objects[SECRET]["metadata"]["annotations"] == {"one": "1", "two": "2"}


ANSWERS = {
    "absent": (404, AbsentError, "does not exist"),
    "a conflict": (409, ConflictError, "was changed by another client"),
    "a failed test of a patch": (422, ConflictError, "was changed by another client"),
    "forbidden": (403, StoreError, "answered 403; check the RBAC rules"),
    "not known": (401, StoreError, "answered 401; check the RBAC rules"),
    "overloaded": (429, StoreError, "answered 429$"),
    "broken": (500, StoreError, "answered 500$"),
}


@pytest.mark.parametrize(("status", "error", "text"), ANSWERS.values(), ids=ANSWERS)
async def test_a_failed_request_is_an_error(
    cluster: Cluster, status: int, error: type[StoreError], text: str
) -> None:
    cluster.otherwise = Response(status)

    with pytest.raises(error, match=text) as caught:
        await secret(cluster).read()

    assert type(caught.value) is error


DATES = {
    "as HTTP writes it": ("Tue, 01 Jan 2030 00:00:00 GMT", datetime(2030, 1, 1, tzinfo=UTC)),
    "without a zone": ("Tue, 01 Jan 2030 00:00:00 -0000", None),
    "no date": ("yesterday", None),
    "empty": ("", None),
    "in a zone that does not exist": ("Tue, 01 Jan 2030 00:00:00 +999999999999999", None),
}


@pytest.mark.parametrize(("text", "moment"), DATES.values(), ids=DATES)
async def test_the_clock_of_the_server_is_read_or_not_known(
    cluster: Cluster, text: str, moment: datetime | None
) -> None:
    cluster.otherwise = Response(200, encode(cluster.objects[SECRET]), {"date": (text,)})

    assert (await secret(cluster).read()).at == moment


async def test_a_server_without_a_clock_is_read_all_the_same(cluster: Cluster) -> None:
    cluster.clock = None

    assert (await secret(cluster).read()).at is None


@pytest.mark.parametrize("error", [ConnectionResetError(), TimeoutError()])
async def test_a_broken_connection_is_an_error(cluster: Cluster, error: Exception) -> None:
    cluster.otherwise = error

    with pytest.raises(StoreError, match="Secret ns/ca: no answer: "):
        await secret(cluster).read()


@pytest.mark.parametrize("content", [[], {}, {"metadata": {}}, "text"])
async def test_a_body_that_is_no_object_is_an_error(cluster: Cluster, content: object) -> None:
    cluster.objects[SECRET] = content  # type: ignore[assignment]  # that is the point

    with pytest.raises(StoreError, match="is no object"):
        await secret(cluster).read()


async def test_an_answer_that_nests_too_deep_is_an_error() -> None:
    deep = Response(200, b'{"metadata":' + b"[" * 200_000)

    with pytest.raises(StoreError, match="is no object"):
        await ApiObject(client=ApiServer(otherwise=deep), path=SECRET, title="Secret").read()


@asynccontextmanager
async def connected(url: str, folder: Path) -> AsyncIterator[Api]:
    async with Api(ApiAccess(kubeconfig=write_kubeconfig(folder, url)), lambda: 0.0) as api:
        yield api


async def test_the_client_of_the_webhook_fits(
    cluster: Cluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    before = version(cluster)
    async with listening(cluster), connected(cluster.url, tmp_path) as client:
        there = ApiObject(client=client, path=SECRET, title="Secret ns/ca")
        await there.patch([ADD], resource_version=before)
        await there.annotate({"one": "1"})
        reply = await there.read()
        with pytest.raises(ConflictError):
            await there.patch([ADD], resource_version=before)
        with pytest.raises(AbsentError):
            await ApiObject(client=client, path="/nothing", title="nothing").read()

    assert reply.content["data"] == {"a": "c2VjcmV0"}
    assert reply.content["metadata"]["annotations"] == {"one": "1"}
    assert reply.at == NOW
    assert "c2VjcmV0" not in caplog.text


async def test_an_api_server_that_is_away_is_an_error(tmp_path: Path) -> None:
    async with connected("http://127.0.0.1:9", tmp_path) as client:
        with pytest.raises(
            StoreError, match=r"no answer: .*:9: cannot be reached: Connection refused"
        ):
            await ApiObject(client=client, path=SECRET, title="Secret").read()
