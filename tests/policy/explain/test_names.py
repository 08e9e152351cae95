import pytest

from webhook.policy.defaulting.profiles import HOSTNAME, ZONE
from webhook.policy.explain.names import REGION, SHORT, counted, full_key, listed, short_key

KEYS = {"zone": ZONE, "region": REGION, "hostname": HOSTNAME, "rack": "rack"}


@pytest.mark.parametrize(("short", "full"), KEYS.items())
def test_well_known_keys_have_short_names(short: str, full: str) -> None:
    assert full_key(short) == full
    assert short_key(full) == short
    assert full_key(full) == full


def test_all_short_names_are_tested() -> None:
    assert KEYS.keys() > SHORT.keys()


LISTS = {
    "none": ((), 3, ""),
    "few": (("a", "b", "c"), 3, "a, b, c"),
    "many": (("a", "b", "c", "d", "e"), 3, "a, b, c and 2 more"),
    "more than are wanted": (("a", "b"), 1, "a and 1 more"),
}


@pytest.mark.parametrize(("names", "most", "text"), LISTS.values(), ids=LISTS.keys())
def test_the_first_names_are_listed(names: tuple[str, ...], most: int, text: str) -> None:
    assert listed(names, most) == text


@pytest.mark.parametrize(("number", "text"), [(0, "0 nodes"), (1, "1 node"), (2, "2 nodes")])
def test_things_are_counted(number: int, text: str) -> None:
    assert counted(number, "node") == text
