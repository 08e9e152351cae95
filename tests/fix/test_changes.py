from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.fix.changes import (
    Change,
    Move,
    Put,
    Remove,
    Wrap,
    apply_changes,
    conflict,
    find_differences,
    identity,
    shift,
)

VALUE: dict[str, Any] = {"a": {"b": 1, "c": [1, 2, 3]}, "d": None}

# changes, result
APPLIED: dict[str, tuple[list[Change], Any]] = {
    "nothing": ([], VALUE),
    "a member is written": ([Put(("a", "b"), 2)], {**VALUE, "a": {"b": 2, "c": [1, 2, 3]}}),
    "a member is added": ([Put(("e",), {})], {**VALUE, "e": {}}),
    "a member is removed": ([Remove(("d",))], {"a": VALUE["a"]}),
    "an item is written": ([Put(("a", "c", 1), 9)], {**VALUE, "a": {"b": 1, "c": [1, 9, 3]}}),
    "an item is added": ([Put(("a", "c", 3), 9)], {**VALUE, "a": {"b": 1, "c": [1, 2, 3, 9]}}),
    "indexes are those from before": (
        [Remove(("a", "c", 0)), Remove(("a", "c", 2)), Put(("a", "c", 1), 9)],
        {**VALUE, "a": {"b": 1, "c": [9]}},
    ),
    "a member is moved": ([Move(("d",), ("a", "d"), None)], {"a": {**VALUE["a"], "d": None}}),
    "a member is wrapped": ([Wrap(("d",), "e", None)], {"a": VALUE["a"], "e": {"d": None}}),
    "a member is renamed": ([Move(("d",), ("e",), None)], {"a": VALUE["a"], "e": None}),
    "the whole": ([Put((), 1)], 1),
}


@pytest.mark.parametrize(("changes", "expected"), APPLIED.values(), ids=APPLIED.keys())
def test_changes_are_made(changes: list[Change], expected: Any) -> None:
    before = repr(VALUE)

    assert apply_changes(changes, VALUE) == expected
    assert repr(VALUE) == before


LOST: dict[str, Change] = {
    "below a number": Put(("a", "b", "c"), 1),
    "below nothing": Put(("x", "y"), 1),
    "a member that is not there": Remove(("x",)),
    "an item far behind the end": Put(("a", "c", 7), 1),
}


@pytest.mark.parametrize("change", LOST.values(), ids=LOST.keys())
def test_a_path_that_does_not_exist_is_an_error(change: Change) -> None:
    with pytest.raises(LookupError):
        apply_changes([change], VALUE)


# before, after, changes
SMALLEST: dict[str, tuple[Any, Any, list[Change]]] = {
    "equal": ({"a": [1]}, {"a": [1]}, []),
    "one member of many": ({"a": 1, "b": 2}, {"a": 1, "b": 3}, [Put(("b",), 3)]),
    "a member more": ({"a": 1}, {"a": 1, "b": None}, [Put(("b",), None)]),
    "a member less": ({"a": 1, "b": 2}, {"b": 2}, [Remove(("a",))]),
    "deep inside": ({"a": [{"b": 1}]}, {"a": [{"b": 2}]}, [Put(("a", 0, "b"), 2)]),
    "an item more": ([1], [1, 2], [Put((1,), 2)]),
    "an item more in the middle": ([1, 3], [1, 2, 3], [Put((), [1, 2, 3])]),
    "an item less": ([1, 2, 3], [1, 3], [Remove((1,))]),
    "an item of an empty list": ([], [1], [Put((0,), 1)]),
    "items of an empty list": ([], [1, 2], [Put((), [1, 2])]),
    "members of an empty object": ({}, {"a": 1, "b": 2}, [Put((), {"a": 1, "b": 2})]),
    "emptied": ({"a": 1}, {}, [Put((), {})]),
    "true is not 1": ({"a": 1}, {"a": True}, [Put(("a",), True)]),
    "another type": ({"a": 1}, [1], [Put((), [1])]),
}


@pytest.mark.parametrize(("before", "after", "changes"), SMALLEST.values(), ids=SMALLEST.keys())
def test_differences_are_the_smallest(before: Any, after: Any, changes: list[Change]) -> None:
    assert list(find_differences((), before, after)) == changes


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from("ab"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=12,
)


@given(json_values, json_values)
def test_differences_lead_from_one_to_the_other(before: Any, after: Any) -> None:
    assert apply_changes(find_differences((), before, after), before) == after


MOVE = Move(("a", "b"), ("c", "d"), 1)

# one, other, whether they cannot be made together
TOUCHING: dict[str, tuple[Change, Change, bool]] = {
    "equal ones": (Put(("a",), {}), Put(("a",), {}), False),
    "two values for one member": (Put(("a",), 1), Put(("a",), 2), True),
    "a part of the other": (Put(("a",), 1), Put(("a", "b"), 2), True),
    "two members": (Put(("a",), 1), Put(("b",), 2), False),
    "an item removed by both": (Remove(("a", 0)), Remove(("a", 0)), True),
    "an item removed beside another one's part": (Remove(("a", 0)), Put(("a", 1, "b"), 1), True),
    "the same the other way round": (Put(("a", 1, "b"), 1), Remove(("a", 0)), True),
    "two members removed from one object": (Remove(("a",)), Remove(("b",)), True),
    "one removed, one written": (Put(("a",), 1), Remove(("b",)), True),
    "members of two objects": (Remove(("a", "b")), Remove(("c", "b")), False),
    "a part of a moved member": (MOVE, Put(("a", "b", "x"), 2), True),
    "a member beside a moved one": (MOVE, Put(("a", "x"), 2), True),
    "a member where another is moved to": (MOVE, Put(("c", "d"), 2), True),
    "a member beside the place of a moved one": (MOVE, Put(("c", "x"), 2), False),
    "two members wrapped in one object": (Wrap(("a", "b"), "c", 1), Wrap(("a", "d"), "c", 2), True),
    "a wrap and its place": (Wrap(("a", "b"), "c", 1), Put(("a", "c"), 1), True),
    "wraps of two objects": (Wrap(("a", "b"), "c", 1), Wrap(("d", "b"), "c", 1), False),
    "two members moved to one place": (MOVE, Move(("e", "b"), ("c", "d"), 2), True),
    "a member moved by both": (MOVE, MOVE, False),
}


@pytest.mark.parametrize(("one", "other", "expected"), TOUCHING.values(), ids=TOUCHING.keys())
def test_some_changes_exclude_each_other(one: Change, other: Change, expected: bool) -> None:
    assert conflict(one, other) is expected
    assert conflict(other, one) is expected


def test_different_changes_have_different_identities() -> None:
    changes: list[Change] = [Put(("a",), 1), Put(("a",), True), Put(("a",), "1"), Remove(("a",))]

    assert len({identity(change) for change in changes}) == len(changes)


# target of the member a.b, whether it is only renamed
TARGETS = {
    "another name": (("a", "c"), True),
    "another object": (("c", "b"), False),
    "the object around it": (("b",), False),
    "an object beside it": (("a", "c", "b"), False),
}


@pytest.mark.parametrize(("target", "expected"), TARGETS.values(), ids=TARGETS.keys())
def test_a_member_that_stays_in_its_object_is_renamed(
    target: tuple[str, ...], expected: bool
) -> None:
    assert Move(("a", "b"), target, 1).renames is expected


# change of an object, the same as a change of the list that has the object as its second item
SHIFTED: dict[str, tuple[Change, Change]] = {
    "written": (Put(("a",), 1), Put(("items", 1, "a"), 1)),
    "removed": (Remove(("a", 0)), Remove(("items", 1, "a", 0))),
    "wrapped": (Wrap(("a",), "b", 1), Wrap(("items", 1, "a"), "b", 1)),
    "moved": (Move(("a",), ("b", "c"), 1), Move(("items", 1, "a"), ("items", 1, "b", "c"), 1)),
    "the whole": (Put((), 1), Put(("items", 1), 1)),
}


@pytest.mark.parametrize(("change", "expected"), SHIFTED.values(), ids=SHIFTED.keys())
def test_a_change_of_an_object_is_shifted_into_its_list(change: Change, expected: Change) -> None:
    shifted = shift(change, ("items", 1))

    assert shifted == expected
    assert type(shifted) is type(change)


def test_a_wrapped_member_keeps_its_name() -> None:
    assert Wrap(("a", "b"), "c", 1).target == ("a", "c", "b")
