"""Which connections go when there are too many."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.server.http.connections import Connections

Act = Callable[[Connections[str]], object]


def admit(key: str, at: float = 0) -> Act:
    return lambda table: table.admit(key, at)


def prove(key: str, at: float = 0) -> Act:
    return lambda table: table.prove(key, at)


def forget(key: str) -> Act:
    return lambda table: table.forget(key)


CASES: dict[str, tuple[list[Act], float, bool, list[str]]] = {
    "there is room": ([admit("a")], 0, True, []),
    "the oldest stranger goes first": ([admit("a"), admit("b")], 0, True, ["a"]),
    "a stranger goes before a caller": ([admit("a"), prove("a"), admit("b")], 1000, True, ["b"]),
    "a caller that is in use stays": (
        [admit("a"), prove("a", 0), admit("b"), prove("b", 5)],
        90,
        False,
        [],
    ),
    "a caller that is idle goes": (
        [admit("a"), prove("a", 0), admit("b"), prove("b", 5)],
        91,
        True,
        ["a"],
    ),
    "the one that is idle for longest goes": (
        [admit("a"), prove("a", 0), admit("b"), prove("b", 5), prove("a", 6)],
        1000,
        True,
        ["b"],
    ),
    "one that has left makes room": (
        [admit("a"), admit("b"), prove("b"), forget("b")],
        0,
        True,
        [],
    ),
    "one that left before it was proven does not come back": (
        [admit("a"), forget("a"), prove("a"), admit("b")],
        0,
        True,
        [],
    ),
    "leaving twice is leaving once": (
        [admit("a"), forget("a"), forget("a"), admit("b")],
        0,
        True,
        [],
    ),
}


@pytest.mark.parametrize(("before", "now", "taken", "cut"), CASES.values(), ids=CASES)
def test_a_newcomer_to_a_table_of_two(
    before: list[Act], now: float, taken: bool, cut: list[str]
) -> None:
    gone: list[str] = []
    table = Connections[str](2, 90, gone.append)
    for act in before:
        act(table)

    assert table.admit("new", now) is taken
    assert gone == cut


def test_a_table_of_none_takes_nobody() -> None:
    assert not Connections[str](0, 90, lambda _: None).admit("a", 0)


keys = st.sampled_from("abcdef")
acts = st.lists(st.tuples(st.sampled_from(["admit", "prove", "forget"]), keys), max_size=60)


@given(acts, st.integers(1, 4))
def test_there_are_never_too_many(steps: list[tuple[str, str]], most: int) -> None:
    gone: list[str] = []
    open_keys: set[str] = set()
    table = Connections[str](most, 3, gone.append)

    for now, (step, key) in enumerate(steps):
        gone.clear()
        if step == "admit" and key not in open_keys:
            open_keys |= {key} if table.admit(key, now) else set()
        elif step == "prove":
            table.prove(key, now)
        elif step == "forget":
            table.forget(key)
            open_keys.discard(key)
        open_keys -= set(gone)

        assert len(table) == len(open_keys) <= most
