"""What came of suites, as people read it."""

from webhook.cli.terminal import Style, Terminal
from webhook.cli.views.diffs import style_of
from webhook.spreadtest.differences import lines
from webhook.spreadtest.results import CaseResult, Report, Status, Summary

STYLES = {Status.PASSED: Style.GOOD, Status.FAILED: Style.BAD, Status.ERROR: Style.BAD}


def show(report: Report, terminal: Terminal) -> None:
    """Write every case below its suite, what was wrong below its case, and how many there were."""
    for suite in report.suites:
        titled = suite.source if suite.name == suite.source else f"{suite.source}: {suite.name}"
        terminal.line((titled, Style.PLACE))
        for case in suite.cases:
            _show_case(suite.source, case, terminal)
    terminal.line(_counted(report.summary))


def _show_case(source: str, case: CaseResult, terminal: Terminal) -> None:
    place = "" if case.status is Status.PASSED else f" ({source}:{case.line})"
    terminal.line("  ", (f"{case.status:{_WIDTH}}", STYLES[case.status]), f"  {case.name}{place}")
    if case.problem:
        terminal.line(f"{_INSET}{case.problem}")
    for line in lines(case):
        terminal.line(_INSET, (line, style_of(line)))


_WIDTH = max(map(len, Status))
_INSET = " " * (_WIDTH + 4)


def _counted(summary: Summary) -> str:
    cases = f"{summary.cases} {'case' if summary.cases == 1 else 'cases'}"
    suites = f"{summary.suites} {'suite' if summary.suites == 1 else 'suites'}"
    errors = f", {summary.errors} could not be run" if summary.errors else ""
    return f"{cases} in {suites}: {summary.passed} passed, {summary.failed} failed{errors}"
