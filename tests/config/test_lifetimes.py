from datetime import timedelta

import pytest

from webhook.config.lifetimes import parse_lifetimes
from webhook.config.messages import RefusalError


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
