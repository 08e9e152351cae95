"""Listening sockets: ``bind`` creates them, ``listening`` accepts connections for an endpoint."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Sequence
from contextlib import ExitStack, asynccontextmanager

from webhook.errors import ConfigError
from webhook.server.http.endpoint import HttpEndpoint

BACKLOG = 128  # connections that wait in the kernel; further ones try again after a second

ACCEPTED_AT_ONCE = 8  # connections, whose handshakes take 4 ms; then open ones have their turn


@asynccontextmanager
async def listening(
    endpoint: HttpEndpoint, sockets: Sequence[socket.socket]
) -> AsyncGenerator[None]:
    """
    Accept connections as long as the context lasts; then close the sockets, and finish.

    Args:
        sockets: Bound, listening and non-blocking; closed at the end.
    """
    async with asyncio.TaskGroup() as group:
        accepting = [group.create_task(_accept(listener, endpoint)) for listener in sockets]
        try:
            yield
        finally:
            for task in accepting:
                task.cancel()
            await asyncio.wait(accepting)
            for listener in sockets:
                listener.close()
            await endpoint.finish()


async def _accept(listener: socket.socket, endpoint: HttpEndpoint) -> None:
    loop = asyncio.get_running_loop()
    while True:
        try:
            accepted, address = await loop.sock_accept(listener)
            endpoint.take(accepted, str(address[0]))
            for _ in range(ACCEPTED_AT_ONCE - 1):
                accepted, address = listener.accept()
                accepted.setblocking(False)  # noqa: FBT003  # the standard library's signature
                endpoint.take(accepted, str(address[0]))
        except (BlockingIOError, ConnectionError):  # none is left; the client closed it before
            continue
        except OSError:  # no file descriptor left
            await asyncio.sleep(endpoint.limits.accept_again)


def bind(host: str, port: int) -> list[socket.socket]:
    """
    Create the listening sockets of a server; ``::`` accepts IPv4 as well.

    Args:
        host: An address, or a name, all of whose addresses are bound.
        port: 0 chooses a free port, the same for all addresses.

    Raises:
        ConfigError: The address is not on this machine, or the port is in use.
    """
    sockets: list[socket.socket] = []
    with ExitStack() as opened:  # closes all of them if one fails
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            for family, address in {(family, str(at[0])): None for family, *_, at in found}:
                port = sockets[0].getsockname()[1] if sockets else port
                dual = family == socket.AF_INET6 and host == "::" and socket.has_dualstack_ipv6()
                listener = socket.create_server(
                    (address, port), family=family, backlog=BACKLOG, dualstack_ipv6=dual
                )
                listener.setblocking(False)  # noqa: FBT003  # the standard library's signature
                sockets.append(opened.enter_context(listener))
        except OSError as error:
            reason = (error.strerror or str(error)).partition(" (")[0]
            advice = "choose a free one with --port, --health-port or --bind"
            raise ConfigError(f"cannot listen on {host} port {port}: {reason}: {advice}") from None
        opened.pop_all()
    return sockets
