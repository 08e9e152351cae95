"""
Atomic replacement of a file, unless another process changed it since it was read.

``replace_file`` is the entry point. It renames a new file over the old one, so that no reader ever
sees a part of it.
"""

import contextlib
import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from webhook.errors import SourceError

_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True)
class OriginalFile:
    """The path of a file as it was given, and the content as it was read."""

    source: str
    data: bytes

    @property
    def path(self) -> Path:
        """The path of the file itself, also if ``source`` is a symbolic link."""
        return Path(os.path.realpath(self.source))


def replace_file(original: OriginalFile, data: bytes) -> None:
    """
    Replace a file; keep its mode and, if permitted, its owner.

    Raises:
        SourceError: Writing fails, or the file has changed since it was read; it is left as it is.
    """
    path = original.path
    try:
        status = path.stat()
        _check_writable(original, status)
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        temporary = Path(name)
        try:
            _write(descriptor, data, status)
            _check_unchanged(original)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _flush_folder(path.parent)
    except OSError as error:
        raise SourceError(
            original.source, f"cannot be written: {error.strerror or error}"
        ) from error


def _check_writable(original: OriginalFile, status: os.stat_result) -> None:
    """Refuse read-only files, and anything except a regular file."""
    if not stat.S_ISREG(status.st_mode):
        raise SourceError(original.source, "not a regular file: pipe it to -f -")
    if not status.st_mode & _WRITABLE or not os.access(original.path, os.W_OK):
        raise SourceError(original.source, "cannot be written: it is read-only")


def _check_unchanged(original: OriginalFile) -> None:
    if original.path.read_bytes() != original.data:
        problem = "changed by another process, not written: run the command again"
        raise SourceError(original.source, problem)


def _write(descriptor: int, data: bytes, like: os.stat_result) -> None:
    """Write a file with the owner and the mode of another one, flush it to disk, and close it."""
    with os.fdopen(descriptor, "wb") as stream:
        with contextlib.suppress(PermissionError):  # writing does not require owning
            os.fchown(descriptor, like.st_uid, like.st_gid)
        os.fchmod(descriptor, stat.S_IMODE(like.st_mode))
        stream.write(data)
        stream.flush()
        os.fsync(descriptor)


def _flush_folder(folder: Path) -> None:
    """Flush the new directory entry to disk, if the file system can."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
