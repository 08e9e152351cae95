"""
The log: one line per event, as JSON for machines or as plain text for people.

``make_log`` is the entry point. A request that is simply allowed has no line, and no line contains
a body or a secret. Text from clients is escaped, so that it cannot forge a line or control a
terminal. Logging never raises: an event that cannot be encoded becomes a line with its name alone.
"""

import json
import logging
import re
import sys
import traceback
from collections.abc import Callable, Generator, MutableMapping
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeAlias, TypeGuard

import msgspec

from webhook.telemetry.line_writer import LineWriter


@contextmanager
def hide_module(name: str) -> Generator[None]:
    """
    Hide a top-level module from imports as long as the context lasts, even if it is loaded.

    This is for a library that imports an optional module at once although it seldom needs it.

    Source: Python Language Reference 5.3.1, The module cache: None means "not found".
    """
    modules: dict[str, Any] = sys.modules
    before = modules.get(name)
    modules[name] = None
    try:
        yield
    finally:
        del modules[name]
        if before is not None:
            modules[name] = before


with hide_module("rich"):  # structlog would import it, 3 MiB, for tracebacks that are never shown
    import structlog
    from structlog.typing import FilteringBoundLogger

Log: TypeAlias = FilteringBoundLogger
Event: TypeAlias = MutableMapping[str, Any]

FRAMES = 12  # innermost frames of a bug's traceback, which locate it

_encode = msgspec.json.Encoder().encode
_needs_quotes = re.compile(r"[^!#-<>-\[\]-~]").search  # blanks, quotes, '=', '\\', non-ASCII
_WIDTH = 8  # of the level; the longest is "critical"


class LogFormat(StrEnum):
    """The formats of log lines."""

    JSON = "json"
    CONSOLE = "console"


def make_log(
    format: LogFormat,  # noqa: A002  # the flag's own name
    lines: LineWriter,
    clock: Callable[[], datetime],
    level: int = logging.INFO,
) -> Log:
    """
    Create a log that shares no state with any other.

    Args:
        lines: The writer of its lines.
        clock: The wall clock: aware, UTC.
        level: The lowest level that is written, as in ``logging``.
    """
    render = RENDERERS[format]

    def write(_logger: object, level_name: str, event: Event) -> bytes:
        name = event.pop("event")
        whole = {"time": clock(), "level": level_name, "event": name, **event}
        return render_line(render, whole, lines)

    wrapper = structlog.make_filtering_bound_logger(level)
    lazy = structlog.wrap_logger(lines, processors=[write], wrapper_class=wrapper)
    log: Log = lazy.bind()  # bind now, else structlog would assemble the logger for each line
    return log


def render_line(render: "Render", event: Event, lines: LineWriter) -> bytes:
    """
    Render an event; one that cannot be encoded becomes a line with its name alone.

    Args:
        render: One of ``RENDERERS``.
        event: With ``time``, ``level`` and ``event`` first.
        lines: Counts an event that cannot be encoded as lost.
    """
    time, level, name = event["time"], event["level"], event["event"]
    try:
        return render(event)
    except Exception:  # noqa: BLE001  # methods of a value may raise anything
        lines.lost += 1
        shown = name if isinstance(name, str) else type(name).__name__
        return render({"time": time, "level": level, "event": shown, "unwritable": True})


def _as_json(event: Event) -> bytes:
    try:
        line = _encode(event)
    except Exception:  # noqa: BLE001  # a lone surrogate, a huge number, an unknown type
        line = b"\x7f"
    if line.isascii() and b"\x7f" not in line:
        return line
    return json.dumps(event, default=str).replace("\x7f", "\\u007f").encode("ascii")


def _as_text(event: Event) -> bytes:
    time, level, event_name = event.pop("time"), event.pop("level"), event.pop("event")
    pairs = "".join(f" {name}={_quoted(value)}" for name, value in event.items())
    return f"{time:%H:%M:%S} {level:{_WIDTH}} {_escaped(str(event_name))}{pairs}".encode("ascii")


def _quoted(value: object) -> str:
    if _is_list(value):
        return ",".join(map(_quoted, value)) or '""'
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return f'"{_escaped(text)}"' if not text or _needs_quotes(text) else text


def _is_list(value: object) -> TypeGuard[list[object] | tuple[object, ...]]:
    return isinstance(value, list | tuple)


def _escaped(text: str) -> str:
    return json.dumps(text)[1:-1].replace("\x7f", "\\u007f")


Render: TypeAlias = Callable[[Event], bytes]

RENDERERS: dict[LogFormat, Render] = {LogFormat.JSON: _as_json, LogFormat.CONSOLE: _as_text}
"""The function that turns an event into a line without its newline, for each format."""


def log_bug(log: Log, error: BaseException, **about: str) -> None:
    """
    Log a bug: its type and traceback, but not its message.

    The message of an exception may contain a piece of the judged object.
    """
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES:]
    at = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    log.error("bug", error=type(error).__name__, at=at, **about)


class Throttle:
    """Limits lines to a number per second, and counts the others."""

    def __init__(self, most: int, clock: Callable[[], float]) -> None:
        """
        Start without a line.

        Args:
            most: The maximum number of lines per second.
            clock: Seconds; never goes back.
        """
        self._most = most
        self._clock = clock
        self._second = 0
        self._passed = 0
        self._missed = 0

    def admit(self) -> int | None:
        """Count the lines suppressed since the last admitted one; None suppresses this one."""
        second = int(self._clock())
        if second != self._second:
            self._second, self._passed = second, 0
        if self._passed >= self._most:
            self._missed += 1
            return None
        self._passed += 1
        missed, self._missed = self._missed, 0
        return missed


class _Bridge(logging.Handler):
    """Forwards log records of libraries, without their tracebacks."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            log_bug(self._log, error, library=record.name)
            return
        try:
            message = record.getMessage().partition("\n")[0]
        except Exception:  # noqa: BLE001  # invalid arguments, or a method of one raises
            message = f"a message that cannot be formatted, from {record.filename}:{record.lineno}"
        self._log.warning("library", library=record.name, message=message)


@contextmanager
def forward_library_logs(log: Log) -> Generator[None]:
    """Forward warnings and errors of libraries to the log as long as the context lasts."""
    root, bridge = logging.getLogger(), _Bridge(log)
    root.addHandler(bridge)
    try:
        yield
    finally:
        root.removeHandler(bridge)
