from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.policy.model import Node
from webhook.policy.placement.nodeaffinity import (
    Affinity,
    NodeSelectorTerm,
    join_terms,
    required_terms,
    term_matches,
)

NODE = Node("n1", {"disk": "ssd", "cores": "8", "size": "-3", "huge": "9223372036854775808"})


def affinity(*terms: dict[str, Any]) -> Affinity:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return msgspec.convert({"nodeAffinity": required}, Affinity)


def on_label(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": values}]}


def on_field(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchFields": [{"key": key, "operator": operator, "values": values}]}


def allows(*terms: dict[str, Any]) -> bool:
    required = required_terms(affinity(*terms))
    assert required is not None
    return any(term_matches(term, NODE) for term in required)


# terms, do they allow the node
TERMS = {
    "In has the value": ([on_label("disk", "In", "hdd", "ssd")], True),
    "In lacks the value": ([on_label("disk", "In", "hdd")], False),
    "In of a label that is missing": ([on_label("rack", "In", "r1")], False),
    "NotIn has the value": ([on_label("disk", "NotIn", "ssd")], False),
    "NotIn of a label that is missing": ([on_label("rack", "NotIn", "r1")], True),
    "Exists": ([on_label("disk", "Exists")], True),
    "Exists of a label that is missing": ([on_label("rack", "Exists")], False),
    "DoesNotExist": ([on_label("disk", "DoesNotExist")], False),
    "DoesNotExist of a label that is missing": ([on_label("rack", "DoesNotExist")], True),
    "Gt": ([on_label("cores", "Gt", "7")], True),
    "Gt is strict": ([on_label("cores", "Gt", "8")], False),
    "Lt": ([on_label("cores", "Lt", "9")], True),
    "Lt is strict": ([on_label("cores", "Lt", "8")], False),
    "Lt of a label that is negative": ([on_label("size", "Lt", "0")], True),
    "Lt of a label that is missing": ([on_label("rack", "Lt", "9")], False),
    "Gt of a label that is no integer": ([on_label("disk", "Gt", "0")], False),
    "Gt of a label beyond 64 bits": ([on_label("huge", "Gt", "0")], False),
    "the node's name": ([on_field("metadata.name", "In", "n1")], True),
    "another name": ([on_field("metadata.name", "In", "n2")], False),
    "not the node's name": ([on_field("metadata.name", "NotIn", "n1")], False),
    "not another name": ([on_field("metadata.name", "NotIn", "n2")], True),
    "an unknown field is empty": ([on_field("spec.unschedulable", "In", "")], True),
    "terms are alternatives": ([on_label("rack", "Exists"), on_label("disk", "Exists")], True),
    "conditions of a term are not": (
        [on_label("disk", "Exists") | on_field("metadata.name", "In", "n2")], False
    ),
    "an empty term matches nothing": ([{}], False),
    "no term matches nothing": ([], False),
    "an unknown operator matches nothing": ([on_label("disk", "Near", "ssd")], False),
    "In without values matches nothing": ([on_label("disk", "In")], False),
    "NotIn without values matches nothing": ([on_label("disk", "NotIn")], False),
    "Exists with values matches nothing": ([on_label("disk", "Exists", "ssd")], False),
    "Gt of two bounds matches nothing": ([on_label("cores", "Gt", "1", "2")], False),
    "Gt of a text matches nothing": ([on_label("cores", "Gt", "many")], False),
    "a bound that is no label value matches nothing": ([on_label("cores", "Gt", "-3")], False),
    "a key that is no label key matches nothing": ([on_label("no key", "DoesNotExist")], False),
    "a field required by Exists matches nothing": ([on_field("metadata.name", "Exists")], False),
    "a field with two values matches nothing": (
        [on_field("metadata.name", "In", "n1", "n2")], False
    ),
    "a field required by NotIn with two values matches nothing": (
        [on_field("metadata.name", "NotIn", "n2", "n3")], False
    ),
    "a field required by Exists with a value matches nothing": (
        [on_field("metadata.name", "Exists", "n2")], False
    ),
    "a field without values matches nothing": (
        [{"matchFields": [{"key": "metadata.name", "operator": "In"}]}], False
    ),
    "a term that cannot be parsed spoils no other": (
        [on_label("disk", "Near"), on_label("disk", "Exists")], True
    ),
}  # fmt: skip


@pytest.mark.parametrize(("terms", "allowed"), TERMS.values(), ids=TERMS.keys())
def test_terms(terms: list[dict[str, Any]], allowed: bool) -> None:
    assert allows(*terms) is allowed


@pytest.mark.parametrize("text", [None, "{}", '{"nodeAffinity":{}}', '{"nodeAffinity":null}'])
def test_without_a_required_affinity_there_are_no_terms(text: str | None) -> None:
    decoded = None if text is None else msgspec.json.decode(text, type=Affinity)

    assert required_terms(decoded) is None


def test_an_absent_list_of_terms_matches_nothing() -> None:
    text = '{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{}}}'

    assert required_terms(msgspec.json.decode(text, type=Affinity)) == ()


@given(st.integers(0, 20), st.integers(0, 20))
def test_integers_compare_as_integers(label: int, bound: int) -> None:
    node = Node("n1", {"cores": str(label)})
    compared = [
        any(
            term_matches(term, node)
            for term in required_terms(affinity(on_label("cores", operator, str(bound)))) or ()
        )
        for operator in ("Gt", "Lt")
    ]

    assert compared == [label > bound, label < bound]


def test_a_bound_that_is_no_integer_holds_for_no_node() -> None:
    unchecked = msgspec.convert(on_label("cores", "Gt", "many"), NodeSelectorTerm)

    assert not term_matches(unchecked, NODE)


def test_joined_terms_match_what_both_lists_match() -> None:
    first = required_terms(affinity(on_label("zone", "In", "a"), on_label("zone", "In", "b")))
    named = on_field("metadata.name", "In", "w1")
    second = required_terms(affinity(on_label("disk", "Exists"), named))

    joined = join_terms(first, second)

    assert joined is not None
    assert len(joined) == 4
    assert [len(term.match_fields or ()) for term in joined] == [0, 1, 0, 1]
    assert [[one.key for one in term.match_expressions or ()] for term in joined] == [
        ["zone", "disk"], ["zone"], ["zone", "disk"], ["zone"],
    ]  # fmt: skip
    assert join_terms(first, None) == join_terms(None, first) == join_terms(first, first) == first
    assert join_terms(None, None) is None
    assert join_terms(first, ()) == ()
