"""
A certificate that somebody else renews: ``tls.crt`` and ``tls.key`` in a mounted folder.

The names are those of a Secret of type ``kubernetes.io/tls``, as cert-manager fills it. The
folder is polled, since a mounted Secret sends no reliable events.
"""

from contextlib import suppress
from datetime import datetime
from pathlib import Path

from cryptography import x509

from certs.errors import PairError
from certs.pem import Bundle, read_certificates
from certs.polling import INTERVAL_S, Found, PollingSource, Trusts, nobody_asked
from certs.serving import LiveContext
from certs.source import Outside

_TRIES = 2  # reads in a row: a symlink may be swapped between certificate and key, not twice


def file_source(
    folder: Path,
    live: LiveContext,
    outside: Outside,
    *,
    interval: float = INTERVAL_S,
    trusts: Trusts = nobody_asked,
) -> PollingSource:
    """
    Serve the pair of a folder: ``tls.crt`` (leaf first), ``tls.key`` and, if there, ``ca.crt``.

    Args:
        interval: Seconds between two reads.
        trusts: Tells whether the webhook configurations trust the pair; ``Hooks.trust``.
    """

    def find(now: datetime) -> Found:
        pair = read_pair(folder)
        pair.check_time(now, where=str(folder))
        return Found(pair=pair, authorities=read_authorities(folder, pair))

    return PollingSource(find, live, outside, interval=interval, trusts=trusts)


def read_pair(folder: Path) -> Bundle:
    """
    Read ``tls.crt`` and ``tls.key``.

    Raises:
        PairError: A file is missing, broken, or not the other's.
    """
    for _ in range(_TRIES - 1):
        with suppress(PairError):
            return _read_pair_once(folder)
    return _read_pair_once(folder)


def read_authorities(folder: Path, pair: Bundle) -> tuple[x509.Certificate, ...]:
    """Find what clients have to trust: ``ca.crt``, else what the chain holds above the leaf."""
    try:
        return read_certificates(content(folder / "ca.crt"))
    except PairError:
        return pair.chain[1:]


def content(path: Path) -> bytes:
    """
    Read a file that may not be empty.

    Raises:
        PairError: It cannot be read, or is empty.
    """
    try:
        found = path.read_bytes()
    except OSError as error:
        raise PairError(str(path), f"cannot be read: {error.strerror}") from None
    if not found.strip():
        raise PairError(str(path), "is empty")
    return found


def _read_pair_once(folder: Path) -> Bundle:
    certificates, key = content(folder / "tls.crt"), content(folder / "tls.key")
    return Bundle.parse(certificates, key, where=str(folder))
