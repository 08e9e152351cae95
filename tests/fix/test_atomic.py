import errno
import os
import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from webhook.errors import SourceError
from webhook.fix.atomic import OriginalFile, replace_file


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


@pytest.fixture
def original(tmp_path: Path) -> OriginalFile:
    path = tmp_path / "web.yaml"
    path.write_bytes(b"before\n")
    path.chmod(0o640)
    return OriginalFile(str(path), b"before\n")


def test_a_file_is_replaced_with_the_mode_that_it_had(original: OriginalFile) -> None:
    replace_file(original, b"after\n")

    assert original.path.read_bytes() == b"after\n"
    assert stat.S_IMODE(original.path.stat().st_mode) == 0o640
    assert names(original.path.parent) == ["web.yaml"]


def test_a_link_stays_a_link(original: OriginalFile, tmp_path: Path) -> None:
    (tmp_path / "links").mkdir()
    link = tmp_path / "links/link.yaml"
    link.symlink_to("../web.yaml")

    replace_file(OriginalFile(str(link), b"before\n"), b"after\n")

    assert link.is_symlink()
    assert original.path.read_bytes() == b"after\n"
    assert names(link.parent) == ["link.yaml"]


def assert_refused(original: OriginalFile, problem: str) -> None:
    with pytest.raises(SourceError) as raised:
        replace_file(original, b"after\n")

    assert problem in str(raised.value)


def test_a_file_that_another_process_changed_is_left(original: OriginalFile) -> None:
    original.path.write_bytes(b"another process's\n")

    assert_refused(original, "changed by another process, not written: run the command again")

    assert original.path.read_bytes() == b"another process's\n"
    assert names(original.path.parent) == ["web.yaml"]


def test_a_file_that_is_read_only_is_left(original: OriginalFile) -> None:
    original.path.chmod(0o444)

    assert_refused(original, "cannot be written: it is read-only")

    assert original.path.read_bytes() == b"before\n"


def test_a_pipe_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    assert_refused(OriginalFile(str(tmp_path / "pipe"), b""), "not a regular file")


def test_a_missing_folder_is_reported(original: OriginalFile) -> None:
    original.path.unlink()
    original.path.parent.rmdir()

    assert_refused(original, f"cannot be written: {os.strerror(errno.ENOENT)}")


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """Limit the files that this process writes; Python ignores the signal of the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_failed_write_leaves_the_file_as_it_was(original: OriginalFile) -> None:
    with pytest.raises(SourceError) as raised, file_size_limit(1000):
        replace_file(original, bytes(5000))

    reason = os.strerror(errno.EFBIG)
    assert str(raised.value) == f"{original.source}: cannot be written: {reason}"
    assert original.path.read_bytes() == b"before\n"
    assert names(original.path.parent) == ["web.yaml"]
