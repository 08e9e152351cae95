"""
The log lines of verdicts: denials, injections, dropped fields.

``VerdictLog.write`` is the entry point. It does not use structlog: nearly every pod creation of a
cluster writes a line, and a chain of processors takes three times as long as the encoding,
measured.
"""

import logging
from collections.abc import Callable, Iterator
from datetime import datetime

import msgspec

from webhook.policy.request import AdmissionRequest, Hook
from webhook.policy.verdict import Verdict
from webhook.telemetry.line_writer import LineWriter
from webhook.telemetry.logs import RENDERERS, LogFormat, render_line

INFO = "info"
MOST_LOGGED = 10  # findings or drops of one review; more would not help a reader


class VerdictLine(msgspec.Struct, frozen=True, gc=False):
    """
    The members of every line: the request and its verdict.

    Attributes:
        event: ``denied``, ``violates`` (reported, not denied), ``dropped`` or ``injected``.
    """

    time: datetime
    level: str
    event: str
    uid: str
    hook: str
    kind: str
    namespace: str
    name: str
    verdict: str


class ViolationLine(VerdictLine, frozen=True, gc=False):
    """The violated rules, and the fields that violate them."""

    rules: tuple[str, ...]
    fields: tuple[str, ...]


class DroppedFieldLine(VerdictLine, frozen=True, gc=False):
    """A dropped field; without an entry, the whole list."""

    gate: str
    field: str
    entry: int | None


class InjectionLine(VerdictLine, frozen=True, gc=False):
    """The topology keys of the added constraints."""

    profile: str
    keys: tuple[str, ...]


_encode = msgspec.json.Encoder().encode


class VerdictLog:
    """Writes the log lines of verdicts."""

    def __init__(
        self,
        format: LogFormat,  # noqa: A002  # the flag's own name
        lines: LineWriter,
        clock: Callable[[], datetime],
        level: int = logging.INFO,
    ) -> None:
        """
        Share a line writer with the rest of the log.

        Args:
            clock: The wall clock: aware, UTC.
            level: The lowest level that is written; these lines are ``info``.
        """
        self._lines = lines
        self._clock = clock
        self._enabled = level <= logging.INFO
        self._format = format

    def write(self, request: AdmissionRequest, hook: Hook, verdict: Verdict) -> None:
        """Write the lines of one review; none if it is simply allowed."""
        if self._enabled and (verdict.findings or verdict.drops or verdict.patch or verdict.held):
            for line in self._lines_of(request, hook, verdict):
                self._lines.take(self._render(line))

    def _render(self, line: VerdictLine) -> bytes:
        if self._format is LogFormat.JSON:
            try:
                written = _encode(line)
            except UnicodeEncodeError:  # a lone surrogate: ``render_line`` escapes it
                written = b"\x7f"
            if written.isascii() and b"\x7f" not in written:
                return written
        event = msgspec.to_builtins(line, builtin_types=(datetime,))
        return render_line(RENDERERS[self._format], event, self._lines)

    def _lines_of(
        self, request: AdmissionRequest, hook: Hook, verdict: Verdict
    ) -> Iterator[VerdictLine]:
        now = self._clock()
        kind, name, outcome = str(request.kind), request.shown_name, verdict.outcome
        about = (request.uid, hook.value, kind, request.namespace, name, outcome)
        if verdict.findings:
            event = "violates" if verdict.allowed else "denied"
            yield ViolationLine(now, INFO, event, *about, *_violated(verdict))
        for drop in verdict.drops[:MOST_LOGGED]:
            yield DroppedFieldLine(
                now, INFO, "dropped", *about, drop.gate.value, drop.field, drop.entry
            )
        injection = verdict.injection
        if injection is not None and injection.entries and (verdict.patch or verdict.held):
            yield InjectionLine(now, INFO, "injected", *about, injection.profile, injection.keys)


def _violated(verdict: Verdict) -> tuple[tuple[str, ...], tuple[str, ...]]:
    rules = sorted({finding.rule for finding in verdict.findings})
    return tuple(rules), tuple(finding.error.field for finding in verdict.findings[:MOST_LOGGED])
