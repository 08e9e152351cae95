"""Listening sockets."""

import asyncio
import socket
from typing import ClassVar

import pytest

from tests.server.serving import PATIENCE
from webhook.errors import ConfigError
from webhook.server.health import Health
from webhook.server.http.limits import Limits
from webhook.server.http.listener import ACCEPTED_AT_ONCE, bind, listening
from webhook.telemetry.metrics import Metrics


def test_two_colons_take_ipv4_as_well() -> None:
    (listener,) = bind("::", 0)
    with listener, socket.create_connection(("127.0.0.1", listener.getsockname()[1])) as client:
        assert client.getpeername()[0] == "127.0.0.1"


def test_a_name_stands_for_all_its_addresses_on_one_port() -> None:
    sockets = bind("localhost", 0)

    ports = {opened.getsockname()[1] for opened in sockets}
    for opened in sockets:
        opened.close()

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
        def take(self, accepted: socket.socket, address: str) -> None:
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


async def test_accepting_leaves_time_to_others() -> None:
    turns, taken = set[int](), list[socket.socket]()

    class Slow(Health):
        def take(self, accepted: socket.socket, address: str) -> None:
            taken.append(accepted)

    async def look() -> None:
        while len(taken) < 2 * ACCEPTED_AT_ONCE + 1:
            turns.add(len(taken))
            await asyncio.sleep(0)

    sockets = bind("127.0.0.1", 0)
    clients = [
        socket.create_connection(sockets[0].getsockname()) for _ in range(2 * ACCEPTED_AT_ONCE + 1)
    ]
    async with asyncio.timeout(PATIENCE), listening(Slow(dict, Metrics(), Limits()), sockets):
        await look()
    for opened in (*clients, *taken):
        opened.close()

    assert {0, ACCEPTED_AT_ONCE, 2 * ACCEPTED_AT_ONCE} == turns
