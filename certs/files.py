"""
Certificate source for externally renewed files: ``tls.crt`` and ``tls.key`` in a mounted folder.

Entry point: ``file_source``. The names are those of a Secret of type ``kubernetes.io/tls``, such
as cert-manager's. The source polls, because a mounted Secret sends no reliable events.
"""

import os
import stat
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from cryptography import x509

from certs.errors import PairError
from certs.pem import CertificatePair, read_certificates
from certs.polling import INTERVAL_S, LoadedPair, PollingSource, Trusts
from certs.serving import LiveContext
from certs.source import SourceEnvironment

MAX_FILE_BYTES = 2**20  # size limit of a file: a mounted Secret cannot be larger than 1 MiB


def file_source(
    folder: Path,
    live: LiveContext,
    environment: SourceEnvironment,
    *,
    interval: float = INTERVAL_S,
    trusts: Trusts | None = None,
) -> PollingSource:
    """
    Serve the pair of a folder: ``tls.crt`` (leaf first), ``tls.key`` and optionally ``ca.crt``.

    Args:
        interval: Seconds between two reads.
        trusts: Returns whether the webhook configurations trust the pair; ``Hooks.trust``.
    """

    def find(now: datetime) -> LoadedPair:
        pair = read_pair(folder)
        pair.check_time(now, where=str(folder))
        return LoadedPair(pair=pair, authorities=read_authorities(folder, pair))

    return PollingSource(find, live, environment, interval=interval, trusts=trusts)


def read_file(path: Path) -> bytes:
    """
    Read a regular file that is not empty; reading a pipe, for example, might never end.

    Raises:
        PairError: The file is unreadable, empty, or larger than ``MAX_FILE_BYTES``.
    """
    where = str(path)
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise PairError(where, "is no regular file")
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise PairError(where, f"cannot be read: {error.strerror}") from None
    except ValueError:  # the path contains a NUL
        raise PairError(where, "cannot be read: no file can have that name") from None
    if len(content) > MAX_FILE_BYTES:
        raise PairError(where, "is larger than 1 MiB, and so than any Secret; check its path")
    if not content.strip():
        raise PairError(where, "is empty")
    return content


def read_pair(folder: Path, read: Callable[[Path], bytes] = read_file) -> CertificatePair:
    """
    Read ``tls.crt`` and ``tls.key``.

    Raises:
        PairError: A file is missing or broken, or the files do not match.
    """
    try:
        return _read_pair_once(folder, read)
    except PairError:  # the kubelet may have swapped the symlink between certificate and key
        return _read_pair_once(folder, read)


def read_authorities(folder: Path, pair: CertificatePair) -> tuple[x509.Certificate, ...]:
    """Return the trust anchors: ``ca.crt``, or else the chain above the leaf."""
    try:
        return read_certificates(read_file(folder / "ca.crt"))
    except PairError:
        return pair.chain[1:]


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # or a pipe without a writer would block


def _read_pair_once(folder: Path, read: Callable[[Path], bytes]) -> CertificatePair:
    certificates, key = read(folder / "tls.crt"), read(folder / "tls.key")
    return CertificatePair.parse(certificates, key, where=str(folder))
