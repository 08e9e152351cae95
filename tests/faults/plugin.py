"""
The pytest side of the fault cases: a plugin, named in tests/conftest.py.

A test that shows a case carries ``@pytest.mark.fault(N)`` and records what it measured::

    fault_report.record(load="50 writers", calls=1234, failed=0, outcome="ready again after 3 s")

``--fault-cases "1 4"`` deselects all other tests; ``--fault-evidence FILE`` appends one JSON line
to FILE for each test that carries the marker (evidence.py).
"""

from collections.abc import Generator
from pathlib import Path

import msgspec
import pytest

from tests.faults.cases import CASES
from tests.faults.evidence import Evidence, FaultMeasurement

LONGEST_PROBLEM = 200  # characters of a failure: one row of the table

_MEASUREMENTS = pytest.StashKey[list[FaultMeasurement]]()


class FaultReport:
    """Collects what one test measured."""

    def __init__(self, measurements: list[FaultMeasurement]) -> None:
        self._measurements = measurements

    def record(self, *, load: str, calls: int, failed: int, outcome: str) -> None:
        """Record a measurement (evidence.FaultMeasurement)."""
        self._measurements.append(FaultMeasurement(load, calls, failed, outcome))


@pytest.fixture
def fault_report(request: pytest.FixtureRequest) -> FaultReport:
    """For a test with the marker ``fault``: where it records what it measured."""
    assert cases_of(request.node), f"{request.node.nodeid}: add @pytest.mark.fault(N)"
    return FaultReport(request.node.stash.setdefault(_MEASUREMENTS, []))


def cases_of(item: pytest.Item) -> tuple[int, ...]:
    """
    List the cases that a test shows.

    Raises:
        pytest.UsageError: There is no such case.
    """
    cases = {case for marker in item.iter_markers("fault") for case in marker.args}
    if unknown := cases - CASES.keys():
        raise pytest.UsageError(f"{item.nodeid}: no fault case {unknown}; write 1 to {len(CASES)}")
    return tuple(sorted(cases))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the two options."""
    group = parser.getgroup("fault cases")
    group.addoption("--fault-cases", default="", help="run the tests of these cases: '1 4'")
    group.addoption("--fault-evidence", type=Path, help="append what the tests show to this file")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests of other cases."""
    wanted = set(map(int, config.getoption("--fault-cases").split()))
    by_wanted: dict[bool, list[pytest.Item]] = {True: [], False: []}
    for item in items:
        cases = cases_of(item)
        by_wanted[not wanted or not wanted.isdisjoint(cases)].append(item)
    config.hook.pytest_deselected(items=by_wanted[False])
    items[:] = by_wanted[True]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Write what a test shows, once it has ended or could not start."""
    report = yield
    file: Path | None = item.config.getoption("--fault-evidence")
    cases = cases_of(item) if file else ()
    if file and cases and (call.when == "call" or not report.passed):
        measured = item.stash.setdefault(_MEASUREMENTS, [])
        evidence = Evidence(item.nodeid, cases, _problem(report), tuple(measured))
        with file.open("ab") as lines:
            lines.write(msgspec.json.encode(evidence) + b"\n")
    return report


def _problem(report: pytest.TestReport) -> str:
    """Why a test shows nothing; empty if it passed."""
    if report.passed:
        return ""
    if report.skipped and isinstance(report.longrepr, tuple):
        return f"skipped: {report.longrepr[2]}"
    crash = getattr(report.longrepr, "reprcrash", None)
    message = crash.message if crash else report.longreprtext
    return " ".join(message.split())[:LONGEST_PROBLEM]
