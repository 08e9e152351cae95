import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.cli import files
from tests.spreadtest.world import CASES, HEAD
from webhook.errors import CombinedConfigError, ManifestError, SourceError
from webhook.spreadtest.discovery import SuiteText, find_suites

SUITE = HEAD + CASES

UNPRIVILEGED = 65534  # the user `nobody`

# text, whether it is meant as a suite
TEXTS = {
    "a suite": (SUITE, True),
    "a suite with quotes": ('"kind": "SpreadTest"\n', True),
    "a suite in JSON": ('{"apiVersion": "evenspread.io/v1alpha1", "kind": "SpreadTest"}', True),
    "a suite that is no YAML": (f"{HEAD}cases: [\n", True),
    "a suite after a comment": (f"# kind: Pod\n---\n{SUITE}", True),
    "a pod": (files.POD, False),
    "a ConfigMap that holds a suite": ("data:\n  suite: |\n    kind: SpreadTest\n", False),
    "a kind that begins alike": ("kind: SpreadTestReport\n", False),
    "a comment": ("# kind: SpreadTest\n", False),
}


@pytest.mark.parametrize(("text", "meant"), TEXTS.values(), ids=TEXTS.keys())
def test_suites_are_recognized_by_their_text(text: str, meant: bool, tmp_path: Path) -> None:
    (tmp_path / "some.yaml").write_text(text)
    (tmp_path / "z.yaml").write_text(SUITE)

    found = [suite.source for suite in find_suites([str(tmp_path)]) if isinstance(suite, SuiteText)]

    assert found == [str(tmp_path / name) for name in ("some.yaml", "z.yaml")[not meant :]]


def test_folders_are_walked_in_order(tmp_path: Path) -> None:
    for name in ("b.yaml", "a/z.yml", "a/b/suite.json", ".git/suite.yaml", "c.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"kind": "SpreadTest"}')

    found = [suite.source for suite in find_suites([str(tmp_path)]) if isinstance(suite, SuiteText)]

    assert [str(Path(source).relative_to(tmp_path)) for source in found] == [
        "a/b/suite.json", "a/z.yml", "b.yaml",
    ]  # fmt: skip


def test_an_unreadable_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"name: caf\xe9\n")

    (problem,) = find_suites([str(tmp_path)])

    assert isinstance(problem, ManifestError)


@pytest.mark.parametrize(
    ("name", "message"),
    [("pods", "no file below it is a SpreadTest: write one"), ("pods/a.yaml", "is no SpreadTest:")],
)
def test_a_place_without_a_suite_is_an_error(name: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "pods").mkdir()
    (tmp_path / "pods/a.yaml").write_text(files.POD)

    with pytest.raises(CombinedConfigError) as caught:
        list(find_suites([str(tmp_path / name)]))

    assert str(caught.value).startswith(f"{tmp_path / name}: {message}")
    assert "`kind: SpreadTest`" in str(caught.value)


def test_templates_of_a_chart_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    for name in ("Chart.yaml", "templates/a.yaml", "suite.yaml"):
        (tmp_path / name).write_text(SUITE)

    found = [suite.source for suite in find_suites([str(tmp_path)]) if isinstance(suite, SuiteText)]

    assert [Path(source).name for source in found] == ["Chart.yaml", "suite.yaml"]


def test_a_folder_that_cannot_be_listed_is_an_error() -> None:
    with TemporaryDirectory() as folder:
        closed = Path(folder, "closed")
        closed.mkdir(mode=0)
        Path(folder).chmod(0o755)
        user = os.geteuid()
        os.seteuid(user or UNPRIVILEGED)  # root may list everything
        try:
            (problem,) = find_suites([folder])
        finally:
            os.seteuid(user)

        assert isinstance(problem, SourceError)
        assert problem.source == str(closed)
