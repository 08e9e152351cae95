from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.config.durations import parse_duration

CASES = {
    "10m": timedelta(minutes=10),
    "1h30m": timedelta(minutes=90),
    "1.5h": timedelta(minutes=90),
    "500ms": timedelta(milliseconds=500),
    "0s": timedelta(),
    "": None,
    "10": None,
    "10 m": None,
    "-1m": None,
    "1d": None,
    "1m.": None,
    "9" * 7 + "h": None,
    "1h" * 8: timedelta(hours=8),
    "1h" * 9: None,
    "999999h" * 24_000: None,  # more than a timedelta holds
}


@pytest.mark.parametrize(("text", "duration"), CASES.items(), ids=lambda value: f"{value}"[:20])
def test_a_duration_is_read_as_go_reads_it(text: str, duration: timedelta | None) -> None:
    assert parse_duration(text) == duration


@given(st.integers(0, 999), st.integers(0, 59), st.integers(0, 59))
def test_what_go_writes_is_read_back(hours: int, minutes: int, seconds: int) -> None:
    written = f"{hours}h{minutes}m{seconds}s"

    assert parse_duration(written) == timedelta(hours=hours, minutes=minutes, seconds=seconds)
