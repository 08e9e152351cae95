"""
The lines that verdicts leave in the log: a denial, an injection, a dropped field.

They are written without structlog. Nearly every pod creation of a cluster leaves one, and to pass
it through a chain of processors costs three times as much as encoding it, measured.
"""

import logging
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial

import msgspec

from webhook.logs import RENDERERS, Format, Lines
from webhook.policy.request import AdmissionRequest, Hook
from webhook.policy.verdict import Verdict

SHOWN = 10  # findings or drops of one review; more add nothing that a reader could use


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """
    One line; who asked for what, what came of it, and then what the event is about.

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
    rules: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    gate: str = ""
    field: str = ""
    entry: int | None = None
    profile: str = ""
    keys: tuple[str, ...] = ()


_encode = msgspec.json.Encoder().encode


class VerdictLog:
    """Writes the lines of verdicts."""

    def __init__(
        self,
        format: Format,  # noqa: A002  # the flag's own name
        lines: Lines,
        clock: Callable[[], datetime],
        level: int = logging.INFO,
    ) -> None:
        """
        Write to the same lines as the rest of the log.

        Args:
            clock: The wall clock: aware, UTC.
            level: The least level that is written; these lines are ``info``.
        """
        self._write = lines.take
        self._clock = clock
        self._hears = level <= logging.INFO
        self._format = format

    def tell(self, asked: AdmissionRequest, hook: Hook, verdict: Verdict) -> None:
        """Write what a review led to; nothing if nothing."""
        if self._hears and (verdict.findings or verdict.drops or verdict.patch or verdict.held):
            for line in self._lines(asked, hook, verdict):
                self._write(self._rendered(line))

    def _rendered(self, line: Line) -> bytes:
        if self._format is Format.JSON:
            written = _encode(line)
            if written.isascii() and b"\x7f" not in written:
                return written
        return RENDERERS[self._format](msgspec.to_builtins(line, builtin_types=(datetime,)))

    def _lines(self, asked: AdmissionRequest, hook: Hook, verdict: Verdict) -> Iterator[Line]:
        line = partial(
            Line,
            time=self._clock(),
            level="info",
            uid=asked.uid,
            hook=hook.value,
            kind=str(asked.kind),
            namespace=asked.namespace,
            name=asked.shown_name,
            verdict=verdict.outcome,
        )
        if verdict.findings:
            rules = tuple(sorted({finding.rule for finding in verdict.findings}))
            fields = tuple(finding.error.field for finding in verdict.findings[:SHOWN])
            event = "violates" if verdict.allowed else "denied"
            yield line(event=event, rules=rules, fields=fields)
        for drop in verdict.drops[:SHOWN]:
            yield line(event="dropped", gate=drop.gate.value, field=drop.field, entry=drop.entry)
        injection = verdict.injection
        if injection is not None and injection.entries and (verdict.patch or verdict.held):
            yield line(event="injected", profile=injection.profile, keys=injection.keys)
