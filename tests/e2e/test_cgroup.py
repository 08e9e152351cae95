"""A memory cgroup ends a process that exceeds its limit, and leaves nothing behind."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.cgroup import memory_cgroup
from tests.required import ENVTEST

MIB = 1024 * 1024
GREEDY = f"print(len(bytearray({{0}} * {MIB})))"


def test_a_process_above_the_limit_is_killed() -> None:
    with memory_cgroup(64 * MIB) as group:
        if group is None:
            pytest.skip("no memory cgroup can be made here: it needs the right to write to one")

        def run(mebibytes: int) -> int:
            command = group.wrap([sys.executable, "-c", GREEDY.format(mebibytes)])
            return subprocess.run(command, check=False, capture_output=True).returncode

        assert run(16) == 0
        assert 16 * MIB < group.peak <= 64 * MIB
        assert run(256) == -9

    assert not group.folder.exists()


def test_a_missing_cgroup_fails_for_root_where_the_control_plane_is_required(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mount = tmp_path / "none"
    monkeypatch.setenv(ENVTEST, "1")
    with (
        pytest.raises(pytest.fail.Exception, match="no memory cgroup"),
        memory_cgroup(64 * MIB, mount, is_root=True),
    ):
        pass

    with memory_cgroup(64 * MIB, mount, is_root=False) as group:
        assert group is None
    monkeypatch.delenv(ENVTEST)
    with memory_cgroup(64 * MIB, mount, is_root=True) as group:
        assert group is None
