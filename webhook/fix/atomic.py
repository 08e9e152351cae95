"""
A file read to be written again: whole or not at all, and only if nobody else wrote it meanwhile.

A new file takes the place of the old one, so that no reader ever sees a half of it.
"""

import contextlib
import os
import stat
import tempfile
from pathlib import Path
from typing import NamedTuple

from webhook.errors import SourceError

_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


class OriginalFile(NamedTuple):
    """
    A file as it was read.

    Attributes:
        source: As it was named.
        data: Its bytes.
    """

    source: str
    data: bytes

    @property
    def path(self) -> Path:
        """The file itself, where a link was named."""
        return Path(os.path.realpath(self.source))


def replace_file(original: OriginalFile, data: bytes) -> None:
    """
    Write a file anew, with the mode and, as far as that is allowed, the owner that it has.

    Raises:
        SourceError: It cannot be written, or is not as it was read any more; it stays as it is.
    """
    path = original.path
    try:
        status = path.stat()
        _refuse(original, status)
        temporary = _written(path, data, status)
        try:
            _refuse_changed(original)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _settle(path.parent)
    except OSError as error:
        raise SourceError(
            original.source, f"cannot be written: {error.strerror or error}"
        ) from error


def _refuse(original: OriginalFile, status: os.stat_result) -> None:
    """Refuse what a new file cannot stand for, and what its owner has protected."""
    if not stat.S_ISREG(status.st_mode):
        raise SourceError(original.source, "no file that could be written: pipe it to -f -")
    if not status.st_mode & _WRITABLE or not os.access(original.path, os.W_OK):
        raise SourceError(original.source, "cannot be written: it is read-only")


def _refuse_changed(original: OriginalFile) -> None:
    if original.path.read_bytes() != original.data:
        raise SourceError(original.source, "changed meanwhile, not written: run it again")


def _written(path: Path, data: bytes, like: os.stat_result) -> Path:
    """Write a file beside another one, down to the disk; nothing is left if that fails."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            with contextlib.suppress(PermissionError):  # whoever may write need not own it
                os.fchown(descriptor, like.st_uid, like.st_gid)
            os.fchmod(descriptor, stat.S_IMODE(like.st_mode))
            stream.write(data)
            stream.flush()
            os.fsync(descriptor)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def _settle(folder: Path) -> None:
    """Bring the new name down to the disk, where a file system can."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
