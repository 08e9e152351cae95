"""The command waits until replicas answer, and sets failurePolicy where it differs."""

from typing import Any

import pytest

from tests.apiserver import ApiServer, refuse, respond
from tests.doctor.api import client_of
from webhook.cluster.protocol import Response
from webhook.doctor.client import JSON_PATCH, DoctorClient
from webhook.doctor.probes import ReplicaIdentity
from webhook.doctor.wait import PAUSE_S, set_failure_policies, wait_answered
from webhook.errors import ApiError, SourceError
from webhook.policy.request import Hook

TEMPLATES = "/api/v1/namespaces/shop/podtemplates"
ROOT = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/evenspread"
ANSWER = respond({}, 201, "evenspread 0.1.0 evenspread-1 answered")
REPLICA = ReplicaIdentity("0.1.0", "evenspread-1")


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


async def wait(*steps: Response | ApiError, clock: Clock | None = None) -> list[ReplicaIdentity]:
    """Wait for an API server that gives one answer after the other, and repeats the last."""
    clock, api = clock or Clock(), ApiServer(otherwise=steps[-1])
    api.script(TEMPLATES, *steps[:-1])
    return await wait_answered(DoctorClient(api), "shop", clock, clock.sleep, 3)


async def test_replicas_that_answer_for_both_webhooks_are_returned() -> None:
    assert await wait(ANSWER) == [REPLICA, REPLICA]


async def test_the_wait_goes_on_until_both_answer() -> None:
    clock = Clock()

    assert await wait(respond({}, 201), ANSWER, clock=clock) == [REPLICA, REPLICA]
    assert clock.now == PAUSE_S


async def test_an_api_server_that_restarts_is_called_again() -> None:
    assert await wait(ApiError("https://api", "cannot be reached", "unreachable"), ANSWER)


FAILURES: dict[str, tuple[Response, str]] = {
    "no answer": (respond({}, 201), "mutate.evenspread.io; validate.evenspread.io"),
    "a known failure": (
        refuse("connection refused", 500),
        "mutate.evenspread.io: nothing listens on the port",
    ),
    "an unknown failure": (refuse("odd", 500), "mutate.evenspread.io: odd"),
}


@pytest.mark.parametrize(("response", "message"), FAILURES.values(), ids=FAILURES)
async def test_the_wait_ends_and_reports_why(response: Response, message: str) -> None:
    with pytest.raises(SourceError, match=f"no replica answered within 3 s for {message}"):
        await wait(response)


@pytest.mark.parametrize(
    "step",
    [
        refuse('podtemplates is forbidden: User "a" cannot create resource "podtemplates"'),
        ApiError("https://api", "does not accept these credentials", "unauthorized", 401),
    ],
    ids=["rights", "credentials"],
)
async def test_a_wait_that_cannot_succeed_ends_at_once(step: Response | ApiError) -> None:
    with pytest.raises(ApiError):
        await wait(step)


def configured(policy: str) -> Response:
    """A configuration whose second webhook is ours."""
    other: Any = {"name": "other", "clientConfig": {}}
    ours = {"name": "validate.evenspread.io", "clientConfig": {}, "failurePolicy": policy}
    return respond({"webhooks": [other, ours]})


async def test_a_policy_that_differs_is_patched_at_the_index_of_our_webhook() -> None:
    api = ApiServer(answers={f"GET {ROOT}": configured("Ignore"), f"PATCH {ROOT}": respond({})})

    lines = await set_failure_policies(DoctorClient(api), "evenspread", {Hook.VALIDATE: "Fail"})

    assert lines == ["validate.evenspread.io: failurePolicy is Fail now"]
    patch = api.requests[-1]
    assert patch.content_type == JSON_PATCH
    assert patch.content == [
        {"op": "test", "path": "/webhooks/1/name", "value": "validate.evenspread.io"},
        {"op": "replace", "path": "/webhooks/1/failurePolicy", "value": "Fail"},
    ]


async def test_a_policy_that_is_set_already_is_left() -> None:
    client = client_of({f"GET {ROOT}": configured("Fail")})

    assert await set_failure_policies(client, "evenspread", {Hook.VALIDATE: "Fail"}) == []


@pytest.mark.parametrize(
    ("responses", "message"),
    [
        ({}, "has no webhook validate.evenspread.io to be Fail"),
        ({f"GET {ROOT}": respond({"webhooks": []})}, "has no webhook"),
        (
            {f"GET {ROOT}": configured("Ignore"), f"PATCH {ROOT}": refuse("changed", 409)},
            "failurePolicy could not be set: changed",
        ),
    ],
)
async def test_a_policy_that_cannot_be_set_is_an_error(
    responses: dict[str, Response], message: str
) -> None:
    with pytest.raises(SourceError, match=message):
        await set_failure_policies(client_of(responses), "evenspread", {Hook.VALIDATE: "Fail"})
