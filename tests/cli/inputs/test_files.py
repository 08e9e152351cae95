import io
import sys
from pathlib import Path

import pytest

from tests.cli import files
from webhook.cli.inputs.files import STDIN_SOURCE, InputFiles


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    pod = tmp_path / "pod.yaml"
    pod.write_text(files.POD)
    (tmp_path / "link.yaml").symlink_to(pod)

    read = InputFiles([str(pod), str(tmp_path)], strict=False)

    assert list(read.texts.values()) == [files.POD]
    assert read.originals[str(pod)].data == files.POD.encode()
    assert read.piped is None


@pytest.mark.parametrize("strict", [False, True])
def test_files_without_objects_are_skipped_or_errors(tmp_path: Path, strict: bool) -> None:
    (tmp_path / "notes.yaml").write_text("a: 1\n")
    (tmp_path / "broken.yaml").write_text("{")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xff\xff")
    (tmp_path / "empty").mkdir()

    read = InputFiles([str(tmp_path / name) for name in ("", "none", "empty")], strict=strict)

    assert (len(read.problems), len(read.skipped)) == ((5, 0) if strict else (3, 2))


def test_the_standard_input_is_kept_as_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(files.POD.encode())))

    read = InputFiles(["-"], strict=False)

    assert read.piped == files.POD.encode()
    assert read.texts == {STDIN_SOURCE: files.POD}
