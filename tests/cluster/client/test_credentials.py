import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.apiserver import ApiServer, listening, write_kubeconfig
from webhook.cluster.client.credentials import (
    ApiAccess,
    Connection,
    default_namespace,
    make_loader,
)
from webhook.cluster.protocol import ApiRequest, Response
from webhook.errors import SourceError

URL = "http://127.0.0.1:1"
LIMITS = aiohttp.ClientTimeout(total=60.0)


def service_account(folder: Path, token: str = "first\n") -> ApiAccess:
    (folder / "token").write_text(token)
    (folder / "ca.crt").write_text("CA")
    environ = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "1"}
    return ApiAccess(
        token_file=str(folder / "token"), ca_file=str(folder / "ca.crt"), environ=environ
    )


async def open_connection(access: ApiAccess) -> Connection:
    return Connection(await make_loader(access)(), strict=access.strict)


async def test_a_pod_uses_its_service_account(tmp_path: Path) -> None:
    connection = await open_connection(service_account(tmp_path))

    assert connection.host == "https://127.0.0.1:1"
    assert connection.configuration.api_key == {"BearerToken": "Bearer first"}


async def test_a_requested_kubeconfig_takes_precedence_in_a_pod(tmp_path: Path) -> None:
    pod = service_account(tmp_path)
    config = write_kubeconfig(tmp_path, URL)

    connection = await open_connection(ApiAccess(kubeconfig=config, environ=pod.environ))

    assert connection.host == URL


async def test_a_kubeconfig_is_loaded_again_without_reading_it_again(tmp_path: Path) -> None:
    load = make_loader(ApiAccess(kubeconfig=write_kubeconfig(tmp_path, URL)))
    await load()
    write_kubeconfig(tmp_path, "http://other.invalid")

    assert (await load()).host == URL


async def test_an_exec_plugin_of_the_user_gives_the_token(tmp_path: Path) -> None:
    program = 'print(\'{"status": {"token": "secret"}}\')'
    user = {"exec": {"command": sys.executable, "args": ["-Sc", program]}}
    config = write_kubeconfig(tmp_path, URL, user=user)

    connection = await open_connection(ApiAccess(kubeconfig=config))

    assert connection.configuration.api_key == {"BearerToken": "Bearer secret"}


async def test_a_missing_context_is_named(tmp_path: Path) -> None:
    access = ApiAccess(kubeconfig=write_kubeconfig(tmp_path, URL), context="absent")

    with pytest.raises(SourceError, match="has no context 'absent': choose one of x"):
        await make_loader(access)()


async def test_another_error_of_the_library_is_passed_on(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text("contexts: [{name: a, context: {cluster: x, user: y}}]")

    with pytest.raises(Exception, match=r"Invalid kube-config file\."):
        await make_loader(ApiAccess(kubeconfig=str(path), context="a"))()


@pytest.mark.parametrize("strict", [True, False])
async def test_strict_certificates_are_a_choice(tmp_path: Path, *, strict: bool) -> None:
    access = ApiAccess(kubeconfig=write_kubeconfig(tmp_path, URL), strict=strict)

    connection = await open_connection(access)

    assert connection.configuration.disable_strict_ssl_verification is not strict


async def test_a_request_has_its_token_and_the_type_of_its_body(tmp_path: Path) -> None:
    server = ApiServer()
    server.script("/x", Response(200), Response(200))
    async with listening(server):
        config = write_kubeconfig(tmp_path, server.url, user={"token": "secret\n"})
        connection = await open_connection(ApiAccess(kubeconfig=config))
        connection.connect()
        for request in (
            ApiRequest("PATCH", "/x", {"dryRun": "All"}, b"[]", "application/json-patch+json"),
            ApiRequest("GET", "/x", {}),
        ):
            async with await connection.request(request, LIMITS) as response:
                assert response.status == 200
        await connection.close()

    patch, get = server.requests
    assert patch.headers["authorization"] == "Bearer secret"
    assert (patch.query, patch.body) == ({"dryRun": "All"}, b"[]")
    assert patch.content_type == "application/json-patch+json"
    assert "content-type" not in get.headers


async def test_a_request_without_credentials_has_no_token(tmp_path: Path) -> None:
    server = ApiServer()
    server.script("/x", Response(200))
    async with listening(server):
        config = write_kubeconfig(tmp_path, server.url, user={"username": "user"})
        connection = await open_connection(ApiAccess(kubeconfig=config))
        connection.connect()
        async with await connection.request(ApiRequest("GET", "/x", {}), LIMITS):
            pass
        await connection.close()

    assert "authorization" not in server.requests[0].headers


async def test_a_connection_that_was_never_used_can_be_closed(tmp_path: Path) -> None:
    connection = await open_connection(ApiAccess(kubeconfig=write_kubeconfig(tmp_path, URL)))

    await connection.close()


async def test_a_new_token_keeps_the_identity_and_other_files_change_it(tmp_path: Path) -> None:
    old = await open_connection(service_account(tmp_path))
    renewed = await open_connection(service_account(tmp_path, "second"))
    (tmp_path / "ca.crt").write_text("another CA")
    access = service_account(tmp_path)
    (tmp_path / "ca.crt").write_text("another CA")
    moved = await open_connection(access)

    old.take_token(renewed.configuration)

    assert old.identity == renewed.identity != moved.identity
    token: Any = old.configuration.api_key["BearerToken"]
    assert token == "Bearer second"


def test_the_namespace_in_a_pod_is_that_of_its_service_account(tmp_path: Path) -> None:
    access = service_account(tmp_path)
    assert default_namespace(access) == ""
    (tmp_path / "namespace").write_text("shop\n")

    assert default_namespace(access) == "shop"


@pytest.mark.parametrize(
    ("text", "namespace"), [("contexts: [{name: x, context: {namespace: ops}}]", "ops"), ("{", "")]
)
def test_the_namespace_of_a_kubeconfig(text: str, namespace: str, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(text)

    assert default_namespace(ApiAccess(kubeconfig=str(kubeconfig), context="x")) == namespace
    assert default_namespace(ApiAccess(kubeconfig=str(tmp_path / "none"))) == ""
