"""
What tests show of the fault cases, from one run of pytest.

A test writes an ``Evidence`` (see plugin.py), and ``case_rows`` joins those of one case.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from pathlib import Path

import msgspec

MISSING = "no test shows it"


class Outcome(Enum):
    """Result of a fault case, as the table shows it."""

    HOLDS = "holds"
    FAILED = "FAILED"
    MISSING = "missing"


class FaultMeasurement(msgspec.Struct, frozen=True):
    """
    What one test measured.

    Attributes:
        load: What went on meanwhile, such as ``50 writers``.
        calls: Requests of any kind that were made.
        failed: Those of them that failed, permitted failures included.
        outcome: What happened, such as ``ready again after 3 s``.
    """

    load: str
    calls: int
    failed: int
    outcome: str


class Evidence(msgspec.Struct, frozen=True):
    """
    One test of one or more fault cases.

    Attributes:
        test: Its node id.
        cases: The numbers of its ``fault`` markers.
        problem: Why it shows nothing: it failed or was skipped. Empty if it passed.
        measurements: What it recorded.
    """

    test: str
    cases: tuple[int, ...]
    problem: str
    measurements: tuple[FaultMeasurement, ...]


class CaseRow(msgspec.Struct, frozen=True):
    """One row of the table; the attributes are those of the measurements, joined."""

    case: int
    title: str
    load: str
    calls: int
    failed: int
    result: Outcome
    outcome: str
    tests: tuple[str, ...]


def read_evidence(file: Path) -> list[Evidence]:
    """Read one piece of evidence from each line of a file."""
    return [msgspec.json.decode(line, type=Evidence) for line in file.read_text().splitlines()]


def case_rows(titles: Mapping[int, str], evidence: Iterable[Evidence]) -> Iterator[CaseRow]:
    """
    Join the evidence of each case.

    A case holds if at least one of its tests recorded a measurement and all of them passed.
    """
    found = list(evidence)
    for case, title in titles.items():
        yield _case_row(case, title, [evidence for evidence in found if case in evidence.cases])


def markdown_rows(rows: Iterable[CaseRow]) -> Iterator[str]:
    """Write the rows as lines of a Markdown table with the columns of ``CaseRow``."""
    for row in rows:
        texts = (f"{row.case}", row.title, row.load, f"{row.calls}", f"{row.failed}", row.outcome)
        yield f"| {' | '.join(text.replace('|', '/') for text in texts)} |"


def _case_row(case: int, title: str, found: list[Evidence]) -> CaseRow:
    measured = [measurement for evidence in found for measurement in evidence.measurements]
    problems = [f"{evidence.test}: {evidence.problem}" for evidence in found if evidence.problem]
    result = Outcome.HOLDS if measured else Outcome.MISSING
    return CaseRow(
        case=case,
        title=title,
        load=_joined(measurement.load for measurement in measured),
        calls=sum(measurement.calls for measurement in measured),
        failed=sum(measurement.failed for measurement in measured),
        result=Outcome.FAILED if problems else result,
        outcome=_joined(problems or (measurement.outcome for measurement in measured)) or MISSING,
        tests=tuple(evidence.test for evidence in found),
    )


def _joined(texts: Iterable[str]) -> str:
    """Join texts, each once."""
    return "; ".join(dict.fromkeys(texts))
