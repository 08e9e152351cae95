"""Paths into objects: the walker, kube-apiserver's field path, and JSON Pointer."""

from typing import Any

import jsonpointer
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.policy.paths import (
    FieldPath,
    constraints_field,
    constraints_path,
    find_entry,
    find_value,
    format_path,
    format_pointer,
    parse_path,
    parse_pointer,
    replace_value,
    walk_path,
    without_nulls,
)

OBJECT: dict[str, Any] = {"spec": {"items": [{"a": 1}, None]}, "null": None}

# path, the values along it
WALKS: dict[str, tuple[FieldPath, list[Any]]] = {
    "the object itself": ((), [OBJECT]),
    "a member": (("null",), [OBJECT, None]),
    "a member of an item": (
        ("spec", "items", 0, "a"),
        [OBJECT, OBJECT["spec"], OBJECT["spec"]["items"], {"a": 1}, 1],
    ),
    "an unknown member": (("status", "a"), [OBJECT]),
    "an index beyond a list": (("spec", "items", 2), [OBJECT, OBJECT["spec"], [{"a": 1}, None]]),
    "a name in a list": (("spec", "items", "a"), [OBJECT, OBJECT["spec"], [{"a": 1}, None]]),
    "an index in an object": ((0,), [OBJECT]),
    "a member of null": (("null", "a"), [OBJECT, None]),
}


@pytest.mark.parametrize(("path", "values"), WALKS.values(), ids=WALKS.keys())
def test_a_walk_yields_the_values_that_exist_along_a_path(
    path: FieldPath, values: list[Any]
) -> None:
    assert list(walk_path(OBJECT, path)) == values


@pytest.mark.parametrize(("path", "values"), WALKS.values(), ids=WALKS.keys())
def test_a_value_is_found_only_at_the_end_of_its_path(path: FieldPath, values: list[Any]) -> None:
    exists = len(values) == len(path) + 1

    assert find_value(OBJECT, path, "absent") == (values[-1] if exists else "absent")


# path, its written form
FIELDS: dict[str, tuple[FieldPath, str]] = {
    "the object itself": ((), ""),
    "a member of a member": (("spec", "replicas"), "spec.replicas"),
    "a member of an item": (("items", 3, "kind"), "items[3].kind"),
    "an item at the top": ((0, "a"), "[0].a"),
}


def test_nulls_are_left_out_of_objects_alone() -> None:
    assert without_nulls(OBJECT) == {"spec": {"items": [{"a": 1}, None]}}


@pytest.mark.parametrize(("path", "written"), FIELDS.values(), ids=FIELDS.keys())
def test_a_path_is_written_and_read_as_kube_apiserver_writes_it(
    path: FieldPath, written: str
) -> None:
    assert format_path(path) == written
    assert parse_path(written) == path


def test_a_key_that_is_no_name_is_written_in_brackets() -> None:
    assert format_path(("labels", "x.io/y")) == "labels[x.io/y]"


def test_a_path_is_read_up_to_the_first_step_that_is_neither_name_nor_index() -> None:
    constraint = ("spec", "topologySpreadConstraints", 0)

    assert parse_path(f"{format_path(constraint)}.{{topologyKey, maxSkew}}") == constraint
    assert parse_path("metadata.labels[x.io/y]") == ("metadata", "labels")


def test_the_field_of_constraints_follows_the_path_of_the_pod_template() -> None:
    assert constraints_field(()) == "spec.topologySpreadConstraints"
    assert constraints_field(("spec", "template")) == "spec.template.spec.topologySpreadConstraints"


# path, its JSON Pointer
POINTERS: dict[str, tuple[FieldPath, str]] = {
    "the whole document": ((), ""),
    "members and indexes": (("spec", "list", 0, "x"), "/spec/list/0/x"),
    "an empty name": (("",), "/"),
    "a slash": (("metadata", "a.io/b"), "/metadata/a.io~1b"),
    "a tilde": (("m~n",), "/m~0n"),
    "a tilde before a one": (("~1",), "/~01"),
}


@pytest.mark.parametrize(("path", "text"), POINTERS.values(), ids=POINTERS.keys())
def test_a_pointer_is_written_as_by_rfc_6901(path: FieldPath, text: str) -> None:
    assert format_pointer(path) == text


@given(st.lists(st.text(), max_size=4))
def test_every_pointer_is_read_back_and_read_by_an_independent_library(names: list[str]) -> None:
    pointer = format_pointer(names)

    assert parse_pointer(pointer) == tuple(names)
    assert jsonpointer.JsonPointer(pointer).parts == names


def test_a_bare_list_of_constraints_is_its_own_path() -> None:
    bare: FieldPath = ("spec", "kafka", "topologySpreadConstraints")

    assert constraints_path(bare) == bare
    assert constraints_field(bare) == "spec.kafka.topologySpreadConstraints"
    assert constraints_path(("spec", "jobs", 1)) == (
        *("spec", "jobs", 1), "spec", "topologySpreadConstraints",
    )  # fmt: skip


def test_a_value_is_replaced_in_a_copy() -> None:
    value: Any = {"a": [1, {"b": 2}], "c": {}}

    assert replace_value(value, ("a", 1, "b"), 3) == {"a": [1, {"b": 3}], "c": {}}
    assert replace_value(value, (), 4) == 4
    assert value == {"a": [1, {"b": 2}], "c": {}}


@pytest.mark.parametrize(
    ("field", "entry"),
    [("spec.list[3].a", 3), ("spec.list[3]", 3), ("spec.list", None), ("spec.other[1]", None)],
)
def test_the_entry_of_a_field(field: str, entry: int | None) -> None:
    assert find_entry(field, "spec.list") == entry


def test_a_field_beside_a_list_is_in_no_entry() -> None:
    assert find_entry("spec.listed", "spec.list") is None
