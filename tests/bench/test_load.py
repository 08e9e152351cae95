"""Requests as they are written, answers as they are read, and both together over TLS."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench import cpu, load, servers
from tests.bench.load import CONNECTIONS, REFUSED, Load, LoadError, body_of, request_bytes
from tests.bench.reviews import Request
from tests.bench.rounds import Meter, Subject, own_load
from tests.bench.servers import Server

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

WHOLE = {
    "Content-Length first": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nDate: now\r\n\r\n{}",
    "Content-Length last": HEAD + b"Content-Length: 2\r\n\r\n{}",
    "in lower case": HEAD + b"content-length: 2\r\nserver: x\r\n\r\n{}",
}


@pytest.mark.parametrize("received", WHOLE.values(), ids=WHOLE)
def test_a_whole_answer_has_its_body(received: bytes) -> None:
    assert body_of(received) == b"{}"


@pytest.mark.parametrize("received", WHOLE.values(), ids=WHOLE)
def test_every_part_of_an_answer_is_awaited(received: bytes) -> None:
    assert all(body_of(received[:end]) is None for end in range(len(received)))


def test_a_body_may_hold_what_looks_like_a_head() -> None:
    body = b"a\r\n\r\nContent-Length: 1\r\n\r\n"

    assert body_of(HEAD + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)) == body


def test_an_answer_that_is_no_200_ends_the_measurement() -> None:
    with pytest.raises(LoadError, match="503 Service Unavailable"):
        body_of(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 5\r\n\r\nlater")


def test_an_answer_of_a_status_that_may_come_is_an_answer() -> None:
    answer = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 5\r\n\r\nlater"

    assert body_of(answer, REFUSED) == b"later"


def test_a_request_is_one_that_an_api_server_could_send() -> None:
    head, body = request_bytes("/mutate", b"{}", 8443).split(b"\r\n\r\n")
    lines = head.decode().split("\r\n")

    assert lines[0] == "POST /mutate?timeout=10s HTTP/1.1"
    assert {"Host: 127.0.0.1:8443", "Content-Type: application/json", "Content-Length: 2"} <= {
        *lines
    }
    assert body == b"{}"


@pytest.fixture(scope="module")
def floor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = servers.start_floor(tmp_path_factory.mktemp("floor"), min(os.sched_getaffinity(0)))
    yield server
    server.stop()


def test_the_floor_allows_every_request(floor: Server) -> None:
    assert load.ask(floor.port, "/mutate", b"{}")["response"]["allowed"] is True


def test_saturating_load_uses_every_connection(floor: Server) -> None:
    with Load(floor.port, "/mutate", [b"x" * 9_000]) as calls:
        latencies = calls.saturate(0.01)

    assert len(latencies) >= CONNECTIONS
    assert min(latencies) > 0


def test_paced_load_makes_as_many_calls_as_it_should(floor: Server) -> None:
    with Load(floor.port, "/mutate", [b"{}"]) as calls:
        assert len(calls.pace(0.05, 1_000)) == 50


def test_one_run_can_follow_another_on_the_same_connections(floor: Server) -> None:
    with Load(floor.port, "/mutate", [b"{}"]) as calls:
        calls.saturate(0.01)
        assert len(calls.pace(0.01, 1_000)) == 10
        assert calls.saturate(0.01)


def test_a_server_that_refuses_ends_the_measurement(floor: Server) -> None:
    with Load(floor.port, "/two/parts", [b"{}"]) as calls, pytest.raises(LoadError, match="404"):
        calls.saturate(0.01)


def test_a_missing_listener_is_reported(floor: Server) -> None:
    with pytest.raises(LoadError, match="port 1:"):
        Load(1, "/mutate", [b"{}"]).__enter__()


def test_two_subjects_take_turns(floor: Server) -> None:
    meter = Meter(own_load, seconds=0.2, idle_seconds=0)
    one, other = (Subject(floor, Request(path, (b"{}",))) for path in ("/mutate", "/validate"))

    first, second = meter.take_turns(one, other, rounds=2)

    assert len(first) == len(second) == 2
    assert len(meter.rounds) == 4
    assert all(0 < sample.cpu < 1 and sample.busy > 0 for sample in meter.rounds)


def test_a_server_ends_by_its_id(tmp_path: Path) -> None:
    server = servers.start_floor(tmp_path, min(os.sched_getaffinity(0)))
    pid = server.pid

    server.stop()

    with pytest.raises(ProcessLookupError):
        cpu.spent(pid)
