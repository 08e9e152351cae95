"""Clients that abuse TLS: each connection ends in time, with a short line in the log at most."""

import asyncio
import ssl
import warnings
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from certs.pem import write_certificates
from tests.certs.world import DAY, authority, client_pair, write_pair
from tests.e2e.bystander import Bystander
from tests.e2e.objects import rounds
from tests.e2e.standalone import Standalone, client_tls, eventually
from tests.faults.plugin import FaultReport
from tests.server.serving import Wire, call, review
from webhook.server.http.limits import Limits

HANDSHAKE_S = 6.0  # also for those that behave
EACH = rounds(15, 70)  # connections of each kind
PATIENCE_S = 240.0
NAME = "kube-apiserver"
CALLERS = authority()

CLIENT_HELLO = 22  # content type of a TLS record with a handshake. Source: RFC 8446 5.1
ALERT = 21


def client(folder: Path, name: str, *, of: object = CALLERS, lifetime: float = 7) -> ssl.SSLContext:
    """A client with a certificate of its own."""
    folder = folder / f"{name}-{id(of)}-{lifetime}"
    folder.mkdir()
    write_pair(folder, client_pair(of, name, lifetime * DAY))  # type: ignore[arg-type]
    context = client_tls()
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    return context


def hello(version: ssl.TLSVersion) -> bytes:
    """The first bytes of a client that speaks nothing newer than a version."""
    context = client_tls()
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that is why they are tried
        context.maximum_version = version
    sent = ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), sent).do_handshake()
    written = sent.read()
    assert written[0] == CLIENT_HELLO
    return written


def sending(data: bytes) -> Callable[[Standalone], Awaitable[bytes]]:
    """Send bytes instead of a handshake; gives what the server has answered at its end."""

    async def act(server: Standalone) -> bytes:
        wire = await server.plain()
        answer = await wire.send(data).ended()
        await wire.close()
        return answer

    return act


def knocking(context: ssl.SSLContext) -> Callable[[Standalone], Awaitable[bytes]]:
    """Shake hands with a wrong certificate, and call; with TLS 1.3 the refusal comes after it."""

    async def act(server: Standalone) -> bytes:
        try:
            wire: Wire = await server.connect(context)
            answer = await wire.send(call(review())).ended()
            await wire.close()
        except (ConnectionError, ssl.SSLError):
            return b""
        return answer

    return act


@pytest.mark.fault(18)
async def test_abused_handshakes_end_in_time_and_others_are_served(
    tmp_path: Path, fault_report: FaultReport
) -> None:
    (tmp_path / "ca.crt").write_bytes(write_certificates(CALLERS.chain))
    oldest, old = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    attacks = {
        "half a handshake": sending(hello(ssl.TLSVersion.TLSv1_3)[:-40]),
        "a handshake that stops": sending(hello(ssl.TLSVersion.TLSv1_3)),
        "TLS 1.0": sending(hello(oldest)),
        "TLS 1.1": sending(hello(old)),
        "HTTP without TLS": sending(call(review())),
        "garbage": sending(bytes(range(256)) * 8),
        "no certificate": knocking(client_tls()),
        "a certificate of another CA": knocking(client(tmp_path, NAME, of=authority())),
        "an expired certificate": knocking(client(tmp_path, NAME, lifetime=-0.02)),
    }
    settings = {"client_ca": str(tmp_path / "ca.crt"), "client_names": NAME}
    with Standalone(tmp_path, settings, handshake=HANDSHAKE_S).started() as server:
        server.tls = client(tmp_path, NAME)
        async with asyncio.timeout(PATIENCE_S), Bystander(server) as bystander:
            titles = [title for title in attacks for _ in range(EACH)]
            answers = await asyncio.gather(*(attacks[title](server) for title in titles))
            await eventually(lambda: server.metric("connections") <= 1)
        lines, text = server.lines, server.log.read_text()
        refused = server.rejected("handshake")
        seconds = len(bystander.latencies) * 2 + PATIENCE_S  # more than it took

    assert not any(b"HTTP" in answer or b"AdmissionReview" in answer for answer in answers)
    for title in ("TLS 1.0", "TLS 1.1"):
        of_title = [answer for at, answer in zip(titles, answers, strict=True) if at == title]
        assert all(answer[:1] in (bytes([ALERT]), b"") for answer in of_title)
    bystander.check()
    assert refused >= len(titles) * 2 / 3  # a client may have closed before the handshake failed
    assert "Traceback" not in text
    assert {line["event"] for line in lines if line.get("level") != "info"} <= {"rejected"}
    assert len(lines) <= Limits().refusals_logged * seconds
    fault_report.record(
        load=f"{len(titles)} connections of {len(attacks)} kinds",
        calls=len(bystander.latencies),
        failed=0,
        outcome=f"{refused} refused, {len(lines)} lines in the log, others p99 "
        f"{bystander.p99 * 1e3:.0f} ms",
    )
