"""The audit process: its pipe, and the result of an order."""

import io
import json
import os
import runpy
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from webhook.cluster.protocol import ApiRequest, Response
from webhook.errors import ApiError, ConfigError
from webhook.policy.api.versions import NEWEST_VERSION
from webhook.policy.defaulting.policystatus import PolicyCounts
from webhook.policy.defaulting.profiles import Profile
from webhook.server.audits.messages import (
    LENGTH,
    ApiResponse,
    AuditFailure,
    AuditOrder,
    AuditResult,
    WorkerMessage,
    decode_message,
    encode,
    frame,
)
from webhook.server.audits.worker import PipeClient, audit
from webhook.server.reload import PolicySources


def order(config: str = "", profiles: tuple[Profile, ...] = ()) -> AuditOrder:
    return AuditOrder(
        sources=PolicySources(version=NEWEST_VERSION, config=config),
        profiles=profiles,
        policy_reports="",
        memory=2**40,
    )


async def test_a_request_is_sent_through_the_pipe() -> None:
    sink = io.BytesIO()
    client = PipeClient(io.BytesIO(frame(encode(ApiResponse(200, b"{}")))), sink)

    response = await client.send("GET", "/version", {"a": "b"})

    assert response == Response(200, b"{}")
    assert decode_message(sink.getvalue()[LENGTH:]) == ApiRequest("GET", "/version", {"a": "b"})


async def test_a_request_without_a_response_is_an_error() -> None:
    source = io.BytesIO(frame(encode(ApiResponse(0, b"", "gave no answer", "silent"))))

    with pytest.raises(ApiError, match="gave no answer") as caught:
        await PipeClient(source, io.BytesIO()).send("GET", "/version")

    assert caught.value.reason == "silent"


def test_a_server_that_has_ended_sends_nothing() -> None:
    with pytest.raises(EOFError):
        PipeClient(io.BytesIO(b"\0"), io.BytesIO()).receive()


class ShortOfMemory(io.BytesIO):
    """A pipe from which nothing large can be read."""

    def read(self, number: int | None = -1) -> bytes:
        if number is not None and number > 100_000:
            raise MemoryError
        return super().read(number)


async def test_an_answer_without_memory_for_it_is_skipped() -> None:
    answers = [ApiResponse(200, b"x" * 150_000), ApiResponse(200, b"{}")]
    client = PipeClient(ShortOfMemory(b"".join(frame(encode(a)) for a in answers)), io.BytesIO())

    with pytest.raises(MemoryError):
        await client.send("GET", "/large")
    response = await client.send("GET", "/small")

    assert response.body == b"{}"


async def test_an_order_with_an_invalid_configuration_fails() -> None:
    client = PipeClient(io.BytesIO(), io.BytesIO())

    with pytest.raises(ConfigError):
        await audit(order("/nowhere"), client)


DEFAULTS = '{"profile":"web","selectorFrom":[],"keys":["zone"],"hash":""}'
POD: Any = {
    "metadata": {
        "name": "a",
        "namespace": "shop",
        "uid": "u",
        "resourceVersion": "1",
        "labels": {"app": "a"},
        "annotations": {"evenspread.io/defaults": DEFAULTS},
    },
    "spec": {"containers": [{"name": "c"}]},
}
EMPTY_LIST: Any = {"metadata": {"resourceVersion": "1"}, "items": []}
CONTENT: dict[str, Any] = {
    "/apis": {"groups": []},
    "/api/v1/pods": {**EMPTY_LIST, "items": [POD]},
}


class ServerPipes:
    """
    Both pipes of the process, with a server at their ends that answers each request at once.

    Attributes:
        messages: The messages of the process that are no requests.
    """

    def __init__(self, order: AuditOrder, error: Exception | None = None) -> None:
        self.messages: list[WorkerMessage] = []
        self._answer = io.BytesIO(frame(encode(order)))
        self._error = error
        self._requested = False

    def write(self, framed: bytes) -> int:
        """Receive a message of the process, and prepare the answer."""
        message = decode_message(framed[LENGTH:])
        if isinstance(message, ApiRequest):
            self._requested = True
            status = 200 if message.method == "GET" else 201
            body = json.dumps(CONTENT.get(message.path, EMPTY_LIST)).encode()
            self._answer = io.BytesIO(frame(encode(ApiResponse(status, body))))
        else:
            self.messages.append(message)
        return len(framed)

    def flush(self) -> None:
        """Do nothing: no byte is held back."""

    def read(self, number: int) -> bytes:
        """Send a piece of the answer; after the first request raise the error, if there is one."""
        if self._requested and self._error is not None:
            raise self._error
        return self._answer.read(number)


def run_worker(pipes: Any, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run the module as its process does, but do not lower the priority of the tests."""
    monkeypatch.setattr(os, "nice", lambda priority: priority)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=pipes))
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=pipes, write=len, flush=int))
    monkeypatch.delitem(sys.modules, "webhook.server.audits.worker")
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("webhook.server.audits.worker", run_name="__main__")
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.mark.parametrize("group", ["", "openreports.io"])
def test_an_order_is_carried_out(group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    profiles = (Profile(name="web"), Profile(name="unused"))
    pipes = ServerPipes(replace(order(profiles=profiles), policy_reports=group))

    assert run_worker(pipes, monkeypatch) == 0

    (result,) = pipes.messages
    assert isinstance(result, AuditResult)
    assert (result.workloads, result.pods) == (1, 1)
    assert result.counts == {"web": PolicyCounts(1, 0, 0), "unused": PolicyCounts(0, 0, 0)}


# config, error of the pipe -> problem
FAILURES = {
    "an invalid configuration": ("/nowhere", None, "/nowhere"),
    "too little memory": (
        "",
        MemoryError(),
        "the nodes, or a page of a list, need more than 1048576 MiB: allow more by --audit-memory",
    ),
}


@pytest.mark.parametrize(("config", "error", "problem"), FAILURES.values(), ids=FAILURES)
def test_an_audit_fails_by(
    config: str, error: Exception | None, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipes = ServerPipes(order(config), error)

    assert run_worker(pipes, monkeypatch) == 0

    (failure,) = pipes.messages
    assert isinstance(failure, AuditFailure)
    assert problem in failure.problem


def test_the_process_ends_with_its_server(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_worker(io.BytesIO(), monkeypatch) == 1
