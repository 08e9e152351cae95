"""Props of the certificate tests: a clock, a life that costs no time, real handshakes."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from certs.issue import common_name, make_authority, sign_leaf
from certs.pem import CertificatePair, write_certificates
from certs.serving import LiveContext
from certs.source import Notice, SourceEnvironment


def real_clock() -> datetime:
    return datetime.now(UTC)  # noqa: TID251  OpenSSL and Go read it too


NOW = real_clock().replace(microsecond=0)
DAY = timedelta(days=1)


class EndOfTestError(Exception):
    """The loop under test has slept often enough."""


@dataclass
class World:
    """
    A clock that is set by hand, sleep that costs no time, and whatever was reported.

    After ``nights`` sleeps the loop under test is stopped.
    """

    now: datetime = NOW
    notices: list[Notice] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)
    nights: int = 1_000_000

    @property
    def environment(self) -> SourceEnvironment:
        return SourceEnvironment(
            clock=lambda: self.now, sleep=self.sleep, report=self.notices.append
        )

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += timedelta(seconds=seconds)
        await asyncio.sleep(0)
        if len(self.slept) == self.nights:
            raise EndOfTestError

    @property
    def complaints(self) -> list[str]:
        return [notice.text for notice in self.notices if not notice.ok]


def authority(now: datetime = NOW, lifetime: timedelta = 365 * DAY) -> CertificatePair:
    return make_authority(now=now, lifetime=lifetime)


def leaf(
    signer: CertificatePair, *hosts: str, now: datetime = NOW, lifetime: timedelta = 7 * DAY
) -> CertificatePair:
    return sign_leaf(signer, hosts or ("localhost",), now=now, lifetime=lifetime)


def client_pair(
    signer: CertificatePair, name: str, lifetime: timedelta = 7 * DAY
) -> CertificatePair:
    """A leaf of ours is for servers; the certificate of a caller does not say what it is for."""
    assert isinstance(signer.key, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        x509.CertificateBuilder()
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .subject_name(common_name(name))
        .issuer_name(signer.leaf.subject)
        .not_valid_before(NOW - DAY)
        .not_valid_after(NOW + lifetime)
        .sign(signer.key, hashes.SHA256())
    )
    return CertificatePair(chain=(certificate,), key=key)


def write_pair(folder: Path, pair: CertificatePair) -> None:
    (folder / "tls.crt").write_bytes(pair.certificate_pem())
    (folder / "tls.key").write_bytes(pair.key_pem())


def strict_client(
    trusted: Iterable[x509.Certificate], certificate: Path | None = None
) -> ssl.SSLContext:
    """The strictest client that Python can be; ``certificate`` holds its own pair."""
    context = ssl.create_default_context(cadata=write_certificates(trusted).decode())
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    if certificate is not None:
        context.load_cert_chain(certificate / "tls.crt", certificate / "tls.key")
    return context


@contextlib.asynccontextmanager
async def listening(live: LiveContext) -> AsyncGenerator[int]:
    """A real server on a real port, which reports whom it let in: ``hello`` once read from."""

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, EOFError):
            await reader.readexactly(1)
            writer.write(b"hello")
            await writer.drain()
        with contextlib.suppress(OSError):
            writer.close()
            await writer.wait_closed()

    server = await asyncio.start_server(greet, "127.0.0.1", 0, ssl=live.context)
    async with server:
        yield server.sockets[0].getsockname()[1]
    async with asyncio.timeout(60):
        # Until 3.12 wait_closed() does not wait for connections, such as half a handshake.
        while getattr(server, "_active_count", 0):  # noqa: ASYNC110  there is no event for it
            await asyncio.sleep(0)


async def call(port: int, client: ssl.SSLContext, name: str = "localhost") -> x509.Certificate:
    """Connect, be answered, and return the certificate of the server."""
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=client, server_hostname=name
    )
    try:
        writer.write(b"?")
        assert await reader.readexactly(5) == b"hello"
        served = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        return x509.load_der_x509_certificate(served)
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
