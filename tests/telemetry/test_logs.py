"""Lines of the log: what is in them, and what cannot get in."""

import asyncio
import io
import json
import logging
import sys
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.telemetry.line_writer import LineWriter
from webhook.telemetry.logs import (
    Log,
    LogFormat,
    Throttle,
    forward_library_logs,
    hide_module,
    log_bug,
    make_log,
)

NOON = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)


def logged(
    format_: LogFormat = LogFormat.JSON, level: int = logging.INFO
) -> tuple[Log, io.BytesIO]:
    stream = io.BytesIO()
    lines = LineWriter(stream, lambda write: write())
    return make_log(format_, lines, lambda: NOON, level), stream


def test_a_line_is_a_json_object_with_time_level_and_event_first() -> None:
    log, stream = logged()

    log.info("reload", result="success", keys=("a", "b"))

    assert stream.getvalue() == (
        b'{"time":"2026-01-02T12:00:00Z","level":"info","event":"reload",'
        b'"result":"success","keys":["a","b"]}\n'
    )


def test_people_get_plain_text() -> None:
    log, stream = logged(LogFormat.CONSOLE)

    log.warning("rejected", reason="slow body", missed=3, empty="", keys=["a/b", "c d"], none=[])

    expected = b'rejected reason="slow body" missed=3 empty="" keys=a/b,"c d" none=""\n'
    assert stream.getvalue() == b"12:00:00 warning  " + expected


def test_lines_below_the_level_are_not_written() -> None:
    log, stream = logged(level=logging.WARNING)

    log.info("quiet")
    log.error("loud")

    assert stream.getvalue().count(b"\n") == 1


@pytest.mark.parametrize("format_", LogFormat)
@given(event=st.text(), value=st.text() | st.text(st.characters(categories=["Cc", "Cf", "Cs"])))
def test_no_text_can_forge_a_line_or_command_a_terminal(
    format_: LogFormat, event: str, value: str
) -> None:
    log, stream = logged(format_)

    log.info(event, value=value)

    line = stream.getvalue()
    assert line.endswith(b"\n")
    assert all(0x20 <= byte < 0x7F for byte in line[:-1])


@given(value=st.text())
def test_what_was_logged_can_be_read_back(value: str) -> None:
    log, stream = logged()

    log.info("value", value=value)

    assert json.loads(stream.getvalue())["value"] == value


def test_lines_of_one_turn_are_written_together() -> None:
    class Counting(io.BytesIO):
        writes = 0

        def write(self, data: Any, /) -> int:
            self.writes += 1
            return super().write(data)

    async def turn(stream: io.BytesIO) -> None:
        lines = LineWriter(stream, asyncio.get_running_loop().call_soon)
        log = make_log(LogFormat.JSON, lines, lambda: NOON)
        for i in range(3):
            log.info("line", i=i)
        assert stream.getvalue() == b""

    stream = Counting()
    asyncio.run(turn(stream))

    assert stream.writes == 1
    assert stream.getvalue().count(b"\n") == 3


def test_a_bug_is_logged_by_its_place_and_not_by_its_text() -> None:
    log, stream = logged()

    def fail() -> None:
        raise ValueError("canary")

    try:
        fail()
    except ValueError as error:
        log_bug(log, error, uid="u")

    line = json.loads(stream.getvalue())
    assert (line["event"], line["error"], line["uid"]) == ("bug", "ValueError", "u")
    assert line["at"][-1].endswith(" fail")
    assert "canary" not in stream.getvalue().decode()


def test_libraries_are_heard_without_their_tracebacks() -> None:
    log, stream = logged()
    library = logging.getLogger("library")

    with forward_library_logs(log):
        library.info("not this")
        library.warning("first\nsecond")
        library.error("failed", exc_info=KeyError("canary"))
    library.warning("nor this")

    warned, failed = (json.loads(line) for line in stream.getvalue().splitlines())
    assert (warned["event"], warned["message"]) == ("library", "first")
    assert (failed["event"], failed["error"], failed["library"]) == ("bug", "KeyError", "library")
    assert "canary" not in stream.getvalue().decode()


def test_a_throttle_counts_what_it_leaves_out() -> None:
    now = 0.0
    throttle = Throttle(2, lambda: now)

    first = [throttle.admit() for _ in range(5)]
    now = 1.0
    second = [throttle.admit() for _ in range(2)]

    assert first == [0, 0, None, None, None]
    assert second == [3, 0]


class Unwritable:
    """A value that cannot be encoded, nor be made a string."""

    def __repr__(self) -> str:
        raise RuntimeError("canary")


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


UNWRITABLE = {
    "a value without a text": Unwritable(),
    "a key that JSON lacks": {(1, 2): object()},
    "more levels than can be encoded": nested(100_000),
}


@pytest.mark.parametrize("format_", LogFormat)
@pytest.mark.parametrize("value", UNWRITABLE.values(), ids=UNWRITABLE)
def test_an_event_that_cannot_be_rendered_is_a_line_with_its_name(
    format_: LogFormat, value: object
) -> None:
    stream = io.BytesIO()
    lines = LineWriter(stream, lambda write: write())
    log = make_log(format_, lines, lambda: NOON)

    log.warning("reload", value=value)
    log.warning("after")

    first, second = stream.getvalue().decode().splitlines()
    assert "reload" in first
    assert "unwritable" in first
    assert "canary" not in first
    assert "after" in second
    assert lines.lost == 1


@pytest.mark.parametrize("format_", LogFormat)
@pytest.mark.parametrize("value", [2**70, {1, 2}, object, "\ud800", b"\xff", float("nan")])
def test_unusual_values_are_written(format_: LogFormat, value: object) -> None:
    log, stream = logged(format_)

    log.info("value", value=value)

    assert b"unwritable" not in stream.getvalue()
    assert stream.getvalue().count(b"\n") == 1


@pytest.mark.parametrize("text", ["%d of %d", Unwritable()], ids=["arguments", "text"])
def test_a_library_whose_message_cannot_be_formatted_is_heard(text: str) -> None:
    log, stream = logged()
    record = logging.LogRecord("library", logging.WARNING, "pool.py", 7, text, ("one",), None)

    with forward_library_logs(log):
        logging.getLogger().handlers[-1].handle(record)

    line = json.loads(stream.getvalue())
    assert line["library"] == "library"
    assert line["message"] == "a message that cannot be formatted, from pool.py:7"


def test_what_is_there_cannot_be_imported_meanwhile() -> None:
    before = import_module("rich")

    with hide_module("rich"), pytest.raises(ModuleNotFoundError):
        import_module("rich")

    assert import_module("rich") is before


def test_what_was_not_imported_can_be_imported_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "antigravity", raising=False)

    with hide_module("antigravity"), pytest.raises(ModuleNotFoundError):
        import_module("antigravity")

    assert "antigravity" not in sys.modules


def test_it_is_let_in_again_after_a_failure() -> None:
    with pytest.raises(ZeroDivisionError), hide_module("rich"):
        raise ZeroDivisionError

    assert sys.modules["rich"] is not None
