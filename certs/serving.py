"""
The TLS context of the server, whose certificate can be replaced between two handshakes.

``SSLContext.load_cert_chain`` must not be used on a context that is in use: given a certificate
and a key that do not match, it raises, but has replaced the certificate by then, and every later
handshake fails. So each certificate gets a context of its own, which is tried in a handshake
before the server callback picks it.
"""

import os
import ssl
from collections.abc import Sequence

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from certs.clients import Clients
from certs.errors import PairError
from certs.pem import CertificatePair, name_of, pair_errors, write_certificates

ALPN_PROTOCOLS = ["http/1.1"]
"""All that the server speaks; kube-apiserver would prefer HTTP/2 and falls back."""

_NO_CHECK_TIME = 0x200000
"""``X509_V_FLAG_NO_CHECK_TIME`` of OpenSSL: dates are checked by our own clock, not by its."""

_FLIGHTS = 4
"""Bound of the handshake in memory: TLS 1.3 needs two turns of each side, TLS 1.2 three."""


class LiveContext:
    """
    A server context whose certificate can be replaced while it is in use.

    Give ``context`` to the server once. It has no certificate of its own: until the first
    ``swap`` every handshake is refused.

    Attributes:
        context: TLS 1.2 at least, HTTP/1.1; asks for client certificates if ``clients`` is given.
        clients: Who may call; None: whoever can connect.
    """

    def __init__(self, clients: Clients | None = None) -> None:
        """
        Ask callers for a certificate from the first handshake on, or never.

        Raises:
            PairError: OpenSSL refuses the CA of the callers.
        """
        self.clients = clients
        self.context = server_context(clients)
        self.context.sni_callback = self._pick
        self._current: ssl.SSLContext | None = None
        self._served: CertificatePair | None = None

    @property
    def served(self) -> CertificatePair | None:
        """What the next handshake gets; None before the first ``swap``."""
        return self._served

    def swap(self, pair: CertificatePair, trusted: Sequence[x509.Certificate] = ()) -> None:
        """
        Serve this certificate from the next handshake on; open connections are left alone.

        Args:
            pair: What to serve.
            trusted: What clients trust; empty: the last certificate of the pair's own chain.

        Raises:
            PairError: OpenSSL refuses the pair, or a client that trusts ``trusted`` would.
                The old certificate stays in use.
        """
        fresh = server_context(self.clients)
        with pair_errors(name_of(pair.leaf), "OpenSSL cannot serve it"):
            load(fresh, pair)
            shake_hands(fresh, pair, trusted)
        self._current = fresh
        self._served = pair

    def _pick(
        self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext
    ) -> int | None:
        if self._current is None:
            return ssl.ALERT_DESCRIPTION_INTERNAL_ERROR
        connection.context = self._current
        return None


def server_context(clients: Clients | None) -> ssl.SSLContext:
    """
    Make a context without a certificate; the only place where one is made.

    The listening context and all that take its place must ask for client certificates alike:
    OpenSSL obeys the listening one, so a single one that does not ask would open the door.

    Raises:
        PairError: OpenSSL refuses the CA of the callers.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(ALPN_PROTOCOLS)
    # A resumed session would skip the check of the client, and outlive its certificate.
    context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION
    context.num_tickets = 0
    if clients is not None:
        with pair_errors("CA of the clients", "OpenSSL refuses it"):
            context.load_verify_locations(cadata=clients.pem())
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def client_context(trusted: Sequence[x509.Certificate]) -> ssl.SSLContext:
    """
    Make the context of a client that trusts these certificates and nothing else.

    It checks the chain and its purpose, neither the dates nor the host.

    Raises:
        PairError: OpenSSL refuses one of them.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    with pair_errors("trusted certificates", "OpenSSL refuses one of them"):
        context.load_verify_locations(cadata=write_certificates(trusted).decode("ascii"))
    # An intermediate may be the anchor: a chain in a file need not reach its root.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN | ssl.VerifyFlags(_NO_CHECK_TIME)
    context.set_alpn_protocols(ALPN_PROTOCOLS)
    return context


def load(context: ssl.SSLContext, pair: CertificatePair) -> None:
    """
    Put a pair into a context that is not in use yet; the key touches no disk.

    Python loads keys from files only, so the file is one of the kernel's memory
    (``memfd_create``), without a name and gone once it is closed.

    Raises:
        PairError: OpenSSL refuses it; the context is spoilt.
    """
    with os.fdopen(os.memfd_create("certificate"), "wb") as memory:
        memory.write(pair.key_pem() + pair.certificate_pem())
        memory.flush()
        try:
            context.load_cert_chain(f"/proc/self/fd/{memory.fileno()}")
        except ssl.SSLError as error:
            raise PairError(name_of(pair.leaf), f"OpenSSL refuses it: {error.reason}") from None


def shake_hands(
    context: ssl.SSLContext, pair: CertificatePair, trusted: Sequence[x509.Certificate] = ()
) -> None:
    """
    Connect to ``context`` in memory, as a client does.

    Only the client's half has to finish: by then the server has shown the certificate and proved
    to have the key. If it asks for a client certificate, which there is none here, its own half
    fails afterwards.

    Raises:
        PairError: The client refuses, or meets another certificate.
    """
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = context.wrap_bio(to_server, to_client, server_side=True)
    client = client_context(trusted or pair.chain[-1:]).wrap_bio(to_client, to_server)
    for _ in range(_FLIGHTS):
        try:
            client.do_handshake()
            break
        except ssl.SSLWantReadError:
            _answer(server)
        except ssl.SSLError as error:
            reason = getattr(error, "verify_message", None) or error.reason
            raise PairError(name_of(pair.leaf), f"a client would refuse it: {reason}") from None
    else:
        raise PairError(name_of(pair.leaf), "a handshake with it does not come to an end")
    if client.getpeercert(binary_form=True) != pair.leaf.public_bytes(Encoding.DER):
        raise PairError(name_of(pair.leaf), "a client would meet another certificate")


def _answer(server: ssl.SSLObject) -> None:
    try:
        server.do_handshake()
    except ssl.SSLError:
        # What went wrong, if anything did, is told to the client and found there.
        return
