"""
The log lines of verdicts: denials, injections, dropped fields.

``VerdictLog.write`` is the entry point. Nearly every pod creation of a cluster writes a line, so
this module does without structlog: a chain of processors takes three times as long as the
encoding, measured. What the lines of a ReplicaSet's pods have in common is encoded once.
"""

import logging
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from webhook.policy.defaulting.inject import CACHED_INJECTIONS
from webhook.policy.model import GroupKind
from webhook.policy.request import AdmissionRequest, Hook
from webhook.policy.verdict import Verdict
from webhook.telemetry.line_writer import LineWriter
from webhook.telemetry.logs import RENDERERS, LogFormat, render_line

INFO = "info"
MOST_LOGGED = 10  # findings or drops of one review; more would not help a reader


class LineStart(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """
    The members that differ from line to line.

    Attributes:
        event: ``denied``, ``violates`` (reported, not denied), ``dropped`` or ``injected``.
        dry_run: Whether the API server stores nothing; only written if it is true.
    """

    time: datetime
    level: str
    event: str
    uid: str
    name: str
    dry_run: bool = False


class VerdictMembers(msgspec.Struct, frozen=True, gc=False):
    """The members about the verdict."""

    hook: str
    kind: str
    namespace: str
    verdict: str


class ViolationMembers(VerdictMembers, frozen=True, gc=False):
    """The violated rules, and the fields that violate them."""

    rules: tuple[str, ...]
    fields: tuple[str, ...]


class DroppedFieldMembers(VerdictMembers, frozen=True, gc=False):
    """A dropped field; without an entry, the whole list."""

    gate: str
    field: str
    entry: int | None


class InjectionMembers(VerdictMembers, frozen=True, gc=False):
    """The topology keys of the added constraints."""

    profile: str
    keys: tuple[str, ...]


_encode = msgspec.json.Encoder().encode
_UNSAFE = b"\x7f"  # the control character that msgspec does not escape


class LineEnd(NamedTuple):
    """
    What follows the start of a line.

    Attributes:
        written: The members as JSON, after the opening brace; ``_UNSAFE`` if JSON cannot hold them.
    """

    event: str
    members: VerdictMembers
    written: bytes


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
        self._format, self._is_json = format, format is LogFormat.JSON  # compare once only

    def write(self, request: AdmissionRequest, hook: Hook, verdict: Verdict) -> None:
        """Write the lines of one review; none if it is simply allowed."""
        if self._enabled and (verdict.patch or verdict.findings or verdict.drops or verdict.held):
            now = self._clock()
            build = _line_ends if verdict.recurs else _line_ends.__wrapped__
            uid, name, dry_run = request.uid, request.shown_name, request.dry_run
            for end in build(verdict, hook, request.kind, request.namespace):
                start = LineStart(now, INFO, end.event, uid, name, dry_run)
                self._lines.take(self._render(start, end))

    def _render(self, start: LineStart, end: LineEnd) -> bytes:
        if self._is_json:
            line = b"%b,%b" % (_encode_safely(start)[:-1], end.written)
            if line.isascii() and _UNSAFE not in line:
                return line
        event = {**_as_dict(start), **_as_dict(end.members)}
        return render_line(RENDERERS[self._format], event, self._lines)


@lru_cache(CACHED_INJECTIONS)
def _line_ends(
    verdict: Verdict, hook: Hook, kind: GroupKind, namespace: str
) -> tuple[LineEnd, ...]:
    """Build the ends of all lines of a review; cached for verdicts that recur."""
    about = (hook.value, str(kind), namespace, verdict.outcome)
    return tuple(
        LineEnd(event, members, _encode_safely(members)[1:])
        for event, members in _list_members(verdict, about)
    )


def _list_members(
    verdict: Verdict, about: tuple[str, str, str, str]
) -> Iterator[tuple[str, VerdictMembers]]:
    if verdict.findings:
        event = "violates" if verdict.allowed else "denied"
        rules = tuple(sorted({finding.rule for finding in verdict.findings}))
        fields = tuple(finding.error.field for finding in verdict.findings[:MOST_LOGGED])
        yield event, ViolationMembers(*about, rules, fields)
    for drop in verdict.drops[:MOST_LOGGED]:
        yield "dropped", DroppedFieldMembers(*about, drop.gate.value, drop.field, drop.entry)
    injection = verdict.injection
    if injection is not None and injection.entries and (verdict.patch or verdict.held):
        yield "injected", InjectionMembers(*about, injection.profile, injection.keys)


def _encode_safely(members: msgspec.Struct) -> bytes:
    try:
        return _encode(members)
    except UnicodeEncodeError:  # a lone surrogate, which ``render_line`` escapes
        return b"{%b}" % _UNSAFE


def _as_dict(members: msgspec.Struct) -> dict[str, Any]:
    converted: dict[str, Any] = msgspec.to_builtins(members, builtin_types=(datetime,))
    return converted
