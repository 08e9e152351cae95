import io
import sys
from pathlib import Path

import pytest

from tests.cli import files
from webhook.cli.inputs.manifests import STDIN_SOURCE, InputFiles, Inputs, facts_from


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pod.yaml").write_text(files.POD)
    (tmp_path / "notes.yaml").write_text("a: 1\n")
    (tmp_path / "broken.yaml").write_text("{")
    return tmp_path


def test_objects_are_read_and_the_rest_is_recorded(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = Inputs([str(folder)])

    assert [document.kind for document in inputs.objects()] == ["Pod"]
    assert [problem.source.rpartition("/")[2] for problem in inputs.problems] == ["broken.yaml"]
    assert [file.source.rpartition("/")[2] for file in inputs.skipped] == ["notes.yaml"]
    inputs.report()
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert "\nskipped " in err


def test_strict_makes_errors_of_files_without_objects(folder: Path) -> None:
    inputs = Inputs([str(folder)], strict=True)

    assert len(list(inputs.objects())) == 1
    assert (len(inputs.problems), inputs.skipped) == (2, [])


def test_without_a_path_the_documents_are_the_cluster(folder: Path) -> None:
    (folder / "node.yaml").write_text(files.NODE)
    inputs = Inputs([str(folder / "node.yaml")])

    cluster = facts_from("", list(inputs.objects()), (), inputs)

    assert [node.name for node in cluster.node_store] == ["n1"]


def test_a_path_names_the_cluster_and_its_problems(folder: Path) -> None:
    (folder / "node.yaml").write_text(files.NODE)
    inputs = Inputs([])

    cluster = facts_from(str(folder), [], (), inputs)

    assert [node.name for node in cluster.node_store] == ["n1"]
    assert (len(inputs.problems), len(inputs.skipped)) == (1, 1)


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
