"""
Findings for people: where, what, and what to write instead.

Every finding starts with file and line as compilers write them, so that editors can jump there.
"""

from collections.abc import Iterable

from webhook.cli.terminal import Style, Terminal
from webhook.cli.views.reports import Cause, Remark, Report


def show(report: Report, terminal: Terminal) -> None:
    """Write all there is to say about an object; nothing if it is in order."""
    subject = name_of(report.kind, report.namespace, report.name)
    show_causes(report.source, subject, report.causes, terminal)
    for heading, remarks in (("warning", report.warnings), ("dropped", report.dropped)):
        for remark in remarks:
            place = (f"{report.source}:{remark.line}", Style.PLACE)
            said = f": {remark.message} [{remark.rule}]"
            terminal.line(place, f": {subject}: ", (heading, Style.DOUBTFUL), said)
            _show_fix(remark, terminal)


def show_causes(source: str, subject: str, causes: Iterable[Cause], terminal: Terminal) -> None:
    """Write why an object is refused."""
    for cause in causes:
        place = (f"{source}:{cause.line}", Style.PLACE)
        rule = f" [{cause.rule}]" if cause.rule else ""
        said = f": {cause.field}: {cause.message}{rule}"
        terminal.line(place, f": {subject}: ", ("denied", Style.BAD), said)
        _show_fix(cause, terminal)


def name_of(kind: str, namespace: str, name: str) -> str:
    """Name an object: ``Pod shop/web``."""
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}".rstrip()


def _show_fix(about: Cause | Remark, terminal: Terminal) -> None:
    terminal.line("    instead: ", (about.fix, Style.HINT))
