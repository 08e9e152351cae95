"""A connection that fails at once, and the descriptor that it had."""

import asyncio
import ssl
import struct
from collections.abc import Iterator
from socket import SO_LINGER, SOL_SOCKET, create_connection, create_server, socket

import pytest
import uvloop

from webhook.server.loop import Loop

RESET_AT_CLOSE = struct.pack("ii", 1, 0)  # struct linger of socket(7): on, 0 seconds


@pytest.fixture
def was_reset() -> Iterator[socket]:
    """A socket whose peer has accepted the connection and reset it."""
    with create_server(("127.0.0.1", 0)) as listener:
        client = create_connection(listener.getsockname())
        accepted, _ = listener.accept()
        accepted.setsockopt(SOL_SOCKET, SO_LINGER, RESET_AT_CLOSE)
        accepted.close()
    client.setblocking(False)
    yield client
    client.detach()  # its descriptor is closed, and may belong to another test


async def fail(sock: socket) -> None:
    """Connect with TLS."""
    loop, tls = asyncio.get_running_loop(), ssl.create_default_context()
    with pytest.raises(ConnectionResetError):
        await loop.create_connection(asyncio.Protocol, sock=sock, ssl=tls, server_hostname="api")


def test_a_socket_that_was_reset_forgets_its_descriptor(was_reset: socket) -> None:
    uvloop.run(fail(was_reset), loop_factory=Loop)

    assert was_reset.fileno() == -1


def test_uvloop_alone_keeps_the_number_of_a_closed_descriptor(was_reset: socket) -> None:
    uvloop.run(fail(was_reset))

    assert was_reset.fileno() != -1


def test_a_connection_that_succeeds_keeps_its_descriptor_until_it_is_closed() -> None:
    async def connect(client: socket) -> tuple[int, int]:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_connection(asyncio.Protocol, sock=client)
        during = client.fileno()
        transport.close()
        await asyncio.sleep(0)
        return during, client.fileno()

    with create_server(("127.0.0.1", 0)) as listener:
        client = create_connection(listener.getsockname())
        number = client.fileno()
        assert uvloop.run(connect(client), loop_factory=Loop) == (number, -1)


def test_a_host_is_connected_to_without_a_socket() -> None:
    async def connect(port: int) -> bool:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_connection(asyncio.Protocol, "127.0.0.1", port)
        transport.close()
        return transport.is_closing()

    with create_server(("127.0.0.1", 0)) as listener:
        assert uvloop.run(connect(listener.getsockname()[1]), loop_factory=Loop)


def test_a_host_that_refuses_is_an_error_as_before() -> None:
    async def connect(port: int) -> None:
        await asyncio.get_running_loop().create_connection(asyncio.Protocol, "127.0.0.1", port)

    with create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(ConnectionRefusedError):
        uvloop.run(connect(port), loop_factory=Loop)
