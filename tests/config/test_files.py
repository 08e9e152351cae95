from datetime import timedelta
from pathlib import Path

import pytest

from tests.config.configs import HEAD
from webhook.config.configuration import Configuration
from webhook.config.files import load
from webhook.errors import CombinedConfigError
from webhook.policy.model import ZONE


def test_the_shipped_examples_load() -> None:
    checked = load("examples/config/spread.yaml")

    assert [profile.name for profile in checked.profiles] == ["payments", "cluster"]
    assert checked.profiles[0].constraints[0].topology_key == ZONE
    assert checked.files[1] == "examples/config/kube-scheduler.yaml"
    (profile,) = load(scheduler_config="examples/config/kube-scheduler.yaml").profiles
    assert profile.name == "default-scheduler"
    assert not profile.system


def test_without_files_nothing_is_injected() -> None:
    assert load() == Configuration()


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CombinedConfigError, match="cannot be read: No such file or directory"):
        load(str(tmp_path / "none.yaml"))


def test_a_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    file = tmp_path / "spread.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + HEAD.encode())

    assert load(str(file)).files == (str(file),)


def test_two_files_at_once_are_refused() -> None:
    with pytest.raises(CombinedConfigError, match="--scheduler-config: cannot be given together"):
        load("a", "b")


def test_a_shorter_ca_overlap_may_be_allowed(tmp_path: Path) -> None:
    file = tmp_path / "spread.yaml"
    file.write_text(f"{HEAD}caOverlap: 2s\n")

    second = timedelta(seconds=1)
    assert load(str(file), least_overlap=second).ca_overlap == 2 * second
    with pytest.raises(CombinedConfigError, match="is too short"):
        load(str(file))
