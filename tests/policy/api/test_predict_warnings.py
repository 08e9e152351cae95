"""Warnings of kube-apiserver about constraints that it accepts."""

import pytest
from hypothesis import given

from tests import strategies
from tests.build import constraint
from webhook.policy.api.predict import DEPRECATED_KEYS, list_warnings
from webhook.policy.catalogue import API_WARNINGS
from webhook.policy.model import Constraint

PATH = "spec.topologySpreadConstraints"

DEPRECATED = {
    "failure-domain.beta.kubernetes.io/zone": (
        'is deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
    ),
    "failure-domain.beta.kubernetes.io/region": (
        'is deprecated since v1.17; use "topology.kubernetes.io/region" instead'
    ),
    "beta.kubernetes.io/arch": 'is deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'is deprecated since v1.14; use "kubernetes.io/os" instead',
    "beta.kubernetes.io/instance-type": (
        'is deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'
    ),
}


@pytest.mark.parametrize(("key", "text"), DEPRECATED.items())
def test_a_deprecated_label_is_warned_of(key: str, text: str) -> None:
    (caution,) = list_warnings((constraint(), constraint(topology_key=key)), PATH)

    assert (caution.rule, caution.entry) == ("TSC020", 1)
    assert caution.text == f"{PATH}[1].topologyKey: {key} {text}"


def test_every_deprecated_label_is_in_the_table() -> None:
    assert DEPRECATED.keys() == DEPRECATED_KEYS.keys()


def test_a_null_selector_is_warned_of_after_the_label() -> None:
    old = constraint(topology_key="beta.kubernetes.io/os", label_selector=None)

    first, second, third = list_warnings((old, constraint(label_selector=None)), PATH)

    assert [first.rule, second.rule, third.rule] == ["TSC020", "TSC021", "TSC021"]
    assert third.text == f"{PATH}[1].labelSelector: a null labelSelector results in matching no pod"


def test_an_ordinary_constraint_is_not_warned_of() -> None:
    assert list_warnings((constraint(),), PATH) == []


@given(strategies.any_lists)
def test_any_list_is_warned_of_entry_by_entry(constraints: tuple[Constraint, ...]) -> None:
    cautions = list_warnings(constraints, PATH)

    assert cautions == sorted(cautions, key=lambda warning: (warning.entry, warning.rule))
    assert {warning.rule for warning in cautions} <= {*API_WARNINGS}
    assert [warning.entry for warning in cautions if warning.rule == "TSC021"] == [
        i for i, entry in enumerate(constraints) if entry.label_selector is None
    ]
