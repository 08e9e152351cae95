from pathlib import Path

import pytest

from tests.cli import files
from webhook.cli.inputs.manifests import Inputs, facts_from


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
