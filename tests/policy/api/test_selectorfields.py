"""Selectors that kube-apiserver refuses, in its words."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.policy.api.fieldcases import (
    ACCEPTED_SELECTORS,
    INVALID_SELECTOR,
    LABELS,
    OTHER,
    SELECTORS,
    Json,
    RefusedSpec,
    selecting,
)
from webhook.policy import kinds
from webhook.policy.api.selectorfields import find_selector_errors
from webhook.policy.kinds import DAEMON_SET, DEPLOYMENT, REPLICATION_CONTROLLER
from webhook.policy.model import GroupKind


@pytest.mark.parametrize("case", SELECTORS.values(), ids=SELECTORS.keys())
def test_what_is_refused(case: RefusedSpec) -> None:
    assert list(find_selector_errors(case.kind, {"spec": case.spec})) == case.errors


@pytest.mark.parametrize(
    ("kind", "spec"), ACCEPTED_SELECTORS.values(), ids=ACCEPTED_SELECTORS.keys()
)
def test_what_is_accepted(kind: GroupKind, spec: Json) -> None:
    assert list(find_selector_errors(kind, {"spec": spec})) == []


def test_an_invalid_selector() -> None:
    (error,) = find_selector_errors(DEPLOYMENT, {"spec": INVALID_SELECTOR})

    assert error.field == "spec.selector.matchExpressions[0].operator"
    assert error.message == 'Invalid value: "in": not a valid selector operator'


def test_a_number_in_place_of_a_label() -> None:
    message = "the number 1 is no string: write it in quotes"
    pairs = {"app": 1}
    for kind, selector in (
        (DEPLOYMENT, {"matchLabels": pairs}),
        (REPLICATION_CONTROLLER, pairs),
    ):
        (error,) = find_selector_errors(kind, {"spec": selecting(selector, LABELS)})
        assert error.field in ("spec.selector.matchLabels.app", "spec.selector.app")
        assert error.message == message


@pytest.mark.parametrize("kind", [DEPLOYMENT, DAEMON_SET, REPLICATION_CONTROLLER])
def test_an_abridged_object_needs_no_selector(kind: GroupKind) -> None:
    for labels in (LABELS, None):
        value = {"spec": selecting(None, labels)}
        assert list(find_selector_errors(kind, value, is_abridged=True)) == []


def test_the_selector_of_an_abridged_object_is_checked() -> None:
    value = {"spec": selecting(OTHER, LABELS)}

    assert len(list(find_selector_errors(DEPLOYMENT, value, is_abridged=True))) == 1


@pytest.mark.parametrize("kind", [kinds.JOB, kinds.CRON_JOB, kinds.ROLLOUT, kinds.POD])
def test_other_kinds_are_not_checked(kind: GroupKind) -> None:
    assert list(find_selector_errors(kind, {"spec": selecting(OTHER, LABELS)})) == []


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda items: st.lists(items, max_size=2) | st.dictionaries(st.text(), items, max_size=2),
    max_leaves=4,
)


@given(values)
def test_any_value_can_be_read(value: Any) -> None:
    for kind in (DEPLOYMENT, REPLICATION_CONTROLLER):
        for spec in (value, selecting(value, LABELS), selecting({"matchLabels": value}, value)):
            list(find_selector_errors(kind, {"spec": spec}))
