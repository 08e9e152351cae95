"""Report of ``fix`` as text, and the diff of a file."""

import re
import sys
from difflib import unified_diff

from webhook.cli.terminal import Style, Terminal
from webhook.cli.views.diffs import style_of
from webhook.fix.report import FixReport
from webhook.policy.advice.findings import count_of
from webhook.policy.escape import printable

_line = re.compile(r"[^\n]*\n|[^\n]+").findall
_NO_NEWLINE = "\n\\ No newline at end of file\n"


def show(report: FixReport, terminal: Terminal) -> None:
    """Write the result of every finding, and the totals."""
    for fixed in report.fixed:
        place, rule = f"{fixed.source}:{fixed.line}", (fixed.rule, Style.GOOD)
        terminal.line((place, Style.PLACE), ": ", rule, f" {fixed.object}: {fixed.wrote}")
    for left in report.left:
        place, rule = f"{left.source}:{left.line}", (left.rule, Style.DOUBTFUL)
        problem = f" {left.object}: {left.field}: {left.problem}"
        terminal.line((place, Style.PLACE), ": ", rule, problem)
        terminal.line(f"    left: {left.reason}")
    findings = count_of(len(report.fixed), "finding")
    done = "fixed" if report.written else "would be fixed"
    files = count_of(len(report.changed), "file")
    terminal.line(f"{findings} {done} in {files}, {len(report.left)} left")


def show_difference(source: str, before: str, after: str) -> None:
    """Write a unified diff for ``patch``: with colours on a terminal, as bytes elsewhere."""
    name = printable(source)
    lines = unified_diff(_line(before), _line(after), name, name)
    text = "".join(line if line.endswith("\n") else f"{line}{_NO_NEWLINE}" for line in lines)
    if sys.stdout.isatty():
        Terminal().lines([(line, style_of(line))] for line in text.split("\n")[:-1])
    else:
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()  # before the report on stderr
