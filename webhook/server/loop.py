"""The event loop of the server: uvloop, with a fault mended that closes connections of others."""

from typing import Any

import uvloop


class Loop(uvloop.Loop):
    """
    An event loop in which a failed connection closes no other one later.

    If a peer resets a TLS connection at once, uvloop closes the descriptor, but the socket object
    keeps its number. When Python frees the object, it closes the descriptor again, which may by
    then belong to a call of the API server.

    Source: uvloop 0.23 loop.pyx ``create_connection``, which mends issues 645 and 738 alone.
    """

    async def create_connection(self, *arguments: Any, **options: Any) -> Any:
        """Connect as uvloop does; a given socket that fails forgets its descriptor."""
        try:
            return await super().create_connection(*arguments, **options)
        except BaseException:
            if (sock := options.get("sock")) is not None:
                sock.detach()
            raise
