from datetime import timedelta
from pathlib import Path

import pytest

from tests.config.configs import HEAD
from webhook import config
from webhook.config import Configuration
from webhook.config.files import read_text
from webhook.errors import CombinedConfigError
from webhook.policy.defaulting.profiles import ZONE


def test_the_shipped_examples_load() -> None:
    checked = config.load("examples/config/spread.yaml")

    assert [profile.name for profile in checked.profiles] == ["payments", "cluster"]
    assert checked.profiles[0].constraints[0].topology_key == ZONE
    assert checked.files[1] == "examples/config/kube-scheduler.yaml"
    (profile,) = config.load(scheduler_config="examples/config/kube-scheduler.yaml").profiles
    assert profile.name == "default-scheduler"
    assert not profile.system


def test_without_files_nothing_is_injected() -> None:
    assert config.load() == Configuration()


UNREADABLE = {
    "no file": ("none.yaml", b"", "cannot be read: No such file or directory"),
    "a folder": (".", b"", "cannot be read: Is a directory"),
    "no name of a file": ("a\0b", b"", "cannot be read: not a valid file name"),
    "not UTF-8": ("x.yaml", b"a: \xff", "is not UTF-8: save it as such"),
    "too large": ("x.yaml", b"#" * (2**20 + 1), "is larger than 1 MiB, and so than any ConfigMap"),
}


@pytest.mark.parametrize(("name", "content", "message"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_file_that_cannot_be_read_is_an_error(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    if content:
        (tmp_path / name).write_bytes(content)

    with pytest.raises(CombinedConfigError) as caught:
        config.load(str(tmp_path / name))

    assert message in str(caught.value)


def test_a_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    file = tmp_path / "spread.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + HEAD.encode())

    assert config.load(str(file)).files == (str(file),)
    assert read_text(str(file)) == HEAD


def test_two_files_at_once_are_refused() -> None:
    with pytest.raises(CombinedConfigError, match="--scheduler-config: cannot be given together"):
        config.load("a", "b")


def test_a_shorter_ca_overlap_may_be_allowed(tmp_path: Path) -> None:
    file = tmp_path / "spread.yaml"
    file.write_text(f"{HEAD}caOverlap: 2s\n")

    second = timedelta(seconds=1)
    assert config.load(str(file), least_overlap=second).ca_overlap == 2 * second
    with pytest.raises(CombinedConfigError, match="is too short"):
        config.load(str(file))
