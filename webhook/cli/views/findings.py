"""
Findings of ``validate`` as text: place, problem, and what to write instead.

Every finding starts with file and line in the format of compilers, so that editors can jump there.
For several Kubernetes versions, ``Matrix`` shows the findings with one column per version; versions
with equal findings share a column, so an upgrade changes something only between columns.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any, NamedTuple

import msgspec

from webhook.cli.terminal import Style, Terminal
from webhook.cli.views.validationreport import Cause, ValidationNotice, ValidationReport
from webhook.policy.api.gates import Gate, Gates, Stage
from webhook.policy.api.versions import Version


def show(report: ValidationReport, terminal: Terminal, *, is_wide: bool = False) -> None:
    """
    Write all findings about an object.

    Args:
        is_wide: Whether to write a line about an object without findings, too.
    """
    subject = name_of(report.kind, report.namespace, report.name)
    if is_wide and report.judged and not (report.denied or report.has_warnings):
        place = (f"{report.source}:{report.line}", Style.PLACE)
        terminal.line(place, f": {subject}: ", ("accepted", Style.GOOD))
    show_causes(report.source, subject, report.causes, terminal)
    for heading, notices in (("warning", report.warnings), ("dropped", report.dropped)):
        for notice in notices:
            place = (f"{report.source}:{notice.line}", Style.PLACE)
            message = f": {notice.message} [{notice.rule}]"
            terminal.line(place, f": {subject}: ", (heading, Style.DOUBTFUL), message)
            _show_fix(notice, terminal)


def show_causes(source: str, subject: str, causes: Iterable[Cause], terminal: Terminal) -> None:
    """Write why an object is denied."""
    for cause in causes:
        place = (f"{source}:{cause.line}", Style.PLACE)
        rule = f" [{cause.rule}]" if cause.rule else ""
        field = "" if cause.field in cause.message else f" {cause.field}:"
        message = f":{field} {cause.message}{rule}"
        terminal.line(place, f": {subject}: ", ("denied", Style.BAD), message)
        _show_fix(cause, terminal)


def name_of(kind: str, namespace: str, name: str) -> str:
    """Render the name of an object: ``Pod shop/web``."""
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}".rstrip()


def describe_support(gates: Gates) -> str:
    """Describe in one sentence which fields an API server supports, and its matchLabelKeys."""
    return f"Kubernetes {gates.version} {'; '.join(_describe_fields(gates))}"


def _describe_fields(gates: Gates) -> Iterator[str]:
    if Gate.EVEN_PODS_SPREAD not in gates:
        yield f"drops topologySpreadConstraints, since {Gate.EVEN_PODS_SPREAD} is off"
        return
    unknown = [field for field, gate in gates.fields_off.items() if not _exists(gate, gates)]
    dropped = [field for field, gate in gates.fields_off.items() if _exists(gate, gates)]
    if unknown:
        yield f"does not know {', '.join(unknown)}"
    if dropped:
        yield f"drops {', '.join(dropped)}, since the feature gate is off"
    if not gates.fields_off:
        yield "knows every field"
    if Gate.SELECTOR_MERGE in gates:
        yield "merges matchLabelKeys into the selector of a new pod"
    elif Gate.MATCH_LABEL_KEYS in gates:
        yield "refuses a key in both matchLabelKeys and labelSelector"


def _exists(gate: Gate, gates: Gates) -> bool:
    return gates.settings[gate].stage is not Stage.ABSENT


def _show_fix(finding: Cause | ValidationNotice, terminal: Terminal) -> None:
    terminal.line("    instead: ", (finding.fix, Style.HINT))


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
