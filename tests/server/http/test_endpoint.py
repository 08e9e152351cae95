"""Sockets, and what aiohttp must not do."""

import asyncio
import socket
import subprocess
import sys
from typing import ClassVar

import pytest

from tests.server.serving import PATIENCE, call, review, serving, settled
from webhook.errors import ConfigError
from webhook.policy.facts import Facts, NoFacts
from webhook.server.health import Health
from webhook.server.http.endpoint import bind, listening, require_c_parser
from webhook.server.http.limits import Limits
from webhook.telemetry.metrics import Metrics


def test_the_c_parser_is_there() -> None:
    require_c_parser()


def test_a_server_without_the_c_parser_does_not_start() -> None:
    code = "from webhook.server.http.endpoint import require_c_parser; require_c_parser()"
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env={"AIOHTTP_NO_EXTENSIONS": "1"},
        capture_output=True,
        check=False,
        text=True,
    )

    assert ended.returncode == 1
    assert "ParserError: aiohttp has no C parser: install its wheel" in ended.stderr


def test_two_colons_take_ipv4_as_well() -> None:
    (listener,) = bind("::", 0)
    with listener, socket.create_connection(("127.0.0.1", listener.getsockname()[1])) as client:
        assert client.getpeername()[0] == "127.0.0.1"


def test_a_name_stands_for_all_its_addresses_on_one_port() -> None:
    sockets = bind("localhost", 0)

    ports = {each.getsockname()[1] for each in sockets}
    for each in sockets:
        each.close()

    assert len(ports) == 1


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(ConfigError, match=f"cannot listen on 127.0.0.1 port {port}: Address"):
            bind("127.0.0.1", port)


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"cannot listen on 192\.0\.2\.1 port 0: "):
        bind("192.0.2.1", 0)


class Exhausted(socket.socket):
    """A listening socket whose process has no file descriptor left, twice."""

    errors: ClassVar = [OSError(24, "Too many open files"), ConnectionAbortedError()]

    def accept(self) -> tuple[socket.socket, object]:
        if self.errors:
            raise self.errors.pop()
        return super().accept()


async def test_accepting_goes_on_after_errors() -> None:
    taken = asyncio.Event()

    class Once(Health):
        def take(self, accepted: socket.socket) -> None:
            accepted.close()
            taken.set()

    listener = Exhausted()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    listener.setblocking(False)
    health = Once(dict, Metrics(), Limits(accept_again=0))
    async with listening(health, [listener]):
        with socket.create_connection(listener.getsockname()):
            await asyncio.wait_for(taken.wait(), PATIENCE)

    assert Exhausted.errors == []


async def test_what_is_in_flight_is_finished_when_the_server_stops() -> None:
    opened = asyncio.Event()

    async def wait(*_: object) -> Facts:
        await opened.wait()
        return NoFacts()

    async with serving(fetch=wait) as server:
        wire = await server.connect()
        wire.send(call(review()))
        await settled(lambda: server.admission.in_flight == 1)

        stopping = asyncio.create_task(server.admission.finish())
        await settled(lambda: server.admission.draining)
        opened.set()
        reply = await wire.reply()
        rest = await wire.ended()
        await stopping

    assert reply.status == 200
    assert reply.closes
    assert rest == b""


async def test_what_is_not_finished_in_time_is_cut() -> None:
    async def wait(*_: object) -> Facts:
        await asyncio.Event().wait()
        raise AssertionError

    async with serving(Limits(finish=0.01), fetch=wait) as server:
        wire = await server.connect()
        wire.send(call(review()))
        await settled(lambda: server.admission.in_flight == 1)

        await server.admission.finish()
        rest = await wire.ended()

    assert rest == b""


async def test_nothing_is_lost_when_a_server_stops_under_load() -> None:
    """Clients as Go's: they keep connections, and never send a request again once it was sent."""
    callers, calls_after = 8, 50
    sent = answered = 0

    async with serving() as server:

        async def hammer() -> None:
            nonlocal sent, answered
            wire, left = await server.connect(), calls_after
            while left:  # until its endpoints have forgotten the server
                sent += 1
                reply = await wire.ask(call(review(str(sent))))
                answered += reply.status == 200
                left -= server.admission.draining
                if reply.closes:
                    wire = await server.connect()

        async with asyncio.TaskGroup() as group:
            for _ in range(callers):
                group.create_task(hammer())
            await settled(lambda: answered > 100)
            server.admission.draining = True
        await server.admission.finish()

    assert answered == sent
    assert answered >= 100 + callers * (calls_after - 1)
