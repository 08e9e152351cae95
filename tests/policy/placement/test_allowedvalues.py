"""The values of a label that requirements of a pod allow, and requirements of no node."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.build import requirement
from webhook.policy.model import ZONE, LabelSelectorRequirement, Node
from webhook.policy.placement.allowedvalues import (
    NodeLabelValues,
    admits_no_node,
    allowed_values,
    count_allowed_values,
    find_allowed,
    forbids_label,
    requires_others,
)
from webhook.policy.placement.nodeaffinity import NodeSelectorTerm
from webhook.policy.placement.nodes import Demands, find_mismatch

IN_A = ((ZONE, "a"),)


def term(*expressions: LabelSelectorRequirement) -> NodeSelectorTerm:
    return NodeSelectorTerm(expressions)


def among(*values: str) -> LabelSelectorRequirement:
    return requirement(ZONE, "In", *values)


NOT_A = requirement(ZONE, "NotIn", "a")
ARM = requirement("arch", "In", "arm64")

# demands, allowed zones, whether no node is admitted
ALLOWED: dict[str, tuple[Demands, set[str] | None, bool]] = {
    "nothing": (Demands(), None, False),
    "a zone": (Demands(IN_A), {"a"}, False),
    "another label": (Demands((("pool", "gpu"),)), None, False),
    "some zones": (Demands(terms=(term(among("a", "b")),)), {"a", "b"}, False),
    "all zones but one": (Demands(terms=(term(NOT_A),)), None, False),
    "zones that two expressions allow": (
        Demands(terms=(term(among("a", "b"), NOT_A),)), {"b"}, False
    ),
    "either of two terms": (Demands(terms=(term(among("a")), term(among("b")))), {"a", "b"}, False),
    "a term for any zone": (Demands(terms=(term(among("a")), term(ARM))), None, False),
    "a zone among those of terms": (
        Demands(IN_A, (term(among("a", "b")), term(ARM))), {"a"}, False
    ),
    "a term that contradicts the node selector": (
        Demands(IN_A, (term(NOT_A), term(ARM))), {"a"}, False
    ),
    "only such terms": (Demands(IN_A, (term(NOT_A),)), set(), True),
    "a zone that must be absent": (
        Demands(IN_A, (term(requirement(ZONE, "DoesNotExist")),)), set(), True
    ),
    "two values of another label": (
        Demands(terms=(term(ARM, requirement("arch", "In", "amd64")),)), set(), True
    ),
    "no term that Kubernetes can parse": (Demands(terms=()), set(), True),
}  # fmt: skip


@pytest.mark.parametrize(("demands", "values", "none"), ALLOWED.values(), ids=ALLOWED.keys())
def test_values_that_a_pod_allows(demands: Demands, values: set[str] | None, none: bool) -> None:
    assert allowed_values(ZONE, demands) == values
    assert count_allowed_values(ZONE, demands) == (None if values is None else len(values))
    assert admits_no_node(demands) is none


ABSENT = requirement(ZONE, "DoesNotExist")
NOT_B_NOR_C = requirement(ZONE, "NotIn", "b", "c")

# demands, what is allowed, how many of the values a, b and c
FOUND: dict[str, tuple[Demands, NodeLabelValues, int]] = {
    "nothing": (Demands(), NodeLabelValues(set(), but=True), 3),
    "a zone": (Demands(IN_A), NodeLabelValues({"a"}), 1),
    "a zone of no node": (Demands(terms=(term(among("a", "x")),)), NodeLabelValues({"a", "x"}), 1),
    "all zones but one": (Demands(terms=(term(NOT_A),)), NodeLabelValues({"a"}, but=True), 2),
    "but those that no term allows": (
        Demands(terms=(term(NOT_B_NOR_C), term(requirement(ZONE, "NotIn", "a", "c")))),
        NodeLabelValues({"c"}, but=True), 2,
    ),
    "but those that another term lists": (
        Demands(terms=(term(NOT_B_NOR_C), term(among("b")))), NodeLabelValues({"c"}, but=True), 2
    ),
    "no zone": (Demands(terms=(term(ABSENT),)), NodeLabelValues(set()), 0),
    "no zone, or a term for any": (
        Demands(terms=(term(ABSENT), term(ARM))), NodeLabelValues(set(), but=True), 3
    ),
}  # fmt: skip


@pytest.mark.parametrize(("demands", "allowed", "number"), FOUND.values(), ids=FOUND.keys())
def test_values_that_are_allowed_are_counted(
    demands: Demands, allowed: NodeLabelValues, number: int
) -> None:
    assert find_allowed(ZONE, demands) == allowed
    assert find_allowed(ZONE, demands).count("abc") == number
    assert not number or find_allowed(ZONE, demands).find_one("abc") in "abc"
    assert find_allowed(ZONE, demands).are_all is (allowed == NodeLabelValues(set(), but=True))


@pytest.mark.parametrize(
    ("demands", "forbids"),
    [
        (Demands(), False),
        (Demands(IN_A), False),
        (Demands(terms=(term(NOT_A),)), False),
        (Demands(terms=(term(requirement("arch", "DoesNotExist")),)), False),
        (Demands(terms=(term(ABSENT),)), True),
        (Demands(terms=(term(ARM), term(ABSENT, ARM))), True),
        (Demands(IN_A, (term(ARM), term(ABSENT))), False),  # the nodeSelector requires the label
    ],
    ids=str,
)
def test_requirements_that_a_label_is_absent(demands: Demands, forbids: bool) -> None:
    assert forbids_label(ZONE, demands) is forbids


@pytest.mark.parametrize(
    ("demands", "others"),
    [
        (Demands(), False),
        (Demands(IN_A, (term(NOT_A), term(ABSENT))), False),
        (Demands((("pool", "gpu"),)), True),
        (Demands(terms=(term(NOT_A), term(NOT_A, ARM))), True),
        (
            Demands(terms=(NodeSelectorTerm(match_fields=(requirement("metadata.name", "In"),)),)),
            True,
        ),
    ],
    ids=str,
)
def test_requirements_about_something_else_than_a_label(demands: Demands, others: bool) -> None:
    assert requires_others(ZONE, demands) is others


KEYS = st.sampled_from([ZONE, "arch"])
VALUES = st.sampled_from(["a", "b", ""])
EXPRESSIONS = st.one_of(
    st.builds(
        lambda key, operator, values: requirement(key, operator, *values),
        KEYS,
        st.sampled_from(["In", "NotIn"]),
        st.lists(VALUES, min_size=1, max_size=2),
    ),
    st.builds(requirement, KEYS, st.sampled_from(["Exists", "DoesNotExist"])),
)
TERMS = st.lists(st.lists(EXPRESSIONS, min_size=1, max_size=3), max_size=2)


@given(st.dictionaries(KEYS, VALUES, max_size=1), st.none() | TERMS, st.dictionaries(KEYS, VALUES))
def test_a_node_that_matches_has_an_allowed_value(
    pairs: dict[str, str],
    terms: list[list[LabelSelectorRequirement]] | None,
    labels: dict[str, str],
) -> None:
    made = None if terms is None else tuple(term(*one) for one in terms)
    demands = Demands(tuple(pairs.items()), made)

    if find_mismatch(Node("n", labels), demands) is None:
        assert not admits_no_node(demands)
        assert ZONE not in labels or find_allowed(ZONE, demands).count([labels[ZONE]])
