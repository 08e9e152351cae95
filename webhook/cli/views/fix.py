"""FixReport of ``fix`` as text, and the diff of a file."""

import re
import sys
from collections.abc import Iterator
from difflib import unified_diff

from webhook.cli.terminal import Style, Terminal
from webhook.cli.views.diffs import style_of
from webhook.fix.report import FixedFinding, FixReport, RemainingFinding
from webhook.policy.advice.findings import count_of

_line = re.compile(r"[^\n]*\n|[^\n]+").findall
_NO_NEWLINE = "\n\\ No newline at end of file\n"


def show(report: FixReport, terminal: Terminal) -> None:
    """Write the result of every finding, and the totals."""
    for fixed in report.fixed:
        _show_fixed(fixed, terminal)
    for left in report.left:
        _show_left(left, terminal)
    terminal.line(summary(report))


def summary(report: FixReport) -> str:
    """Format as one line how many findings were fixed, and how many are left."""
    fixed, files = count_of(len(report.fixed), "finding"), count_of(len(report.changed), "file")
    done = "fixed" if report.written else "would be fixed"
    return f"{fixed} {done} in {files}, {len(report.left)} left"


def _show_fixed(fixed: FixedFinding, terminal: Terminal) -> None:
    place = f"{fixed.source}:{fixed.line}"
    rule = (fixed.rule, Style.GOOD)
    terminal.line((place, Style.PLACE), ": ", rule, f" {fixed.object}: {fixed.wrote}")


def _show_left(left: RemainingFinding, terminal: Terminal) -> None:
    place = f"{left.source}:{left.line}"
    rule = (left.rule, Style.DOUBTFUL)
    problem = f" {left.object}: {left.field}: {left.problem}"
    terminal.line((place, Style.PLACE), ": ", rule, problem)
    terminal.line(f"    left: {left.reason}")


def difference(source: str, before: str, after: str) -> str:
    """Format the difference of two texts as a unified diff for ``patch``; empty if equal."""
    lines = unified_diff(_line(before), _line(after), source, source)
    return "".join(line if line.endswith("\n") else f"{line}{_NO_NEWLINE}" for line in lines)


def show_difference(text: str) -> None:
    """Write a diff: with colours on a terminal, as plain bytes anywhere else."""
    if sys.stdout.isatty():
        Terminal().lines(_styled(text))
    else:
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()  # before the report on stderr


def _styled(text: str) -> Iterator[list[tuple[str, Style]]]:
    for line in text.split("\n")[:-1]:
        yield [(line, style_of(line))]
