"""Replays and searches."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.fuzz.__main__ import CORPUS, ROOT, SearchResult, main, summarize

GROWS = """
from tests.fuzz.bounds import MOST_GROWTH, run_bounded
run_bounded(lambda data: bytearray(b"x") * (MOST_GROWTH * 2), b"")
"""


def test_an_input_that_is_read_as_it_should_be_is_no_finding() -> None:
    assert main(["--replay", str(ROOT / CORPUS / "selectors" / "pairs.json")]) == 0


def test_the_table_has_a_row_for_each_target() -> None:
    found = SearchResult(7, 2, (Path("x"),))
    table = summarize({"review": found, "watch": found._replace(problem="it ended")})

    assert [list(column.cells) for column in table.columns] == [
        ["review", "watch"], ["7", "7"], ["2", "2"], ["1", "failed"],
    ]  # fmt: skip


def test_an_input_may_not_take_much_memory() -> None:
    done = subprocess.run(  # a process without an earlier peak
        [sys.executable, "-c", GROWS], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert re.search(r"FindingError: 0 bytes take \d+ MiB", done.stderr)


@pytest.mark.integration
@pytest.mark.skipif(find_spec("atheris") is None, reason="atheris has wheels for Linux on x86-64")
def test_a_search_runs(tmp_path: Path) -> None:
    corpus = ROOT / CORPUS / "selectors"
    command = [sys.executable, "-m", "tests.fuzz.engine", "selectors", "-runs=200"]

    done = subprocess.run(
        [*command, tmp_path, corpus], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert "Done 200 runs" in done.stderr
