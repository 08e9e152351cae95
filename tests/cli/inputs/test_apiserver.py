import pytest

from tests.apiserver import ApiServer
from webhook.cli.inputs import apiserver
from webhook.cluster.protocol import ApiClient, read
from webhook.errors import ApiError


def test_an_action_runs_with_a_client_of_the_context(api: ApiServer) -> None:
    async def read_version(client: ApiClient) -> bytes:
        return await read(client, "/version")

    assert apiserver.call("kubeconfig", "x", read_version) == b'{"gitVersion": "v1.37.0"}'
    assert api.paths == ["/version"]


@pytest.mark.usefixtures("api")
def test_an_error_of_the_action_is_raised() -> None:
    async def read_unknown(client: ApiClient) -> bytes:
        return await read(client, "/unknown")

    with pytest.raises(ApiError, match="could not find the requested resource"):
        apiserver.call("kubeconfig", "", read_unknown)


@pytest.mark.usefixtures("api")
def test_an_unknown_context_is_an_error() -> None:
    async def read_version(client: ApiClient) -> bytes:
        return await read(client, "/version")

    with pytest.raises(ApiError, match="credentials cannot be used"):
        apiserver.call("kubeconfig", "other", read_version)
