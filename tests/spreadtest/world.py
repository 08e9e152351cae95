"""Suites as people write them, and the files that they name."""

from pathlib import Path

import pytest

from tests.cli import files
from webhook.errors import CombinedConfigError
from webhook.spreadtest.results import CaseResult, SuiteResult
from webhook.spreadtest.runner import run_suite
from webhook.spreadtest.suite import Suite, SuiteText, load_suite

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples/tests"

HEAD = "apiVersion: evenspread.io/v1alpha1\nkind: SpreadTest\n"

CASES = """\
cases:
- name: a pod
  object: pod.yaml
  expect: {verdict: allow}
"""

CASE = CASES.removeprefix("cases:\n")


def write(folder: Path) -> None:
    """Write the files that suites may name."""
    (folder / "cluster").mkdir()
    (folder / "cluster/service.yaml").write_text(files.SERVICE)
    (folder / "config.yaml").write_text(files.CONFIG)
    (folder / "scheduler.yaml").write_text(files.SCHEDULER)
    (folder / "pod.yaml").write_text(files.POD)
    (folder / "broken.yaml").write_text(files.POD + files.BROKEN)
    (folder / "type-error.yaml").write_text(files.POD + files.TYPE_ERROR)
    (folder / "service.yaml").write_text(files.SERVICE)
    (folder / "syntax.yaml").write_text("kind: [\n")
    (folder / "several.yaml").write_text(
        f"{files.POD}---\n{files.SERVICE}---\n{files.POD.replace('web-1', 'web-2')}"
    )


def load(text: str, folder: Path = Path()) -> Suite:
    """Read a suite that begins with apiVersion and kind."""
    return load_suite(SuiteText(str(folder / "suite.yaml"), HEAD + text))


def result(text: str, folder: Path) -> SuiteResult:
    """Run a suite."""
    return run_suite(load(text, folder))


def only_case(text: str, folder: Path) -> CaseResult:
    """Run a suite that has one case."""
    (case,) = result(text, folder).cases
    return case


def errors_of(text: str, folder: Path = Path()) -> list[str]:
    """Return the errors of a suite."""
    with pytest.raises(CombinedConfigError) as caught:
        load(text, folder)
    return str(caught.value).removeprefix(f"{folder / 'suite.yaml'}:").splitlines()
