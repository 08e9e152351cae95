"""
Table of findings with one column per Kubernetes version.

Versions with equal findings share a column, so an upgrade changes something only between columns.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any, NamedTuple

import msgspec

from webhook.cli.terminal import Style, Terminal
from webhook.cli.views.findings import name_of
from webhook.cli.views.validation import ValidationReport
from webhook.policy.api.versions import Version

DENIED, WARNED, DROPPED, NOTHING = "deny", "warn", "drop", "-"

_STYLES = {DENIED: Style.BAD, WARNED: Style.DOUBTFUL, DROPPED: Style.DOUBTFUL}

_LIST = "topologySpreadConstraints"  # the parent of all fields, omitted in the table
_IDENTITY = frozenset(
    {"source", "line", "apiVersion", "kind", "namespace", "name", "judged"}
)  # equal at every version


class _Finding(NamedTuple):
    """A finding, regardless of its message, which differs between versions."""

    line: int
    rule: str
    field: str

    def __str__(self) -> str:
        below = self.field.partition(_LIST)[2] or self.field.rpartition(".")[2]
        return f"{self.rule or 'type'} {below} (line {self.line})"


@dataclass(frozen=True)
class _Row:
    """A row of the table: a word for each version, and the finding."""

    cells: tuple[str, ...]
    about: str


class Matrix:
    """Findings version by version; keeps only objects with findings, to bound memory."""

    def __init__(self, versions: Sequence[Version]) -> None:
        """Start without findings; the versions are in the order of the reports."""
        self._versions = versions
        self._objects: list[tuple[str, list[_Row]]] = []
        self._denied = [0] * len(versions)
        self._warned = [0] * len(versions)

    def add(self, reports: Sequence[ValidationReport]) -> None:
        """Add the reports on one object, one per version."""
        first, found = reports[0], [_classify(report) for report in reports]
        for column, report in enumerate(reports):
            self._denied[column] += report.denied
            self._warned[column] += report.has_warnings and not report.denied
        findings = sorted(set(chain.from_iterable(found)))
        if findings:
            subject = name_of(first.kind, first.namespace, first.name)
            rows = [
                _Row(tuple(words.get(finding, NOTHING) for words in found), str(finding))
                for finding in findings
            ]
            self._objects.append((f"{first.source}:{first.line}: {subject}", rows))

    def show(self, terminal: Terminal) -> None:
        """Write the table: a row for each finding, a column for each run of equal versions."""
        if not self._objects:
            return
        totals = [
            _Row(tuple(map(str, self._denied)), "objects denied"),
            _Row(tuple(map(str, self._warned)), "objects with warnings only"),
        ]
        all_rows = [*chain.from_iterable(rows for _, rows in self._objects), *totals]
        shown = list(_columns(self._versions, all_rows))
        headings = [heading for _, heading in shown]
        terminal.line((f"{'  '.join(headings)}  finding", Style.PLACE))
        for subject, rows in self._objects:
            terminal.line((subject, Style.PLACE))
            for row in rows:
                _write_row(row, shown, terminal)
        terminal.line()
        for row in totals:
            _write_row(row, shown, terminal)


def as_document(versions: Sequence[Version], reports: Sequence[ValidationReport]) -> dict[str, Any]:
    """Convert the reports on one object to a document; several are listed by version."""
    written: list[dict[str, Any]] = [msgspec.to_builtins(report) for report in reports]
    if len(written) == 1:
        return written[0]
    return {
        **{key: value for key, value in written[0].items() if key in _IDENTITY},
        "versions": {
            str(version): {key: value for key, value in report.items() if key not in _IDENTITY}
            for version, report in zip(versions, written, strict=True)
        },
    }


def _classify(report: ValidationReport) -> dict[_Finding, str]:
    """Map each finding to its consequence: deny, warn or drop."""
    words = {_Finding(cause.line, cause.rule, cause.field): DENIED for cause in report.causes}
    for word, notices in ((WARNED, report.warnings), (DROPPED, report.dropped)):
        words |= {_Finding(notice.line, notice.rule, notice.field): word for notice in notices}
    return words


def _columns(versions: Sequence[Version], rows: Sequence[_Row]) -> Iterator[tuple[int, str]]:
    """Yield index and heading of each run of versions with equal cells."""
    column_of = [tuple(row.cells[column] for row in rows) for column in range(len(versions))]
    for _, equal in groupby(range(len(versions)), key=column_of.__getitem__):
        columns = list(equal)
        first, last = versions[columns[0]], versions[columns[-1]]
        yield columns[0], str(first) if first == last else f"{first}-{last.minor}"


def _write_row(row: _Row, shown: Sequence[tuple[int, str]], terminal: Terminal) -> None:
    parts: list[tuple[str, Style]] = []
    for column, heading in shown:
        word = row.cells[column]
        parts.append((f"{word:{len(heading)}}  ", _STYLES.get(word, Style.PLAIN)))
    terminal.line(*parts, row.about)
