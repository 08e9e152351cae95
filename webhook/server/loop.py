"""The event loop of the server: uvloop, with a fix for a fault that closes other connections."""

from typing import Any

import uvloop


class Loop(uvloop.Loop):
    """
    An event loop that detaches the socket of a failed connection.

    If the peer resets a TLS connection at once, uvloop closes the file descriptor, but the socket
    object keeps its number. When Python frees the object, it closes the number again. By then the
    number may belong to a connection of the API server.

    Source: uvloop 0.23 loop.pyx ``create_connection``; its issues 645 and 738 are similar.
    """

    async def create_connection(self, *arguments: Any, **options: Any) -> Any:
        """Connect as uvloop does; if that fails, detach the socket."""
        try:
            return await super().create_connection(*arguments, **options)
        except BaseException:  # a cancellation too
            if (sock := options.get("sock")) is not None:
                sock.detach()
            raise
