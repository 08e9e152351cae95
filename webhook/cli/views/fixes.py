"""What was mended and what was left, as people read it: lines, and the difference of texts."""

import re
import sys
from collections.abc import Iterator
from difflib import unified_diff

from webhook.cli.terminal import Style, Terminal
from webhook.fix.report import FixedFinding, FixReport, RemainingFinding
from webhook.policy.advice.findings import number

_line = re.compile(r"[^\n]*\n|[^\n]+").findall
_STYLES = {"+": Style.GOOD, "-": Style.BAD, "@": Style.HINT}
_HEADINGS = ("+++", "---")
_UNENDED = "\n\\ No newline at end of file\n"


def show(report: FixReport, terminal: Terminal) -> None:
    """Write what became of each finding, and how many there were."""
    for mended in report.fixed:
        _show_mended(mended, terminal)
    for each in report.left:
        _show_left(each, terminal)
    terminal.line(summary(report))


def summary(report: FixReport) -> str:
    """Say in one line how many findings were mended, and how many were not."""
    fixed, files = number(len(report.fixed), "finding"), number(len(report.changed), "file")
    done = "fixed" if report.written else "would be fixed"
    return f"{fixed} {done} in {files}, {len(report.left)} left"


def _show_mended(each: FixedFinding, terminal: Terminal) -> None:
    place = f"{each.source}:{each.line}"
    rule = (each.rule, Style.GOOD)
    terminal.line((place, Style.PLACE), ": ", rule, f" {each.object}: {each.wrote}")


def _show_left(each: RemainingFinding, terminal: Terminal) -> None:
    place = f"{each.source}:{each.line}"
    rule = (each.rule, Style.DOUBTFUL)
    said = f" {each.object}: {each.field}: {each.problem}"
    terminal.line((place, Style.PLACE), ": ", rule, said)
    terminal.line(f"    left: {each.reason}")


def difference(source: str, before: str, after: str) -> str:
    """Write how two texts of a file differ, as ``patch`` reads it; nothing if they do not."""
    lines = unified_diff(_line(before), _line(after), source, source)
    return "".join(line if line.endswith("\n") else f"{line}{_UNENDED}" for line in lines)


def show_difference(text: str) -> None:
    """Write a difference: coloured on a terminal, to the byte anywhere else."""
    if sys.stdout.isatty():
        Terminal().lines(_styled(text))
    else:
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()  # before stderr tells what was done


def _styled(text: str) -> Iterator[list[tuple[str, Style]]]:
    for line in text.split("\n")[:-1]:
        style = Style.PLACE if line.startswith(_HEADINGS) else _STYLES.get(line[:1], Style.PLAIN)
        yield [(line, style)]
