from typing import Any

import msgspec
import pytest

from webhook.manifests import find_type_mismatch, find_type_mismatches
from webhook.manifests.type_errors import MOST_MISMATCHES
from webhook.policy.model import PodTemplate
from webhook.policy.paths import FieldPath

CONSTRAINTS = ("spec", "topologySpreadConstraints")


def spec(constraint: Any) -> Any:
    return {"spec": {"topologySpreadConstraints": [constraint]}}


# value, problem, path
CASES: dict[str, tuple[Any, str, FieldPath]] = {
    "no object at all": ([], "expected an object, got a list", ()),
    "a list for an object": ({"spec": []}, "expected an object, got a list", ("spec",)),
    "an object for a list": (
        {"spec": {"topologySpreadConstraints": {}}},
        "expected a list, got an object",
        CONSTRAINTS,
    ),
    "a string for a number": (
        spec({"maxSkew": "1"}),
        "expected an integer, got a string",
        (*CONSTRAINTS, 0, "maxSkew"),
    ),
    "a number that Go has no room for": (
        spec({"maxSkew": 2**31}),
        "expected an integer <= 2147483647",
        (*CONSTRAINTS, 0, "maxSkew"),
    ),
    "a number for a label": (
        {"metadata": {"labels": {"app": "web", "version": 1}}},
        "expected a string, got an integer",
        ("metadata", "labels", "version"),
    ),
    "a boolean for a selected value": (
        spec({"labelSelector": {"matchLabels": {"a.b/c": True}}}),
        "expected a string, got a boolean",
        (*CONSTRAINTS, 0, "labelSelector", "matchLabels", "a.b/c"),
    ),
}


@pytest.mark.parametrize(("value", "problem", "path"), CASES.values(), ids=CASES.keys())
def test_a_type_error_is_described(value: Any, problem: str, path: FieldPath) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(value, PodTemplate)

    assert find_type_mismatch(caught.value, value) == (problem, path)


# labels that may not be null, the path of the first wrong value
STRICT: dict[str, tuple[Any, FieldPath]] = {
    "null": ({"a": "x", "b": None}, ("b",)),
    "a number beside null": ({"a": None, "b": 1}, ("b",)),
    "a list beside a number": ({"a": 1, "b": [1]}, ("b",)),
    "an error of a key": ({"a": "x"}, ()),
}


@pytest.mark.parametrize(("labels", "path"), STRICT.values(), ids=STRICT.keys())
def test_a_wrong_value_of_a_mapping_is_found_by_its_type(labels: Any, path: FieldPath) -> None:
    error = msgspec.ValidationError("Expected `str`, got `null` - at `$[...]`")

    assert find_type_mismatch(error, labels).path == path


def test_an_error_of_a_model_names_the_rest_of_the_path() -> None:
    error = msgspec.ValidationError("Expected more - in `a` `b.c/d` - at `$.spec[1].x`")

    found = find_type_mismatch(error, {"spec": [{}, {"x": {}}]})

    assert found == ("expected more", ("spec", 1, "x", "a", "b.c/d"))


def decode(value: Any) -> None:
    msgspec.convert(value, PodTemplate | None)


def test_all_type_errors_are_found() -> None:
    value = {
        "metadata": {"labels": {"a": 1, "b": "x", "c": 2}},
        "spec": {"topologySpreadConstraints": [{"maxSkew": "1", "minDomains": []}, 3]},
    }

    found = find_type_mismatches(value, decode)

    assert {path for _, path in found} == {
        ("metadata", "labels", "a"),
        ("metadata", "labels", "c"),
        (*CONSTRAINTS, 0, "maxSkew"),
        (*CONSTRAINTS, 0, "minDomains"),
        (*CONSTRAINTS, 1),
    }
    assert value["metadata"] == {"labels": {"a": 1, "b": "x", "c": 2}}


def test_a_value_of_the_right_types_has_no_type_errors() -> None:
    assert find_type_mismatches(spec({"maxSkew": 1}), decode) == []
    assert find_type_mismatches(3, decode) == [("expected an object, got an integer", ())]


def test_the_search_ends_where_null_is_wrong_too() -> None:
    def refuse(value: Any) -> None:
        msgspec.convert(value, list[int])

    assert find_type_mismatches(["x"], refuse) == [("expected an integer, got a string", (0,))]


def test_the_number_of_type_errors_is_limited() -> None:
    labels = {f"l{number}": number for number in range(MOST_MISMATCHES + 10)}

    assert len(find_type_mismatches({"metadata": {"labels": labels}}, decode)) == MOST_MISMATCHES
