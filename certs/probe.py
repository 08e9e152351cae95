"""Probe of a listener: a TLS handshake as a network client makes it."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress

from cryptography.hazmat.primitives.serialization import Encoding

from certs.errors import PairError
from certs.pem import CertificatePair
from certs.serving import client_context

PROBE_TIMEOUT_S = 5.0
"""Timeout of connection and handshake with a local listener; equals its limit for clients."""

Probe = Callable[[CertificatePair], Awaitable[None]]
"""Verifies that new connections receive this pair, or raises a ``PairError``."""


def listener_probe(host: str, port: int) -> Probe:
    """
    Return the probe of a listener.

    The probe works with mTLS too: in TLS 1.3 the client's half of a handshake ends before the
    server notices the missing client certificate.
    """

    async def probe(pair: CertificatePair) -> None:
        where = f"listener {host}:{port}"
        try:
            async with asyncio.timeout(PROBE_TIMEOUT_S):
                served = await _read_served(host, port, client_context(pair.chain[-1:]))
        except (OSError, TimeoutError) as error:
            reason = getattr(error, "verify_message", None) or str(error) or "no answer"
            raise PairError(where, f"the certificate cannot be seen there: {reason}") from None
        if served != pair.leaf.public_bytes(Encoding.DER):
            raise PairError(where, "another certificate is seen there")

    return probe


async def _read_served(host: str, port: int, context: ssl.SSLContext) -> bytes | None:
    _, writer = await asyncio.open_connection(host, port, ssl=context)
    try:
        connection: ssl.SSLObject = writer.get_extra_info("ssl_object")
        return connection.getpeercert(binary_form=True)
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
