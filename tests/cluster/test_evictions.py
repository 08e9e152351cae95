import msgspec
import pytest

from tests.apiserver import ApiServer, refuse, respond
from webhook.cluster.evictions import evict_pod
from webhook.errors import ApiError

PATH = "/api/v1/namespaces/shop/pods/web-0/eviction"


async def test_an_eviction_names_the_pod_and_its_uid() -> None:
    server = ApiServer(answers={f"POST {PATH}": respond({"status": "Success"}, 201)})

    assert await evict_pod(server, "shop", "web-0", "u1")

    (request,) = server.requests
    assert msgspec.json.decode(request.body) == {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"namespace": "shop", "name": "web-0"},
        "deleteOptions": {"preconditions": {"uid": "u1"}},
    }


@pytest.mark.parametrize("status", [404, 409])
async def test_a_pod_may_have_gone(status: int) -> None:
    server = ApiServer(answers={f"POST {PATH}": refuse("gone", status)})

    assert not await evict_pod(server, "shop", "web-0", "u1")


@pytest.mark.parametrize("status", [403, 429, 500])
async def test_other_answers_are_errors(status: int) -> None:
    server = ApiServer(answers={f"POST {PATH}": refuse("it would violate the budget", status)})

    with pytest.raises(ApiError, match="violate the budget") as caught:
        await evict_pod(server, "shop", "web-0", "u1")
    assert caught.value.status == status
