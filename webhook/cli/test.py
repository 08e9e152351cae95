"""``evenspread test``: run suites of manifests with expected verdicts."""

from collections.abc import Iterable, Iterator
from io import StringIO

import click
from msgspec.structs import replace

from webhook.cli.exits import ExitCode, outcome
from webhook.cli.output import TABLE, OutputTarget, report_problems, write_text
from webhook.cli.terminal import Style, Terminal
from webhook.cli.views.diffs import style_of
from webhook.config.project import Project
from webhook.errors import CombinedConfigError, ConfigError, SourceError
from webhook.manifests.pathfilter import NO_FILTER
from webhook.policy.advice.findings import count_of
from webhook.spreadtest.results import (
    TEST_FORMATS,
    CaseResult,
    CaseStatus,
    SuiteReport,
    SuiteSummary,
    build_report,
    format_differences,
)
from webhook.spreadtest.runner import run_suite
from webhook.spreadtest.suite import Suite, SuiteText, find_suites, load_suite

_STYLES = {CaseStatus.PASSED: Style.GOOD, CaseStatus.FAILED: Style.BAD, CaseStatus.ERROR: Style.BAD}
_STATUS_WIDTH = max(map(len, CaseStatus))
_INDENT = " " * (_STATUS_WIDTH + 4)


def test(
    *,
    folder: tuple[str, ...],
    cases: tuple[str, ...],
    output: tuple[OutputTarget, ...],
    project: Project | None,
) -> ExitCode:
    """Run the suites below the folders and write every output."""
    if not folder and project is None:
        raise click.UsageError("Name the folders of the suites, or write a project file.")
    path_filter = project.path_filter(folder) if project else NO_FILTER
    found = list(find_suites(folder or (project.root if project else "",), path_filter))
    problems = [item for item in found if isinstance(item, SourceError)]
    suites = _load_suites(item for item in found if isinstance(item, SuiteText))
    chosen = list(_select_cases(suites, cases)) if cases else suites
    if cases and not chosen:
        names = " or ".join(map(repr, cases))
        raise ConfigError(f"no case has a name that contains {names}", "--cases")
    results = build_report(map(run_suite, chosen))
    for target in output:
        _write(results, target)
    report_problems(problems)
    unfinished = bool(problems or results.summary.errors)
    return outcome(findings=bool(results.summary.failed), unfinished=unfinished)


def _write(results: SuiteReport, target: OutputTarget) -> None:
    if target.format != TABLE:
        write_text(TEST_FORMATS[target.format](results), target)
    elif target.file:
        text = StringIO()
        _show(results, Terminal(text))
        write_text(text.getvalue(), target)
    else:
        _show(results, Terminal())


def _show(results: SuiteReport, terminal: Terminal) -> None:
    """Write each suite with its cases, then the totals."""
    for suite in results.suites:
        title = suite.source if suite.name == suite.source else f"{suite.source}: {suite.name}"
        terminal.line((title, Style.PLACE))
        for case in suite.cases:
            _show_case(suite.source, case, terminal)
    terminal.line(_format_summary(results.summary))


def _show_case(source: str, case: CaseResult, terminal: Terminal) -> None:
    place = "" if case.status is CaseStatus.PASSED else f" ({source}:{case.line})"
    status = (f"{case.status:{_STATUS_WIDTH}}", _STYLES[case.status])
    terminal.line("  ", status, f"  {case.name}{place}")
    if case.problem:
        terminal.line(f"{_INDENT}{case.problem}")
    for line in format_differences(case):
        terminal.line(_INDENT, (line, style_of(line)))


def _format_summary(summary: SuiteSummary) -> str:
    cases, suites = count_of(summary.cases, "case"), count_of(summary.suites, "suite")
    errors = f", {summary.errors} could not be run" if summary.errors else ""
    return f"{cases} in {suites}: {summary.passed} passed, {summary.failed} failed{errors}"


def _load_suites(texts: Iterable[SuiteText]) -> list[Suite]:
    """Load all suites before any is run, so that one run reports the errors of all files."""
    suites: list[Suite] = []
    errors: list[ConfigError] = []
    for text in texts:
        try:
            suites.append(load_suite(text))
        except CombinedConfigError as error:
            errors += error.errors
    if errors:
        raise CombinedConfigError(errors)
    return suites


def _select_cases(suites: Iterable[Suite], wanted: tuple[str, ...]) -> Iterator[Suite]:
    """Keep only cases whose name contains one of the texts, and only suites with such cases."""
    texts = [text.casefold() for text in wanted]
    for suite in suites:
        cases = tuple(
            case for case in suite.cases if any(text in case.name.casefold() for text in texts)
        )
        if cases:
            yield replace(suite, cases=cases)
