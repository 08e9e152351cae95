"""Results of ``doctor`` as text and as a document."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from webhook.cli.terminal import Style, Terminal
from webhook.doctor.findings import CheckResult, CheckState
from webhook.doctor.installation import Installation
from webhook.policy.advice.findings import count_of

_STYLES = {
    CheckState.OK: Style.GOOD,
    CheckState.NOTE: Style.HINT,
    CheckState.PROBLEM: Style.BAD,
    CheckState.UNKNOWN: Style.DOUBTFUL,
}

_COLUMNS = {"state": 9, "id": 19}  # characters: the longest word, and a gap
_INDENT = " " * _COLUMNS["state"]


def as_document(installation: Installation, results: Sequence[CheckResult]) -> dict[str, Any]:
    """Convert the results to a document for JSON or YAML."""
    return {
        "name": installation.name,
        "namespace": installation.namespace,
        "version": installation.version,
        "kubernetes": installation.kubernetes,
        "checks": [
            {
                "id": result.id,
                "title": result.title,
                "state": result.state.value,
                "findings": [
                    {
                        "severity": finding.severity.value,
                        "says": finding.message,
                        "advice": finding.advice,
                    }
                    for finding in result.findings
                ],
                "notLookedAt": list(result.unreadable),
            }
            for result in results
        ],
    }


def show(installation: Installation, results: Sequence[CheckResult], terminal: Terminal) -> None:
    """Write a line for each check, with its findings and advice below."""
    where = f"{installation.namespace}/{installation.name}"
    terminal.line(
        "evenspread in ", (where, Style.PLACE), ", on Kubernetes ", installation.kubernetes
    )
    for result in results:
        state = result.state
        terminal.line(
            (f"{state:<{_COLUMNS['state']}}", _STYLES[state]),
            f"{result.id:<{_COLUMNS['id']}}",
            result.title,
        )
        for advice, findings in groupby(result.findings, lambda finding: finding.advice):
            for finding in findings:
                terminal.line(_INDENT, (finding.message, Style.PLACE))
            terminal.line(f"{_INDENT}-> ", (advice, Style.HINT))
        for hidden in result.unreadable:
            terminal.line(f"{_INDENT}not checked: {hidden}")
    terminal.line(f"{len(results)} checks: {', '.join(_format_counts(results))}")


def _format_counts(results: Sequence[CheckResult]) -> Iterator[str]:
    counts = Counter(result.state for result in results)
    for state in (CheckState.PROBLEM, CheckState.UNKNOWN, CheckState.NOTE, CheckState.OK):
        many = counts[state]
        is_noun = state in (CheckState.PROBLEM, CheckState.NOTE)
        if many:
            yield count_of(many, state) if is_noun else f"{many} {state}"
