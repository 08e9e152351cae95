"""
Versions of Kubernetes side by side: what each of them would say to the same manifests.

Versions that say the same share a column, so that what an upgrade changes is where columns meet.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from typing import Any, NamedTuple

import msgspec

from webhook.cli.terminal import Style, Terminal
from webhook.cli.views.findings import name_of
from webhook.cli.views.reports import Report
from webhook.policy.api.versions import Version

DENIED, WARNED, DROPPED, NOTHING = "deny", "warn", "drop", "-"

STYLES = {DENIED: Style.BAD, WARNED: Style.DOUBTFUL, DROPPED: Style.DOUBTFUL}

_LIST = "topologySpreadConstraints"  # what findings are below of, and need not repeat
_IDENTITY = frozenset(
    {"source", "line", "apiVersion", "kind", "namespace", "name", "judged"}
)  # what is the same at every version


class _Finding(NamedTuple):
    """What may be found at several versions, in any words."""

    line: int
    rule: str
    field: str

    def __str__(self) -> str:
        below = self.field.partition(_LIST)[2] or self.field.rpartition(".")[2]
        return f"{self.rule or 'type'} {below} (line {self.line})"


class _Row(NamedTuple):
    """A line of the matrix: a word for each version, and what they are about."""

    cells: tuple[str, ...]
    about: str


class Matrix:
    """What was found, version by version; small, however much was read."""

    def __init__(self, versions: Sequence[Version]) -> None:
        """
        Start with nothing.

        Args:
            versions: Of the reports, one after the other.
        """
        self._versions = versions
        self._objects: list[tuple[str, list[_Row]]] = []
        self._denied = [0] * len(versions)
        self._doubtful = [0] * len(versions)

    def add(self, reports: Sequence[Report]) -> None:
        """Take the reports on one object, one of each version."""
        first, found = reports[0], [_words(report) for report in reports]
        for column, report in enumerate(reports):
            self._denied[column] += report.denied
            self._doubtful[column] += report.doubtful and not report.denied
        findings = sorted(set(chain.from_iterable(found)))
        if findings:
            subject = name_of(first.kind, first.namespace, first.name)
            rows = [
                _Row(tuple(words.get(each, NOTHING) for words in found), str(each))
                for each in findings
            ]
            self._objects.append((f"{first.source}:{first.line}: {subject}", rows))

    def show(self, terminal: Terminal) -> None:
        """Write a table: a row for each finding, a column for versions that agree."""
        if not self._objects:
            return
        totals = [
            _Row(tuple(map(str, self._denied)), "objects denied"),
            _Row(tuple(map(str, self._doubtful)), "objects with warnings only"),
        ]
        every = [*chain.from_iterable(rows for _, rows in self._objects), *totals]
        shown = list(_columns(self._versions, every))
        headings = [heading for _, heading in shown]
        terminal.line((f"{'  '.join(headings)}  finding", Style.PLACE))
        for subject, rows in self._objects:
            terminal.line((subject, Style.PLACE))
            for row in rows:
                _write(row, shown, terminal)
        terminal.line()
        for row in totals:
            _write(row, shown, terminal)


def as_document(versions: Sequence[Version], reports: Sequence[Report]) -> dict[str, Any]:
    """Give the reports on one object to programs: what it is, then what each version answers."""
    written: list[dict[str, Any]] = [msgspec.to_builtins(report) for report in reports]
    return {
        **{key: value for key, value in written[0].items() if key in _IDENTITY},
        "versions": {
            str(version): {key: value for key, value in each.items() if key not in _IDENTITY}
            for version, each in zip(versions, written, strict=True)
        },
    }


def _words(report: Report) -> dict[_Finding, str]:
    """Say in one word what becomes of each thing that was found."""
    words = {_Finding(each.line, each.rule, each.field): DENIED for each in report.causes}
    for word, remarks in ((WARNED, report.warnings), (DROPPED, report.dropped)):
        words |= {_Finding(each.line, each.rule, each.field): word for each in remarks}
    return words


def _columns(versions: Sequence[Version], rows: Sequence[_Row]) -> Iterator[tuple[int, str]]:
    """The first of the versions that agree, by number, and what to call them all."""
    column_of = [tuple(row.cells[column] for row in rows) for column in range(len(versions))]
    for _, agreeing in groupby(range(len(versions)), key=column_of.__getitem__):
        columns = list(agreeing)
        first, last = versions[columns[0]], versions[columns[-1]]
        yield columns[0], str(first) if first == last else f"{first}-{last.minor}"


def _write(row: _Row, shown: Sequence[tuple[int, str]], terminal: Terminal) -> None:
    parts: list[tuple[str, Style]] = []
    for column, heading in shown:
        word = row.cells[column]
        parts.append((f"{word:{len(heading)}}  ", STYLES.get(word, Style.PLAIN)))
    terminal.line(*parts, row.about)
