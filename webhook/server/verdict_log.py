"""
The lines that verdicts leave in the log: a denial, an injection, a dropped field.

They are written without structlog. Nearly every pod creation of a cluster leaves one, and to pass
it through a chain of processors costs three times as much as encoding it, measured.
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
MOST_LOGGED = 10  # findings or drops of one review; more add nothing that a reader could use


class VerdictLine(msgspec.Struct, frozen=True, gc=False):
    """
    What every line says: who asked for what, and what came of it.

    Attributes:
        event: ``denied``, ``violates`` (told, not denied), ``dropped`` or ``injected``.
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
    """Rules that are violated, and fields that do."""

    rules: tuple[str, ...]
    fields: tuple[str, ...]


class DroppedFieldLine(VerdictLine, frozen=True, gc=False):
    """A field that is held back; without an entry it is the whole list."""

    gate: str
    field: str
    entry: int | None


class InjectionLine(VerdictLine, frozen=True, gc=False):
    """Constraints that are added."""

    profile: str
    keys: tuple[str, ...]


_encode = msgspec.json.Encoder().encode


class VerdictLog:
    """Writes the lines of verdicts."""

    def __init__(
        self,
        format: LogFormat,  # noqa: A002  # the flag's own name
        lines: LineWriter,
        clock: Callable[[], datetime],
        level: int = logging.INFO,
    ) -> None:
        """
        Write to the same lines as the rest of the log.

        Args:
            clock: The wall clock: aware, UTC.
            level: The least level that is written; these lines are ``info``.
        """
        self._lines = lines
        self._clock = clock
        self._hears = level <= logging.INFO
        self._format = format

    def write(self, asked: AdmissionRequest, hook: Hook, verdict: Verdict) -> None:
        """Write what a review led to; nothing if nothing."""
        if self._hears and (verdict.findings or verdict.drops or verdict.patch or verdict.held):
            for line in self._told(asked, hook, verdict):
                self._lines.take(self._rendered(line))

    def _rendered(self, line: VerdictLine) -> bytes:
        if self._format is LogFormat.JSON:
            try:
                written = _encode(line)
            except UnicodeEncodeError:  # half a surrogate pair
                written = b"\x7f"
            if written.isascii() and b"\x7f" not in written:
                return written
        event = msgspec.to_builtins(line, builtin_types=(datetime,))
        return render_line(RENDERERS[self._format], event, self._lines)

    def _told(self, asked: AdmissionRequest, hook: Hook, verdict: Verdict) -> Iterator[VerdictLine]:
        now = self._clock()
        kind, name, outcome = str(asked.kind), asked.shown_name, verdict.outcome
        about = (asked.uid, hook.value, kind, asked.namespace, name, outcome)
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
