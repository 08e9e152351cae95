import socket
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.apiserver import ApiServer, write_kubeconfig
from webhook.cli.inputs import apiserver
from webhook.cli.inputs.apiserver import ServerOptions, takes_server
from webhook.cluster.protocol import ApiClient, read
from webhook.errors import ApiError, ConfigError


def test_an_action_runs_with_a_client_of_the_context(api: ApiServer) -> None:
    async def read_version(client: ApiClient) -> bytes:
        return await read(client, "/version")

    assert (
        apiserver.call(ServerOptions(kubeconfig="kubeconfig", context="x"), read_version)
        == b'{"gitVersion": "v1.37.0"}'
    )
    assert api.paths == ["/version"]


@pytest.mark.usefixtures("api")
def test_an_error_of_the_action_is_raised() -> None:
    async def read_unknown(client: ApiClient) -> bytes:
        return await read(client, "/unknown")

    with pytest.raises(ApiError, match="could not find the requested resource"):
        apiserver.call(ServerOptions(kubeconfig="kubeconfig"), read_unknown)


@pytest.mark.usefixtures("api")
def test_an_unknown_context_is_an_error() -> None:
    async def read_version(client: ApiClient) -> bytes:
        return await read(client, "/version")

    with pytest.raises(ApiError, match="credentials cannot be used"):
        apiserver.call(ServerOptions(kubeconfig="kubeconfig", context="other"), read_version)


ACTING = ServerOptions(kubeconfig="kubeconfig", as_user="ann", as_group=("ops", "dev"), as_uid="7")


def test_requests_act_as_another_user(api: ApiServer) -> None:
    async def read_version(client: ApiClient) -> bytes:
        return await read(client, "/version")

    apiserver.call(ACTING, read_version)

    (request,) = api.requests
    assert request.headers["Impersonate-User"] == "ann"
    assert request.headers["Impersonate-Uid"] == "7"
    assert ACTING.impersonated[2:] == (("Impersonate-Group", "ops"), ("Impersonate-Group", "dev"))


@pytest.mark.parametrize("values", [{"as_group": ("ops",)}, {"as_uid": "7"}])
def test_groups_without_a_user_are_an_error(values: dict[str, Any]) -> None:
    given = dict.fromkeys(ServerOptions.__slots__, "") | {"as_group": ()} | values

    with pytest.raises(ConfigError, match="--as: is missing"):
        ServerOptions.take(given)


def test_options_are_taken_out_of_the_values() -> None:
    values = dict.fromkeys(ServerOptions.__slots__, "") | {"context": "x", "rules": "y"}

    assert ServerOptions.take(values).context == "x"
    assert values == {"rules": "y"}
    assert takes_server(lambda **given: given)(
        **dict.fromkeys(ServerOptions.__slots__, ""), rules="y"
    ).keys() == {"server", "rules"}


def test_the_timeout_is_that_of_the_option(folder: Path) -> None:
    async def read_version(client: ApiClient) -> bytes:
        return await read(client, "/version")

    with socket.create_server(("127.0.0.1", 0)) as silent:
        write_kubeconfig(folder, f"http://127.0.0.1:{silent.getsockname()[1]}")
        server = ServerOptions(kubeconfig="kubeconfig", request_timeout=0.05)

        with pytest.raises(ApiError, match="gave no answer in time"):
            apiserver.call(server, read_version)


@pytest.mark.parametrize(
    "values",
    [{"kubeconfig": "kubeconfig"}, {"context": "x"}, {"as_user": "ann"}, {"request_timeout": 5.0}],
    ids=str,
)
def test_any_option_names_a_server(values: dict[str, Any]) -> None:
    assert ServerOptions(**values).is_named
    assert not ServerOptions().is_named


# the context to use, its namespace
NAMESPACES = {
    "the current context": ("", "shop"),
    "another context": ("other", "ops"),
    "a context without a namespace": ("bare", ""),
}


@pytest.mark.parametrize(("context", "namespace"), NAMESPACES.values(), ids=NAMESPACES.keys())
def test_the_default_namespace_is_that_of_the_context(
    context: str, namespace: str, folder: Path
) -> None:
    write_kubeconfig(folder, "http://127.0.0.1:1")
    kubeconfig = folder / "kubeconfig"
    value = yaml.safe_load(kubeconfig.read_text())
    (current,) = value["contexts"]
    value["contexts"] = [
        {"name": current["name"], "context": current["context"] | {"namespace": "shop"}},
        {"name": "other", "context": current["context"] | {"namespace": "ops"}},
        {"name": "bare", "context": current["context"]},
    ]
    kubeconfig.write_text(yaml.safe_dump(value))
    server = ServerOptions(kubeconfig="kubeconfig", context=context)

    assert apiserver.default_namespace(server) == namespace
