import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from certs.api import ApiObject
from tests.apiserver import ApiServer, Fault, refuse, respond, watch, write_kubeconfig
from tests.cluster.client.failures import raised
from tests.cluster.client.pod import PATIENT, Clock, Pod
from webhook.cluster.client import Api, ApiAccess, Timeouts
from webhook.cluster.protocol import MAX_BODY_BYTES, Response, read
from webhook.errors import ApiError


async def send(api: Api, *request: Any) -> Response:
    """Send a request; leaves the headers of the response out."""
    return replace(await api.send(*request), headers={})


async def test_an_answer_is_read_as_it_is(server: ApiServer, api: Api) -> None:
    server.script("/api/v1/services", Response(200, b"anything"))

    assert await read(api, "/api/v1/services", {"limit": "500"}) == b"anything"
    assert server.queries("/api/v1/services") == [{"limit": "500"}]


async def test_requests_have_a_user_agent_and_decline_compression(
    server: ApiServer, api: Api
) -> None:
    server.script("/x", Response(200))
    await read(api, "/x")

    (request,) = server.requests
    headers = request.headers
    assert headers["authorization"] == "Bearer secret"
    assert headers["Accept-Encoding"] == "identity"
    assert headers["User-Agent"] == "evenspread"


@pytest.mark.parametrize("status", [204, 400, 403, 404, 410, 429, 500, 503])
async def test_every_other_status_is_an_error(server: ApiServer, api: Api, status: int) -> None:
    server.script("/x", refuse("no", status), refuse("no", status))

    error = await raised(api)
    assert error.status == status
    assert error.source == server.url
    with pytest.raises(ApiError):
        async with api.stream("/x", {}):
            pass


async def test_requests_arrive_unchanged_and_every_status_is_returned(
    server: ApiServer, api: Api
) -> None:
    server.script("/x", Response(409, b"why"), Response(409, b"why"))

    assert await send(api, "PUT", "/x", {"dryRun": "All"}, b'{"a": 1}') == Response(409, b"why")
    assert await send(api, "GET", "/x") == Response(409, b"why")
    put, get = server.requests
    assert (put.method, put.path, put.query) == ("PUT", "/x", {"dryRun": "All"})
    assert (put.content_type, put.body) == ("application/json", b'{"a": 1}')
    assert (get.method, get.query, get.body) == ("GET", {}, b"")


async def test_a_stream_yields_chunks_as_they_arrive(server: ApiServer, api: Api) -> None:
    server.script("/x", watch(b"a\n", b"b\n", end=Fault.SILENCE))

    text = b""
    async with api.stream("/x", {"watch": "1"}) as pieces:
        async for piece in pieces:
            text += piece
            if text == b"a\nb\n":
                break

    assert text == b"a\nb\n"


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_a_stream_that_is_left_waits_for_no_end_of_tls(clock: Clock, tmp_path: Path) -> None:
    left = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na\n\r\n")
        transport = writer.transport
        assert isinstance(transport, asyncio.ReadTransport)
        transport.pause_reading()
        await left.wait()
        transport.abort()

    pod = Pod(tmp_path)
    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=pod.tls)
    pod.server.port = server.sockets[0].getsockname()[1]
    async with server, Api(pod.access, clock, PATIENT) as api:
        async with api.stream("/x", {}) as pieces:
            assert await anext(aiter(pieces)) == b"a\n"
            connected = descriptors()
        async with asyncio.timeout(10):  # asyncio waits 30 s for a server
            while descriptors() >= connected:  # noqa: ASYNC110  # nothing sets an event
                await asyncio.sleep(0)
        left.set()


async def test_a_silent_stream_times_out(server: ApiServer, clock: Clock, tmp_path: Path) -> None:
    server.script("/x", watch(b"a\n", end=Fault.SILENCE))
    access = ApiAccess(kubeconfig=write_kubeconfig(tmp_path, server.url))

    with pytest.raises(ApiError, match="gave no answer in time") as caught:
        async with Api(access, clock, Timeouts(silence=0.3)) as api, api.stream("/x", {}) as pieces:
            _ = [piece async for piece in pieces]

    assert caught.value.reason == "silent"


async def test_a_missing_response_times_out(
    server: ApiServer, clock: Clock, tmp_path: Path
) -> None:
    server.script("/x", Fault.SILENCE)
    access = ApiAccess(kubeconfig=write_kubeconfig(tmp_path, server.url))
    async with Api(access, clock, Timeouts(answer=0.05)) as api:
        assert (await raised(api)).reason == "silent"


async def test_a_missing_server_is_unreachable(clock: Clock, tmp_path: Path) -> None:
    access = ApiAccess(kubeconfig=write_kubeconfig(tmp_path, "http://127.0.0.1:1"))
    async with Api(access, clock, PATIENT) as api:
        error = await raised(api)
        with pytest.raises(ApiError, match="cannot be reached: Connection refused"):
            await api.send("GET", "/x")

    assert error.reason == "unreachable"
    assert str(error) == "http://127.0.0.1:1: cannot be reached: Connection refused"


async def test_a_cut_answer_is_no_answer(server: ApiServer, api: Api) -> None:
    server.script("/x", watch(b"a", end=Fault.RESET))

    assert (await raised(api)).reason == "unreachable"


async def test_an_answer_without_end_is_given_up(server: ApiServer, api: Api) -> None:
    pieces = [b"x" * 1024 * 1024] * (MAX_BODY_BYTES // 1024 // 1024 + 1)
    server.script("/x", watch(*pieces))

    assert (await raised(api)).reason == "oversized"


async def test_text_that_is_no_http_is_garbage(server: ApiServer, api: Api) -> None:
    server.script("/x", Fault.NO_HTTP)

    assert (await raised(api)).reason == "garbage"


async def test_the_version_is_that_of_the_server(server: ApiServer, api: Api) -> None:
    server.script("/version", respond({"gitVersion": "v1.33.5-eks-1"}), Response(200, b"1.33"))
    server.script(
        "/version", Response(200, b'{"gitVersion": "\xff"}'), Response(200, b"[" * 100_000)
    )

    assert await api.version() == "v1.33.5-eks-1"
    for _ in range(3):
        with pytest.raises(ApiError, match="answered with no version"):
            await api.version()


async def test_proxies_of_the_environment_do_not_count(
    server: ApiServer, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    server.script("/x", Response(200, b"direct"))

    assert await read(api, "/x") == b"direct"


async def test_a_proxy_of_the_kubeconfig_counts(
    server: ApiServer, clock: Clock, tmp_path: Path
) -> None:
    server.script("/x", Response(200, b"by proxy"))
    config = write_kubeconfig(tmp_path, "http://api.invalid", proxy=server.url)
    async with Api(ApiAccess(kubeconfig=config), clock, PATIENT) as api:
        assert await read(api, "/x") == b"by proxy"


async def test_the_client_fits_the_protocol_of_certs(server: ApiServer, api: Api) -> None:
    secret = {"metadata": {"resourceVersion": "7"}, "data": {}}
    server.script("/api/v1/namespaces/a/secrets/b", Response(401), respond(secret))

    stored = ApiObject(client=api, path="/api/v1/namespaces/a/secrets/b", title="Secret a/b")

    assert (await stored.read()).resource_version == "7"
