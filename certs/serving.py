"""
TLS context of the server; its certificate can be replaced between two handshakes.

Entry point: ``LiveContext``. This module must not call ``SSLContext.load_cert_chain`` on a context
in use: if certificate and key do not match, the call raises, but it has already replaced the
certificate, and every later handshake fails. So each certificate gets its own context, which
passes a test handshake before the server callback selects it. All test handshakes happen in memory:
other clients may occupy every connection of the listener.
"""

import os
import ssl
from collections.abc import Sequence
from contextlib import suppress

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from certs.clients import Clients
from certs.errors import PairError
from certs.pem import CertificatePair, name_of, pair_errors, write_certificates

ALPN_PROTOCOLS = ["http/1.1"]
"""The only protocol of the server; kube-apiserver prefers HTTP/2 and falls back."""

_NO_CHECK_TIME = 0x200000
"""OpenSSL's ``X509_V_FLAG_NO_CHECK_TIME``: this package checks dates with its own clock."""

_FLIGHTS = 4  # limit of the in-memory handshake: TLS 1.3 needs two flights per side, TLS 1.2 three


class LiveContext:
    """
    Server context whose certificate can be replaced while the context is in use.

    Give ``context`` to the server once. It has no certificate of its own: until the first
    ``swap`` every handshake fails.

    Attributes:
        context: TLS 1.2 or later, HTTP/1.1; requests client certificates if ``clients`` is given.
        clients: The permitted callers; None permits every caller.
        served: The certificate of the next handshake; None before the first ``swap``.
    """

    def __init__(self, clients: Clients | None = None) -> None:
        """
        Request client certificates from the first handshake on, or never.

        Raises:
            PairError: OpenSSL refuses the callers' CA.
        """
        self.clients = clients
        self.context = server_context(clients)
        self.context.sni_callback = self._pick
        self._current: ssl.SSLContext | None = None
        self.served: CertificatePair | None = None

    def swap(self, pair: CertificatePair, trusted: Sequence[x509.Certificate] = ()) -> None:
        """
        Serve this certificate from the next handshake on; open connections do not change.

        Args:
            pair: The certificate and key to serve.
            trusted: The clients' trust anchors; empty: the last certificate of the pair's chain.

        Raises:
            PairError: OpenSSL refuses the pair, or a client that trusts ``trusted`` refuses it.
                The old certificate stays in use.
        """
        fresh = server_context(self.clients)
        with pair_errors(name_of(pair.leaf), "OpenSSL cannot serve it"):
            load(fresh, pair)
            shake_hands(fresh, pair, trusted)
        self._current = fresh
        self.served = pair

    def check(self) -> None:
        """
        Shake hands with ``context``, as a client that connects to the listener now.

        Raises:
            PairError: The client receives another certificate than ``served``, or none.
        """
        assert self.served is not None
        shake_hands(self.context, self.served)

    def _pick(
        self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext
    ) -> int | None:
        if self._current is None:
            return ssl.ALERT_DESCRIPTION_INTERNAL_ERROR
        connection.context = self._current
        return None


def server_context(clients: Clients | None) -> ssl.SSLContext:
    """
    Create a context without a certificate; all server contexts come from here.

    The listening context and its replacements must request client certificates alike: OpenSSL
    follows the listening one, so a single one without the request admits every caller.

    Raises:
        PairError: OpenSSL refuses the callers' CA.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(ALPN_PROTOCOLS)
    # A resumed session skips the check of the client and outlives the client's certificate.
    context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION
    context.num_tickets = 0
    if clients is not None:
        with pair_errors("CA of the clients", "OpenSSL refuses it"):
            context.load_verify_locations(cadata=clients.pem())
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def client_context(trusted: Sequence[x509.Certificate]) -> ssl.SSLContext:
    """
    Create a client context that trusts only these certificates.

    It checks the chain and its purpose, but neither dates nor the host name.

    Raises:
        PairError: OpenSSL refuses a certificate.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    with pair_errors("trusted certificates", "OpenSSL refuses one of them"):
        context.load_verify_locations(cadata=write_certificates(trusted).decode("ascii"))
    # An intermediate may be the anchor: a chain in a file need not contain its root.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN | ssl.VerifyFlags(_NO_CHECK_TIME)
    context.set_alpn_protocols(ALPN_PROTOCOLS)
    return context


def load(context: ssl.SSLContext, pair: CertificatePair) -> None:
    """
    Load a pair into a context that is not in use yet, without writing the key to disk.

    Python loads keys from files only, so this uses an anonymous file in memory
    (``memfd_create``) that disappears when it is closed.

    Raises:
        PairError: OpenSSL refuses the pair; the context is then unusable.
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

    Only the client's half has to finish: by then the server has sent the certificate and proved
    that it has the key. If the server requests a client certificate, its own half fails
    afterwards, because this client has none.

    Raises:
        PairError: The client refuses the certificate, or receives another one.
    """
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = context.wrap_bio(to_server, to_client, server_side=True)
    client = client_context(trusted or pair.chain[-1:]).wrap_bio(to_client, to_server)
    try:
        for _ in range(_FLIGHTS):
            with suppress(ssl.SSLWantReadError):
                client.do_handshake()
            with suppress(ssl.SSLError):  # sent to the client, which reports it
                server.do_handshake()
        client.do_handshake()
    except ssl.SSLError as error:
        reason = getattr(error, "verify_message", None) or error.reason
        raise PairError(name_of(pair.leaf), f"a client would refuse it: {reason}") from None
    if client.getpeercert(binary_form=True) != pair.leaf.public_bytes(Encoding.DER):
        raise PairError(name_of(pair.leaf), "a client would receive another certificate")
