from pathlib import Path

import msgspec
import pytest
from junitparser import JUnitXml

from tests.cli import files
from tests.cli.conftest import Run

FAILING = files.SUITE.replace("verdict: patch", "verdict: allow").replace("a pod", "another pod")
UNREADABLE = files.SUITE.replace("../pod.yaml", "../syntax.yaml").replace("a pod", "no pod")
EXAMPLES = Path(__file__).parents[2] / "examples/tests"


@pytest.fixture
def suites(folder: Path) -> Path:
    """A folder ``tests`` with one suite, and the files that it names beside it."""
    for name in ("tests", "cluster"):
        (folder / name).mkdir()
    (folder / "pod.yaml").write_text(files.POD)
    (folder / "syntax.yaml").write_text("kind: [\n")
    (folder / "config.yaml").write_text(files.CONFIG)
    (folder / "cluster/service.yaml").write_text(files.SERVICE)
    (folder / "tests/a.yaml").write_text(files.SUITE)
    return folder


def test_passed_cases_are_listed(suites: Path, run: Run) -> None:
    ran = run("test", "tests")

    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "tests/a.yaml: defaults",
        "  pass   a pod behind a Service gets the defaults",
        "1 case in 1 suite: 1 passed, 0 failed",
    ]


def test_failed_cases_have_their_difference(suites: Path, run: Run) -> None:
    (suites / "tests/b.yaml").write_text(FAILING.replace("name: defaults\n", ""))

    ran = run("test", "tests")

    assert (ran.code, ran.err) == (1, "")
    assert ran.out.splitlines()[2:] == [
        "tests/b.yaml",
        "  fail   another pod behind a Service gets the defaults (tests/b.yaml:6)",
        "         verdict: expected allow, got patch",
        "2 cases in 2 suites: 1 passed, 1 failed",
    ]


def test_cases_that_cannot_run_take_precedence_over_failures(suites: Path, run: Run) -> None:
    (suites / "tests/b.yaml").write_text(FAILING)
    (suites / "tests/c.yaml").write_text(UNREADABLE)

    ran = run("test", "tests")

    assert ran.code == 3
    assert ran.out.splitlines()[-3].startswith("  error  no pod behind a Service")
    assert ran.out.splitlines()[-2].startswith("         tests/../syntax.yaml:")
    assert ran.out.endswith("3 cases in 3 suites: 1 passed, 1 failed, 1 could not be run\n")


def test_an_unreadable_file_is_reported(suites: Path, run: Run) -> None:
    (suites / "tests/latin.yaml").write_bytes(b"name: caf\xe9\n")

    ran = run("test", "tests")

    assert ran.code == 3
    assert ran.out.endswith("1 passed, 0 failed\n")
    assert ran.err == "error: tests/latin.yaml:1: not text: save it as UTF-8\n"


def test_the_errors_of_all_suites_are_reported_and_no_suite_runs(suites: Path, run: Run) -> None:
    (suites / "tests/b.yaml").write_text(files.SUITE.replace("verdict", "verdicts"))
    (suites / "tests/c.yaml").write_text(files.SUITE.replace("cluster", "clusters"))

    ran = run("test", "tests")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines() == [
        "error: tests/b.yaml:9: cases[0].expect.verdicts: no such key: did you mean verdict?",
        "error: tests/c.yaml:5: clusters: no such key: did you mean cluster?",
    ]


def test_a_folder_without_a_suite_is_an_error(suites: Path, run: Run) -> None:
    ran = run("test", "tests", "cluster")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "error: cluster: no file below it is a SpreadTest: write one that starts with "
        "`apiVersion: evenspread.io/v1alpha1` and `kind: SpreadTest`\n"
    )


def test_a_missing_folder_is_an_error(suites: Path, run: Run) -> None:
    ran = run("test", "none")

    assert (ran.code, ran.out) == (3, "0 cases in 0 suites: 0 passed, 0 failed\n")
    assert ran.err == "error: none: cannot be read: No such file or directory\n"


CHOICES = {
    "a part of a name": (["-k", "another"], 1),
    "whatever its case": (["-k", "ANOTHER"], 1),
    "one of two": (["-k", "another", "-k", "none"], 1),
    "all": (["-k", "behind"], 2),
}


@pytest.mark.parametrize(("args", "number"), CHOICES.values(), ids=CHOICES.keys())
def test_cases_are_chosen_by_name(args: list[str], number: int, suites: Path, run: Run) -> None:
    (suites / "tests/b.yaml").write_text(FAILING)

    ran = run("test", "tests", *args)

    assert ran.out.splitlines()[-1].startswith(f"{number} case")


def test_a_name_without_a_case_is_an_error(suites: Path, run: Run) -> None:
    ran = run("test", "tests", "-k", "nodes", "-k", "zones")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "error: --cases: no case has a name that contains 'nodes' or 'zones'\n"


def test_one_run_writes_several_outputs(suites: Path, run: Run) -> None:
    (suites / "tests/b.yaml").write_text(FAILING)

    ran = run("test", "tests", "-o", "junit=j.xml", "-o", "json=j.json", "-o", "table=t.txt")

    assert ran == (1, "", "")
    assert JUnitXml.fromfile(str(suites / "j.xml")).failures == 1
    assert msgspec.json.decode((suites / "j.json").read_bytes())["summary"]["failed"] == 1
    assert (suites / "t.txt").read_text() == run("test", "tests").out


def test_json_is_written_to_the_standard_output(suites: Path, run: Run) -> None:
    assert msgspec.json.decode(run("test", "tests", "-o", "json").out)["kind"] == "SpreadTestReport"


INVALID = {
    "no folder": ([], "Name the folders of the suites"),
    "no such format": (
        ["tests", "-o", "sarif"],
        "'sarif' is not an output format: use one of table, json",
    ),
    "two outputs to stdout": (["tests", "-o", "json", "-o", "junit"], "only one format fits"),
}


@pytest.mark.parametrize(("args", "message"), INVALID.values(), ids=INVALID.keys())
def test_usage_errors(args: list[str], message: str, suites: Path, run: Run) -> None:
    ran = run("test", *args)

    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


def test_equal_input_gives_equal_bytes(run: Run) -> None:
    first, second = (run("test", str(EXAMPLES), "-o", "json") for _ in range(2))

    assert first == second
    assert first.code == 0
