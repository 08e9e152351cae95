"""
A memory cgroup for one process of a test, where the machine permits one.

It is a child of the cgroup that the tests run in, so the limits of that one still hold. Version 1
and version 2 of cgroups are supported; version 2 only if the parent delegates ``memory``.
"""

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final

from tests.controlplane.waiting import until
from tests.required import ENVTEST, fail_if_required

MOUNT: Final = Path("/sys/fs/cgroup")
JOIN: Final = 'echo $$ > "$0" && exec "$@"'
"""A script of sh: join the cgroup whose file is ``$0``, and become the program behind it."""

_numbers = count()


@dataclass(frozen=True, slots=True)
class MemoryCgroup:
    """
    One cgroup.

    Attributes:
        peak_file: Has the most bytes that its processes held, page cache included.
    """

    folder: Path
    peak_file: str

    @property
    def peak(self) -> int:
        """The most bytes that its processes held; 0 where the kernel does not say."""
        with suppress(OSError):
            return int((self.folder / self.peak_file).read_text())
        return 0

    def wrap(self, command: Sequence[str]) -> tuple[str, ...]:
        """A command that joins the cgroup and then becomes another one, with the same id."""
        return ("/bin/sh", "-c", JOIN, str(self.folder / "cgroup.procs"), *command)


@contextmanager
def memory_cgroup(
    limit: int, mount: Path = MOUNT, *, is_root: bool = os.geteuid() == 0
) -> Generator[MemoryCgroup | None]:
    """
    Make a cgroup that lasts as long as the context; its processes must have ended by then.

    Args:
        limit: Bytes.
        mount: Where cgroups are mounted.
        is_root: Whether the tests run as root.

    Yields:
        None where none can be made: no rights, no controller. As root, where the control plane is
        required, the test fails instead, since it would pass without a limit.
    """
    made = _make(limit, mount)
    if made is None and is_root:
        fail_if_required("root can make no memory cgroup here", ENVTEST)
    try:
        yield made
    finally:
        if made is not None:
            until(lambda: _remove(made.folder), f"{made.folder} to be removed")


def _make(limit: int, mount: Path) -> MemoryCgroup | None:
    cgroups = Path("/proc/self/cgroup").read_text()
    for parent, limit_file, peak_file in _parents(cgroups, mount):
        folder = parent / f"evenspread-{os.getpid()}-{next(_numbers)}"
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            (folder / limit_file).write_text(f"{limit}")
        except OSError:
            folder.rmdir()
        else:
            return MemoryCgroup(folder, peak_file)
    return None


def _parents(text: str, mount: Path) -> Generator[tuple[Path, str, str]]:
    """Each folder that may get a child, the file of its limit, and the file of its peak."""
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            parent = mount / "memory" / path.lstrip("/")
            yield parent, "memory.limit_in_bytes", "memory.max_usage_in_bytes"
        elif not controllers:
            yield mount / path.lstrip("/"), "memory.max", "memory.peak"


def _remove(folder: Path) -> bool:
    with suppress(OSError):  # busy: a process is still ending
        folder.rmdir()
    return not folder.exists()
