"""SECURITY.md lists every threat, with tests that exist."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.docs.markdown import ROOT

PAGE = (ROOT / "SECURITY.md").read_text()
THREATS = 26
NAMED = re.compile(r"`(tests/[\w/.]+)(?:::(\w+))?`")


def rows(heading: str) -> list[list[str]]:
    """The cells of the table below a heading, without its first two lines."""
    section = PAGE.partition(f"\n### {heading}\n")[2].partition("\n### ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


@cache
def functions(file: Path) -> frozenset[str]:
    tree = ast.parse(file.read_text())
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in tree.body if isinstance(node, kinds))


def test_every_threat_is_listed_in_order() -> None:
    numbers = [row[0].partition(".")[0] for row in rows("Threats")]

    assert numbers == [str(number) for number in range(1, THREATS + 1)]


@pytest.mark.parametrize("row", rows("Threats"), ids=lambda row: row[0].partition(".")[0])
def test_a_threat_has_a_test_or_is_out_of_scope(row: list[str]) -> None:
    _, defence, *tests = row

    assert NAMED.search(tests[0] if tests else "") or defence.startswith("out of scope: ")


@pytest.mark.parametrize("row", rows("Trust and attackers"), ids=lambda row: row[1])
def test_a_defence_against_an_attacker_has_a_test(row: list[str]) -> None:
    assert NAMED.search(row[-1])


@pytest.mark.parametrize(("file", "function"), sorted(set(NAMED.findall(PAGE))))
def test_a_named_test_exists(file: str, function: str) -> None:
    path = ROOT / file

    assert path.exists()
    assert not function or function in functions(path)
