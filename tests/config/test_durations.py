from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.config.durations import parse_duration, parse_lifetimes
from webhook.config.messages import RefusalError

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


def test_lifetimes_are_read_by_certificate_type() -> None:
    assert parse_lifetimes("") == {}
    assert parse_lifetimes("leaf=10s, ca=1h") == {
        "leaf": timedelta(seconds=10),
        "ca": timedelta(hours=1),
    }


INVALID = {
    "an unknown certificate": (
        "leave=10s",
        "'leave' is no certificate: write leaf or ca, as in leaf=10s,ca=1h",
    ),
    "no unit": ("leaf=10s,ca=3600", "ca cannot last '3600': write a duration, as in ca=1h"),
    "no time at all": ("leaf=0s", "leaf cannot last '0s': write a duration, as in leaf=1h"),
}


@pytest.mark.parametrize(("text", "problem"), INVALID.values(), ids=INVALID.keys())
def test_invalid_lifetimes_are_refused(text: str, problem: str) -> None:
    with pytest.raises(RefusalError) as raised:
        parse_lifetimes(text)

    assert raised.value.problems == (((), problem),)
