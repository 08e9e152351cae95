from typing import Any

import msgspec
import pytest

from webhook.manifests import find_type_mismatch
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
