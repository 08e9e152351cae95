from pathlib import Path

import pytest

from tests.config.configs import HEAD
from webhook.config.filetext import read_text
from webhook.errors import ConfigError

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

    with pytest.raises(ConfigError) as caught:
        read_text(str(tmp_path / name))

    assert message in str(caught.value)


def test_a_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    file = tmp_path / "spread.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + HEAD.encode())

    assert read_text(str(file)) == HEAD
