"""Private keys that a process has left in files, or holds open."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

MARKS = (
    b"PRIVATE KEY",  # PEM, whatever its form
    b"\x02\x01\x01\x04\x20",  # DER of a key on P-256: version 1, then 32 bytes (RFC 5915)
)


def files_with_keys(*folders: Path) -> list[Path]:
    """Find files below these folders that hold a private key."""
    return [
        Path(folder, name)
        for root in folders
        for folder, _, names in os.walk(root)
        for name in names
        if holds_key(Path(folder, name))
    ]


def open_files_with_keys(pid: int) -> list[str]:
    """Find files with a private key that a process has open, those without a name included."""
    return [where for where, link in open_files(pid) if holds_key(link)]


def open_files(pid: int) -> Iterator[tuple[str, Path]]:
    """List what a process has open and can be read again: where it is, and a way to read it."""
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            where = str(link.readlink())
            if where.startswith("/"):  # else a socket, a pipe, an event queue
                yield where, link


def holds_key(path: Path) -> bool:
    """Return whether a file holds a private key."""
    if not path.is_file():
        return False
    content = path.read_bytes()
    return any(mark in content for mark in MARKS)
