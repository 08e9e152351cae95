"""Credentials: where they come from, when they are read again, and what happens without any."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import trustme

from tests.apiserver import Answer, ApiServer, Request, write_kubeconfig
from tests.cluster.client.failures import raised
from tests.cluster.client.pod import PATIENT, Clock, Pod
from webhook.cluster.client import RELOAD_S, Api, ApiAccess
from webhook.cluster.client.client import RETRY_S
from webhook.cluster.protocol import Response, read


def tokens(server: ApiServer) -> list[str]:
    """Return the tokens of the requests."""
    return [request.headers["authorization"].removeprefix("Bearer ") for request in server.requests]


async def test_after_401_credentials_are_read_again_and_the_request_is_repeated(
    server: ApiServer, api: Api, tmp_path: Path
) -> None:
    server.script("/x", Response(200), Response(401), Response(200, b"welcome"))
    await read(api, "/x")
    write_kubeconfig(tmp_path, server.url, user={"token": "new"})

    assert await read(api, "/x") == b"welcome"
    assert tokens(server) == ["secret", "secret", "new"]


async def test_a_second_401_is_an_error(server: ApiServer, api: Api) -> None:
    server.script("/x", Response(401), Response(401))

    assert (await raised(api)).reason == "unauthorized"
    assert len(server.requests) == 2


async def test_a_token_file_is_read_again_every_minute(
    server: ApiServer, clock: Clock, tmp_path: Path
) -> None:
    server.otherwise = Response(200)
    token = tmp_path / "token"
    token.write_text("old\n")
    config = write_kubeconfig(tmp_path, server.url, user={"tokenFile": str(token)})
    async with Api(ApiAccess(kubeconfig=config), clock, PATIENT) as api:
        await read(api, "/x")
        token.write_text("new\n")
        clock.now = RELOAD_S - 1
        await read(api, "/x")
        clock.now = RELOAD_S
        await until_token(api, server, "new")

    assert tokens(server)[:2] == ["old", "old"]


def exec_plugin(folder: Path, *lines: str) -> dict[str, Any]:
    """Write an exec plugin; return the entry of its user."""
    path = folder / "plugin"
    path.write_text("\n".join((f"#!{sys.executable} -S", *lines)))
    path.chmod(0o700)
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(path)}}


def prints(token: str) -> str:
    return f"print({json.dumps(json.dumps({'status': {'token': token}}))})"


HANGS = "import time; time.sleep(600)"


async def test_a_plugin_that_hangs_stalls_no_call(
    server: ApiServer, clock: Clock, tmp_path: Path
) -> None:
    server.otherwise = Response(200)
    config = write_kubeconfig(tmp_path, server.url, user=exec_plugin(tmp_path, prints("old")))
    async with Api(ApiAccess(kubeconfig=config, plugin_s=300.0), clock) as api:
        await read(api, "/x")
        exec_plugin(tmp_path, HANGS)
        clock.now = RELOAD_S
        async with asyncio.timeout(60):
            await asyncio.gather(*(read(api, "/x") for _ in range(50)))

    assert tokens(server) == ["old"] * 51


async def test_a_call_that_is_given_up_leaves_the_plugin_running(
    server: ApiServer, clock: Clock, tmp_path: Path
) -> None:
    server.otherwise = Response(200)
    config = write_kubeconfig(
        tmp_path, server.url, user=exec_plugin(tmp_path, "import time", prints("late"))
    )
    async with Api(ApiAccess(kubeconfig=config, plugin_s=60.0), clock, PATIENT) as api:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(read(api, "/x"), 0.001)
        await read(api, "/x")

    assert tokens(server) == ["late"]


async def test_after_a_failed_load_the_old_credentials_serve_for_some_seconds(
    server: ApiServer, clock: Clock, tmp_path: Path
) -> None:
    server.otherwise = Response(200)
    config = write_kubeconfig(tmp_path, server.url, user=exec_plugin(tmp_path, prints("old")))
    async with Api(ApiAccess(kubeconfig=config, plugin_s=60.0), clock, PATIENT) as api:
        await read(api, "/x")
        exec_plugin(tmp_path, f"open({str(tmp_path / 'runs')!r}, 'a').write('x')")
        for passed in (0.0, RETRY_S - 1, RETRY_S):
            clock.now = RELOAD_S + passed
            await read(api, "/x")
            await read(api, "/x")
            assert api._renewal is not None
            await asyncio.wait((api._renewal,))  # a plugin may take longer than a call waits
        exec_plugin(tmp_path, prints("new"))
        clock.now += RETRY_S
        await read(api, "/x")
        await until_token(api, server, "new")

    assert (tmp_path / "runs").read_text() == "xx"


async def until_token(api: Api, server: ApiServer, token: str) -> None:
    """Send requests until one has a token: a call that is renewing it may still use the old."""
    async with asyncio.timeout(60):
        while tokens(server)[-1] != token:
            await read(api, "/x")


async def test_without_credentials_a_plugin_that_hangs_is_an_error(
    clock: Clock, tmp_path: Path
) -> None:
    config = write_kubeconfig(tmp_path, "http://127.0.0.1:1", user=exec_plugin(tmp_path, HANGS))
    async with Api(ApiAccess(kubeconfig=config, plugin_s=1.0), clock, PATIENT) as api:
        errors = await asyncio.gather(*(raised(api) for _ in range(9)))

    assert {error.reason for error in errors} == {"credentials"}
    assert f"{tmp_path / 'plugin'}' did not end in 1 s, and was killed" in str(errors[0])


BROKEN = {
    "no file": (
        None,
        "",
        ": does not exist: name a kubeconfig with --kubeconfig, or in KUBECONFIG",
    ),
    "no such context": ("contexts: [{name: a}]", "c", ": has no context 'c': choose one of a"),
    "a cluster that is not there": (
        "contexts: [{name: a, context: {cluster: x, user: y}}]",
        "a",
        "ConfigException: Invalid kube-config file.",
    ),
}


@pytest.mark.parametrize(("text", "context", "message"), BROKEN.values(), ids=BROKEN.keys())
async def test_an_unusable_kubeconfig_is_explained(
    clock: Clock, tmp_path: Path, text: str | None, context: str, message: str
) -> None:
    path = tmp_path / "kubeconfig"
    if text is not None:
        path.write_text(text)

    async with Api(ApiAccess(kubeconfig=str(path), context=context), clock, PATIENT) as api:
        error = await raised(api)

    assert error.reason == "credentials"
    prefix = f"the API server: the credentials cannot be used: {path if message[0] == ':' else ''}"
    assert str(error).startswith(f"{prefix}{message}")


async def test_a_missing_kubeconfig_is_named(
    clock: Clock, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    access = ApiAccess(environ={"KUBECONFIG": str(tmp_path / "none")})
    async with Api(access, clock, PATIENT) as api:
        assert f"{tmp_path / 'none'}: does not exist: name a kubeconfig" in str(await raised(api))
    assert not caplog.records  # the library has a warning of its own


@pytest.fixture
def pod(tmp_path: Path) -> Pod:
    return Pod(tmp_path)


async def test_in_a_pod_its_service_account_is_used(pod: Pod, clock: Clock) -> None:
    pod.server.script("/x", Response(200, b"welcome"))
    async with pod.serving(), Api(pod.access, clock, PATIENT) as api:
        assert await read(api, "/x") == b"welcome"
        assert api.name == f"https://127.0.0.1:{pod.server.port}"

    assert tokens(pod.server) == ["first"]


async def test_a_renewed_token_is_used_within_a_minute(pod: Pod, clock: Clock) -> None:
    pod.server.otherwise = Response(200)
    async with pod.serving(), Api(pod.access, clock, PATIENT) as api:
        await read(api, "/x")
        pod.write("token", "second")
        await read(api, "/x")
        clock.now = RELOAD_S
        await until_token(api, pod.server, "second")

    assert tokens(pod.server)[:2] == ["first", "first"]


@pytest.mark.parametrize("file", ["token", "ca"])
async def test_an_empty_file_at_the_start_is_read_again(pod: Pod, clock: Clock, file: str) -> None:
    content = pod.read(file)
    pod.server.script("/x", Response(200, b"welcome"))
    async with pod.serving(), Api(pod.access, clock, PATIENT) as api:
        pod.write(file, "")
        assert (await raised(api)).reason == "credentials"
        pod.write(file, content)
        assert await read(api, "/x") == b"welcome"


@pytest.mark.parametrize(("file", "text"), [("token", ""), ("ca", ""), ("ca", "-----BEGIN CERT")])
async def test_a_file_that_is_empty_or_half_written_later_leaves_the_old_in_force(
    pod: Pod, clock: Clock, file: str, text: str
) -> None:
    pod.server.script("/x", Response(200), Response(200))
    async with pod.serving(), Api(pod.access, clock, PATIENT) as api:
        await read(api, "/x")
        pod.write(file, text)
        clock.now = RELOAD_S
        await read(api, "/x")

    assert tokens(pod.server) == ["first"] * 2


async def test_a_half_written_token_costs_a_401_and_is_read_again(pod: Pod, clock: Clock) -> None:
    async def authenticate(request: Request) -> Answer:
        known = request.headers["authorization"] == "Bearer second"
        return Response(200 if known else 401)

    pod.server.script("/x", *[authenticate] * 3)
    async with pod.serving(), Api(pod.access, clock, PATIENT) as api:
        pod.write("token", "sec")
        assert (await raised(api)).reason == "unauthorized"
        pod.write("token", "second")
        await read(api, "/x")


async def test_a_new_authority_is_followed(pod: Pod, clock: Clock) -> None:
    pod.server.script("/x", Response(200), Response(200, b"welcome"))
    async with Api(pod.access, clock, PATIENT) as unused:
        assert unused.name == "the API server"
    async with pod.serving():
        api = Api(pod.access, clock, PATIENT)
        await read(api, "/x")
    pod.authority = trustme.CA()
    pod.authority.cert_pem.write_to_path(str(pod.ca))
    async with pod.serving(), api:
        assert (await raised(api)).reason == "unreachable"  # the old one is still trusted
        assert await read(api, "/x") == b"welcome"
