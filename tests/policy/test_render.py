from typing import Any

import msgspec
import pytest
from hypothesis import given
from msgspec.structs import replace

from tests import strategies
from tests.build import constraint, default, requirement, selector
from webhook.policy import render
from webhook.policy.model import ZONE, Constraint, LabelSelector

WRITTEN: dict[str, tuple[Constraint, dict[str, Any]]] = {
    "an empty constraint has three members": (
        Constraint(),
        {"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": ""},
    ),
    "what is set to nothing is kept": (
        constraint(
            label_selector=LabelSelector(),
            min_domains=0,
            node_affinity_policy="",
            node_taints_policy="",
        ),
        {
            "maxSkew": 1,
            "topologyKey": ZONE,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {},
            "minDomains": 0,
            "nodeAffinityPolicy": "",
            "nodeTaintsPolicy": "",
        },
    ),
    "keys are a list": (
        constraint(label_selector=None, match_label_keys=("a",)),
        {
            "maxSkew": 1,
            "topologyKey": ZONE,
            "whenUnsatisfiable": "DoNotSchedule",
            "matchLabelKeys": ["a"],
        },
    ),
}


@pytest.mark.parametrize(("value", "written"), WRITTEN.values(), ids=WRITTEN.keys())
def test_a_constraint_is_written_as_by_kube_apiserver(
    value: Constraint, written: dict[str, Any]
) -> None:
    assert render.constraint(value) == written


def test_pairs_are_sorted_and_values_are_left_out_where_there_are_none() -> None:
    written = render.selector(
        selector(requirement("a", "Exists"), requirement("b", "In", "2", "1"), d="4", c="3")
    )

    assert render.encode(written) == (
        b'{"matchLabels":{"c":"3","d":"4"},"matchExpressions":'
        b'[{"key":"a","operator":"Exists"},{"key":"b","operator":"In","values":["2","1"]}]}'
    )


@given(strategies.any_constraints)
def test_a_written_constraint_is_read_as_itself(value: Constraint) -> None:
    written = render.encode(render.constraint(value))

    assert msgspec.json.decode(written, type=Constraint) == value


@given(strategies.any_constraints, strategies.any_selectors)
def test_an_opening_is_closed_by_any_selector(value: Constraint, selected: LabelSelector) -> None:
    value = replace(value, label_selector=None)

    written = render.opening(value) + render.encode(render.selector(selected)) + b"}"

    assert written == render.encode(render.constraint(replace(value, label_selector=selected)))


@given(strategies.any_selectors)
def test_equal_selectors_are_equal_bytes(selected: LabelSelector) -> None:
    turned = LabelSelector(
        dict(reversed(selected.match_labels.items())), selected.match_expressions
    )

    assert render.encode(render.selector(turned)) == render.encode(render.selector(selected))


def test_a_default_is_opened() -> None:
    assert render.opening(default(topology_key="a")) == (
        b'{"maxSkew":1,"topologyKey":"a","whenUnsatisfiable":"ScheduleAnyway","labelSelector":'
    )
