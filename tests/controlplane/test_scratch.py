"""Folders of killed processes are removed, and no others."""

import os
import subprocess
from pathlib import Path

from tests.controlplane.scratch import PREFIX, new_folder


def gone() -> int:
    """The id of a process that has ended."""
    with subprocess.Popen(["/bin/true"]) as ended:
        return ended.pid


def test_the_folder_of_an_owner_that_is_gone_is_removed(tmp_path: Path) -> None:
    left = tmp_path / f"{PREFIX}-{gone()}-abcdefgh"
    (left / "etcd").mkdir(parents=True)

    made = new_folder(tmp_path)

    assert list(tmp_path.iterdir()) == [made]


def test_the_folder_of_an_owner_that_runs_stays(tmp_path: Path) -> None:
    first = new_folder(tmp_path)
    parents = tmp_path / f"{PREFIX}-{os.getppid()}-abcdefgh"
    parents.mkdir()

    second = new_folder(tmp_path)

    assert {*tmp_path.iterdir()} == {first, second, parents}
