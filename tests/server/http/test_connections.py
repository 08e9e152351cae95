"""Which connections go when there are too many."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.server.http.connections import LEAVING_SHARE, Activity, Connections

Act = Callable[[Connections[str]], object]


def table_of(
    most: int, idle: float, answered: float, gone: list[str], **busy: Activity
) -> Connections[str]:
    """A table that lists the keys which it closes; all connections are idle, but for some."""
    return Connections(most, idle, answered, gone.append, lambda key: busy.get(key, Activity.IDLE))


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
    table = table_of(2, 90, 90, gone)
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
    "callers of that address need not be idle for long": (
        filled(("a", "1", 0), ("b", "2", 5), ("c", "2", 5)),
        5,
        ["b"],
    ),
    "of callers, the one of that address that is idle for longest goes": (
        filled(("a", "1", 0), ("b", "2", 1), ("c", "2", 2)),
        9,
        ["b"],
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
    table = table_of(3, 90, 6, gone)
    for act in before:
        act(table)

    assert table.admit("new", now, "3") is bool(cut)
    assert gone == cut


def test_a_newcomer_of_the_address_with_most_connections_displaces_no_stranger() -> None:
    gone: list[str] = []
    table = table_of(3, 90, 6, gone)
    for act in filled(("a", "1", None), ("b", "2", 5), ("c", "2", 5)):
        act(table)

    assert not table.admit("new", 9, "2")
    assert gone == []


@pytest.mark.parametrize(("now", "cut"), [(6, []), (7, ["b"])])
def test_a_newcomer_of_the_address_with_most_connections_displaces_only_idle_ones(
    now: float, cut: list[str]
) -> None:
    gone: list[str] = []
    table = table_of(3, 90, 6, gone)
    for act in filled(("a", "1", 0), ("b", "2", 0), ("c", "2", 0)):
        act(table)

    assert table.admit("new", now, "2") is bool(cut)
    assert gone == cut


BUSY: dict[str, tuple[dict[str, Activity], list[str]]] = {
    "an idle one goes before one that receives": ({"a": Activity.RECEIVING}, ["b"]),
    "one that receives goes before one that answers": (
        {"a": Activity.ANSWERING, "b": Activity.RECEIVING, "c": Activity.RECEIVING},
        ["b"],
    ),
    "if all of them answer, the oldest goes after its answer": (
        dict.fromkeys("abc", Activity.ANSWERING),
        ["a"],
    ),
}


@pytest.mark.parametrize(("busy", "cut"), BUSY.values(), ids=BUSY)
def test_a_newcomer_ends_the_connection_with_least_to_lose(
    busy: dict[str, Activity], cut: list[str]
) -> None:
    gone: list[str] = []
    table = table_of(4, 90, 6, gone, **busy)
    for act in filled(("a", "1", 0), ("b", "1", 1), ("c", "1", 2), ("d", "2", 0)):
        act(table)

    assert table.admit("new", 9, "3")
    assert gone == cut


def test_strangers_that_answer_are_closed_last() -> None:
    gone: list[str] = []
    table = table_of(2, 90, 6, gone, a=Activity.ANSWERING)
    for act in filled(("a", "1", None), ("b", "1", None)):
        act(table)

    assert table.admit("new", 0, "2")
    assert gone == ["b"]


def test_few_connections_at_a_time_wait_for_their_last_answer() -> None:
    most = 2 * LEAVING_SHARE
    gone: list[str] = []
    keys = [f"hostile_{number}" for number in range(most)]
    table = table_of(most, 90, 6, gone, **dict.fromkeys(keys, Activity.ANSWERING))
    for act in filled(*((key, "1", 0) for key in keys)):
        act(table)

    admitted = [table.admit(f"new_{number}", 0, f"2.{number}") for number in range(3)]
    for key in gone:
        table.prove(key, 0)  # its last answer
    table.forget(gone[0])
    admitted.append(table.admit("new_3", 0, "2.3"))

    assert admitted == [True, True, False, True]
    assert gone == keys[:3]
    assert len(table) == most


@given(st.lists(st.integers(0, 16), min_size=12, max_size=60), st.integers(1, 3))
def test_a_hostile_address_never_evicts_a_caller_of_a_smaller_one(
    pauses: list[int], callers: int
) -> None:
    gone: list[str] = []
    table = table_of(8, 1000, 6, gone)
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
    assert not table_of(0, 90, 6, []).admit("a", 0, "")


keys = st.sampled_from("abcdef")
acts = st.lists(st.tuples(st.sampled_from(["admit", "prove", "forget"]), keys), max_size=60)


@given(acts, st.integers(1, 4))
def test_there_are_never_too_many(steps: list[tuple[str, str]], most: int) -> None:
    gone: list[str] = []
    open_keys: set[str] = set()
    table = table_of(most, 3, 1, gone)

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
