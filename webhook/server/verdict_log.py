"""
The log lines of verdicts: denials, injections, dropped fields; at level debug, every verdict.

``VerdictLog.write`` is the entry point. Nearly every pod creation of a cluster writes a line, so
this module does without structlog: a chain of processors takes three times as long as the
encoding, measured. What the lines of a namespace's pods have in common is encoded once.
"""

import logging
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from webhook.policy.model import GroupKind
from webhook.policy.request import AdmissionRequest, AnyHook
from webhook.policy.scaledown.ranks import KEEP_SPREAD
from webhook.policy.verdict import Verdict
from webhook.telemetry.line_writer import LineWriter
from webhook.telemetry.logs import RENDERERS, LogFormat, Throttle, render_line

DEBUG, INFO = "debug", "info"
MOST_LOGGED = 10  # findings or drops of one review; more would not help a reader

CACHED_LINE_ENDS = 512  # of about 1 KiB each: one for each namespace that gets pods, and profile


class LineStart(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """
    The members that differ from line to line.

    Attributes:
        event: ``denied``, ``violates`` (reported, not denied), ``dropped`` or ``injected``.
        dry_run: Whether the API server stores nothing; only written if it is true.
        missed: How many reviews with a denial or a dropped field were not logged since the last
            such line, because they were too many; only written if there are some.
    """

    time: datetime
    level: str
    event: str
    uid: str
    name: str
    dry_run: bool = False
    missed: int = 0


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


class InjectionMembers(VerdictMembers, frozen=True, omit_defaults=True, gc=False):
    """
    The topology keys of the added constraints.

    Attributes:
        label: The value of the label ``evenspread.io/scale-down`` that is added too.
    """

    profile: str
    keys: tuple[str, ...]
    label: str = ""


class LabelMembers(VerdictMembers, frozen=True, gc=False):
    """The value of the label ``evenspread.io/scale-down`` that alone is added."""

    profile: str
    label: str


class ReviewMembers(VerdictMembers, frozen=True, omit_defaults=True, gc=False):
    """
    A review of any verdict.

    Attributes:
        defaults: Result for the defaults of a new pod: ``injected``, ``in-place``, or why there
            are none, as in ``evenspread_defaults_skipped_total``; empty if no pod is created.
        profile: The profile that applies; empty if none does.
        label: The value of the label ``evenspread.io/scale-down`` that is added; empty if none is.
    """

    operation: str
    defaults: str
    profile: str
    label: str = ""


class BindingMembers(VerdictMembers, frozen=True, gc=False):
    """
    The binding of a pod to a node.

    Attributes:
        result: As in ``evenspread_bindings_total``.
        node: The name of the node.
        domain: Its topology domain; empty if the pod got no rank.
        rank: The rank of the pod in the domain; 0 if it got none.
    """

    result: str
    node: str
    domain: str
    rank: int


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
        throttle: Throttle,
        level: int = logging.INFO,
    ) -> None:
        """
        Share a line writer with the rest of the log.

        Args:
            clock: The wall clock: aware, UTC.
            throttle: Limits the reviews with a denial or a dropped field, which one user can repeat
                without end; a pod that gets defaults is created.
            level: The lowest level that is written; these lines are ``info``, and one for each
                review is ``debug``.
        """
        self._lines = lines
        self._clock = clock
        self._throttle = throttle
        self._enabled, self._verbose = level <= logging.INFO, level <= logging.DEBUG
        self._format, self._is_json = format, format is LogFormat.JSON  # compare once only

    def write(self, request: AdmissionRequest, hook: AnyHook, verdict: Verdict) -> None:
        """Write the lines of one review; none if it is simply allowed, except at level debug."""
        if self._enabled and (verdict.patch or verdict.findings or verdict.drops or verdict.held):
            self._write_lines(request, hook, verdict)
        if self._verbose:
            end = _end_line(*_describe_review(request, hook, verdict))
            uid, name, dry_run = request.uid, request.shown_name, request.dry_run
            start = LineStart(self._clock(), DEBUG, end.event, uid, name, dry_run)
            self._lines.take(self._render(start, end))

    def _write_lines(self, request: AdmissionRequest, hook: AnyHook, verdict: Verdict) -> None:
        missed = 0
        if verdict.findings or verdict.drops:
            admitted = self._throttle.admit()
            if admitted is None:
                return
            missed = admitted
        now = self._clock()
        uid, name, dry_run = request.uid, request.shown_name, request.dry_run
        for end in _list_line_ends(request, hook, verdict):
            start = LineStart(now, INFO, end.event, uid, name, dry_run, missed)
            self._lines.take(self._render(start, end))
            missed = 0

    def _render(self, start: LineStart, end: LineEnd) -> bytes:
        if self._is_json:
            line = b"%b,%b" % (_encode_safely(start)[:-1], end.written)
            if line.isascii() and _UNSAFE not in line:
                return line
        event = {**_as_dict(start), **_as_dict(end.members)}
        return render_line(RENDERERS[self._format], event, self._lines)


def _list_line_ends(
    request: AdmissionRequest, hook: AnyHook, verdict: Verdict
) -> Iterator[LineEnd]:
    """Build the ends of all lines of a review."""
    about = hook, request.kind, request.namespace, verdict.outcome
    if verdict.findings:
        rules = tuple(sorted({finding.rule for finding in verdict.findings}))
        fields = tuple(finding.error.field for finding in verdict.findings[:MOST_LOGGED])
        members = ViolationMembers(*_write_out(*about), rules, fields)
        yield _end_line("violates" if verdict.allowed else "denied", members)
    for drop in verdict.drops[:MOST_LOGGED]:
        entry = drop.gate.value, drop.field, drop.entry
        yield _end_line("dropped", DroppedFieldMembers(*_write_out(*about), *entry))
    injection = verdict.injection
    if injection is None or not (verdict.patch or verdict.held):
        return
    if injection.recommended:  # even if the patch has something that no profile requests
        about = (*about[:-1], "would_patch")
    keys = () if injection.previous and injection.is_in_place else injection.keys
    if keys or verdict.labelled:
        yield _end_injection(about, injection.profile, keys, _label_of(verdict))


@lru_cache(CACHED_LINE_ENDS)
def _end_injection(
    about: tuple[AnyHook, GroupKind, str, str], profile: str, keys: tuple[str, ...], label: str
) -> LineEnd:
    """Build the end of the line of defaults, which the pods of a namespace share."""
    described = _write_out(*about)
    if keys:
        return _end_line("injected", InjectionMembers(*described, profile, keys, label))
    return _end_line("labelled", LabelMembers(*described, profile, label))


def _write_out(
    hook: AnyHook, kind: GroupKind, namespace: str, outcome: str
) -> tuple[str, str, str, str]:
    """Return the values of ``VerdictMembers``."""
    return hook.value, str(kind), namespace, outcome


def _end_line(event: str, members: VerdictMembers) -> LineEnd:
    return LineEnd(event, members, _encode_safely(members)[1:])


def _label_of(verdict: Verdict) -> str:
    return KEEP_SPREAD if verdict.labelled else ""


def _describe_review(
    request: AdmissionRequest, hook: AnyHook, verdict: Verdict
) -> tuple[str, VerdictMembers]:
    """Return the event and the members of the line of a review of any verdict."""
    about = (hook.value, str(request.kind), request.namespace, verdict.outcome)
    ranking, binding = verdict.ranking, request.binding
    if ranking is not None and binding is not None:
        result, domain, rank = ranking.result.value, ranking.domain, ranking.rank
        return "binding", BindingMembers(*about, result, binding.node, domain, rank)
    defaults, profile = _describe_defaults(verdict)
    label = _label_of(verdict)
    return "reviewed", ReviewMembers(*about, request.operation, defaults, profile, label)


def _describe_defaults(verdict: Verdict) -> tuple[str, str]:
    """Describe the result for the defaults of a new pod, and name the profile."""
    injection = verdict.injection
    if injection is None:
        return "", ""
    if injection.skip:
        return injection.skip.value, injection.profile
    return "in-place" if injection.is_in_place else "injected", injection.profile


def _encode_safely(members: msgspec.Struct) -> bytes:
    try:
        return _encode(members)
    except UnicodeEncodeError:  # a lone surrogate, which ``render_line`` escapes
        return b"{%b}" % _UNSAFE


def _as_dict(members: msgspec.Struct) -> dict[str, Any]:
    converted: dict[str, Any] = msgspec.to_builtins(members, builtin_types=(datetime,))
    return converted
