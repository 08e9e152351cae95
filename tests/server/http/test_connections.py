"""Which connections go when there are too many."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.server.http.connections import Connections

Act = Callable[[Connections[str]], object]


def admit(key: str, at: float = 0, address: str = "") -> Act:
    return lambda table: table.admit(key, at, address)


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
    table = Connections[str](2, 90, 90, gone.append)
    for act in before:
        act(table)

    assert table.admit("new", now, "") is taken
    assert gone == cut


def filled(*connections: tuple[str, str, float | None]) -> list[Act]:
    """Open connections: key, address, and when they carried a review."""
    steps = [admit(key, 0, address) for key, address, _ in connections]
    return [*steps, *(prove(key, at) for key, _, at in connections if at is not None)]


CROWDS: dict[str, tuple[list[Act], float, list[str]]] = {
    "strangers of the address with most connections go first": (
        filled(("a", "1", None), ("b", "2", None), ("c", "2", None)),
        0,
        ["b"],
    ),
    "its callers count for that": (
        filled(("a", "1", None), ("b", "2", 0), ("c", "2", None)),
        0,
        ["c"],
    ),
    "a caller of that address goes before a stranger of another": (
        filled(("a", "1", None), ("b", "2", 0), ("c", "2", 0)),
        50,
        ["b"],
    ),
    "callers of that address that may wait stay, and a stranger goes": (
        filled(("a", "1", None), ("b", "2", 5), ("c", "2", 5)),
        9,
        ["a"],
    ),
    "a caller of another address stays": (
        filled(("a", "1", 0), ("b", "2", 5), ("c", "2", 5)),
        9,
        [],
    ),
    "of callers, the one of that address that is idle for longest goes": (
        filled(("a", "1", 0), ("b", "2", 1), ("c", "2", 2)),
        9,
        ["b"],
    ),
    "no connection is closed while all may wait": (
        filled(("a", "1", 5), ("b", "2", 5), ("c", "2", 5)),
        9,
        [],
    ),
    "a caller that Go has closed goes first": (
        filled(("a", "1", 0), ("b", "2", 50), ("c", "2", 50)),
        91,
        ["a"],
    ),
}


@pytest.mark.parametrize(("before", "now", "cut"), CROWDS.values(), ids=CROWDS)
def test_a_newcomer_to_a_crowded_table(before: list[Act], now: float, cut: list[str]) -> None:
    gone: list[str] = []
    table = Connections[str](3, 90, 6, gone.append)
    for act in before:
        act(table)

    assert table.admit("new", now, "3") is bool(cut)
    assert gone == cut


def test_a_newcomer_of_the_address_with_most_connections_displaces_no_stranger() -> None:
    gone: list[str] = []
    table = Connections[str](3, 90, 6, gone.append)
    for act in filled(("a", "1", None), ("b", "2", 5), ("c", "2", 5)):
        act(table)

    assert not table.admit("new", 9, "2")
    assert gone == []


@given(st.lists(st.integers(0, 16), min_size=12, max_size=60), st.integers(1, 3))
def test_a_hostile_address_never_evicts_a_caller_of_a_smaller_one(
    pauses: list[int], callers: int
) -> None:
    gone: list[str] = []
    table = Connections[str](8, 1000, 6, gone.append)
    for number in range(callers):
        table.admit(f"api-{number}", 0, "api")
        table.prove(f"api-{number}", 0)

    now = 0.0
    for number, pause in enumerate(pauses):
        now += pause
        if table.admit(f"hostile-{number}", now, "hostile"):
            table.prove(f"hostile-{number}", now)

    assert all(key.startswith("hostile") for key in gone)


def test_a_table_of_size_zero_takes_no_connection() -> None:
    assert not Connections[str](0, 90, 6, lambda _: None).admit("a", 0, "")


keys = st.sampled_from("abcdef")
acts = st.lists(st.tuples(st.sampled_from(["admit", "prove", "forget"]), keys), max_size=60)


@given(acts, st.integers(1, 4))
def test_there_are_never_too_many(steps: list[tuple[str, str]], most: int) -> None:
    gone: list[str] = []
    open_keys: set[str] = set()
    table = Connections[str](most, 3, 1, gone.append)

    for now, (step, key) in enumerate(steps):
        gone.clear()
        if step == "admit" and key not in open_keys:
            open_keys |= {key} if table.admit(key, now, "1" if key < "c" else "2") else set()
        elif step == "prove":
            table.prove(key, now)
        elif step == "forget":
            table.forget(key)
            open_keys.discard(key)
        open_keys -= set(gone)

        assert len(table) == len(open_keys) <= most
