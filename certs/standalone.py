"""
Certificate for one machine, created once and kept in a state folder, for local trials.

Entry point: ``standalone_source``. The folder holds ``ca.crt``, ``tls.crt`` and ``tls.key``. The
CA's key must not be stored: it signs one leaf and is discarded, so nothing in the folder can sign
for another name. Therefore a new leaf, after a year or for another address, has a new CA.
"""

import fcntl
import os
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509

from certs.errors import PairError, StateError
from certs.files import read_file, read_pair
from certs.issue import alternative_names, make_authority, sign_leaf
from certs.pem import alternative_names_of, issued_by, pair_errors, read_certificates
from certs.polling import INTERVAL_S, LoadedPair, PollingSource
from certs.serving import LiveContext
from certs.source import SourceEnvironment

STANDALONE_LIFETIME = timedelta(days=365)
"""Lifetime of CA and leaf; Apple's clients refuse server certificates of more than 398 days."""

RENEW_BEFORE = timedelta(days=1)
"""Time before expiry to replace CA and leaf: short, as clients hold a copy of ``ca.crt``."""

_LOCK_TRIES, _LOCK_PAUSE_S = 200, 0.01  # 2 s: only a stopped process holds the lock this long

LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
"""Names of the server for clients on the same machine."""


def standalone_source(
    folder: Path,
    bind: str,
    live: LiveContext,
    environment: SourceEnvironment,
    *,
    interval: float = INTERVAL_S,
) -> PollingSource:
    """
    Serve the certificate and key of a state folder; create them if there are no usable ones.

    Several processes may share a folder: every process locks it to read or write, and follows
    the changes of the others. Clients have to trust ``FOLDER/ca.crt``.

    Args:
        folder: Created with mode 0700 if it does not exist.
        bind: The IP address or host name that the server listens on.
        interval: Seconds between two checks of the folder.
    """
    hosts = hosts_for(bind)
    return PollingSource(
        lambda now: ensure_pair(folder, hosts, now=now), live, environment, interval=interval
    )


def hosts_for(bind: str) -> tuple[str, ...]:
    """List the host names for the leaf; an address that means all addresses adds none."""
    try:
        is_host = not ip_address(bind).is_unspecified
    except ValueError:
        is_host = bool(bind)
    return tuple(dict.fromkeys((*LOCAL_HOSTS, bind) if is_host else LOCAL_HOSTS))


def ensure_pair(folder: Path, hosts: Sequence[str], *, now: datetime) -> LoadedPair:
    """
    Load the pair of a state folder; create a new one if it cannot serve ``hosts`` at ``now``.

    Raises:
        StateError: The folder cannot be read or written.
    """
    try:
        with locked(folder):
            try:
                return _read(folder, hosts, now)
            except PairError:
                # Keep the former hosts too: their server may still run and share the folder.
                return _make(folder, (*hosts, *_former_hosts(folder)), now)
    except OSError as error:
        problem = f"cannot keep a certificate: {error.strerror}; name another folder with --state"
        raise StateError(str(folder), problem) from None


def _read(folder: Path, hosts: Sequence[str], now: datetime) -> LoadedPair:
    where = str(folder)
    pair = read_pair(folder)
    authority = read_certificates(read_file(folder / "ca.crt"), where=where)[0]
    pair.check_time(now, where=where)
    if now >= pair.leaf.not_valid_after_utc - RENEW_BEFORE:
        raise PairError(where, "is about to expire")
    if not issued_by(pair.leaf, authority):
        raise PairError(where, "ca.crt did not sign tls.crt")
    if not set(alternative_names(hosts)) <= _names(pair.leaf):
        raise PairError(where, "is for other addresses")
    key = folder / "tls.key"
    if key.stat().st_mode & 0o077:  # other users have access; a read-only folder stays unchanged
        key.chmod(0o600)
    return LoadedPair(pair=pair, authorities=(authority,))


def _make(folder: Path, hosts: Sequence[str], now: datetime) -> LoadedPair:
    signer = make_authority(now=now, lifetime=STANDALONE_LIFETIME)
    pair = sign_leaf(signer, hosts, now=now, lifetime=STANDALONE_LIFETIME)
    # A crash between the writes leaves files that do not match; the next call replaces them.
    _write(folder / "tls.key", pair.key_pem(), mode=0o600)
    _write(folder / "tls.crt", pair.certificate_pem(), mode=0o644)
    _write(folder / "ca.crt", signer.certificate_pem(), mode=0o644)
    return LoadedPair(pair=pair, authorities=signer.chain)


def _former_hosts(folder: Path) -> tuple[str, ...]:
    """List the hosts of the existing leaf; empty if one of them cannot be encoded again."""
    try:
        leaf = read_certificates(read_file(folder / "tls.crt"))[0]
        hosts = tuple(str(name.value) for name in _names(leaf))
        with pair_errors(str(folder), "is for hosts that cannot be written"):
            alternative_names(hosts).public_bytes()
    except PairError:
        return ()
    return hosts


def _names(leaf: x509.Certificate) -> set[x509.GeneralName]:
    return set(alternative_names_of(leaf) or ())


@contextmanager
def locked(folder: Path, *, tries: int = _LOCK_TRIES) -> Generator[None]:
    """
    Lock a folder against other processes; create it if it does not exist.

    The lock lasts for milliseconds, and the kernel releases it if its holder dies.

    Raises:
        StateError: Another process held the lock at each of ``tries``.
        OSError: The folder cannot be created or opened.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for _ in range(tries):
            with suppress(BlockingIOError):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            time.sleep(_LOCK_PAUSE_S)
        else:
            problem = "is locked by another process; end it, or name another folder"
            raise StateError(str(folder), problem)
        yield
    finally:
        os.close(handle)


def _write(path: Path, content: bytes, *, mode: int) -> None:
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(handle)
    fresh.replace(path)
