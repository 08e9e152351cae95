from copy import deepcopy
from typing import Any

import pytest
import yaml

from webhook.policy.api.patches import is_directive, withhold_entries
from webhook.policy.places import TemplatePatterns

TEMPLATE = ("spec", "template")

COMPLETE = "{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}"
DELETED = "{topologyKey: kubernetes.io/hostname, $patch: delete}"
CHANGED = "{topologyKey: zone, maxSkew: 2}"
ORDER = "$setElementOrder/topologySpreadConstraints: [{topologyKey: zone}], "


def patch(*entries: str, beside: str = "") -> Any:
    listed = f"topologySpreadConstraints: [{', '.join(entries)}]"
    return yaml.safe_load(f"spec: {{template: {{spec: {{{beside}{listed}}}}}}}")


CASES: dict[str, tuple[Any, set[int]]] = {
    "a list without directives": (patch(CHANGED, COMPLETE), set[int]()),
    "a deleted, a changed and a complete entry": (patch(DELETED, CHANGED, COMPLETE), {0, 1}),
    "a deletion that names every field": (
        patch(COMPLETE, COMPLETE.replace("{max", "{$patch: delete, max", 1)),
        {1},
    ),
    "a list that is replaced as a whole": (patch("{$patch: replace}", CHANGED, COMPLETE), {0}),
    "a directive that repeats the default": (
        patch(COMPLETE.replace("{max", "{$patch: merge, max", 1), CHANGED),
        {1},
    ),
    "an entry without its key": (
        patch(DELETED, COMPLETE.replace("topologyKey: zone, ", "")),
        {0, 1},
    ),
    "kept keys": (patch("{$retainKeys: [maxSkew], maxSkew: 1}", COMPLETE), {0}),
    "an order of the entries": (patch(CHANGED, COMPLETE, beside=ORDER), {0}),
    "entries of other types": (patch(DELETED, "3", "a", "null", "{1: a}"), {0, 4}),
    "a list of another type": (
        {"spec": {"template": {"spec": {"topologySpreadConstraints": "a"}}}},
        set[int](),
    ),
    "a specification of another type": ({"spec": {"template": {"spec": []}}}, set[int]()),
    "no object": (3, set[int]()),
}  # fmt: skip


@pytest.mark.parametrize(("value", "withheld"), CASES.values(), ids=CASES.keys())
def test_entries_that_are_not_judged(value: Any, withheld: set[int]) -> None:
    before = deepcopy(value)

    found = withhold_entries(value, TEMPLATE)

    assert found.withheld == ({TEMPLATE: withheld} if withheld else {})
    assert value == before
    if not withheld:
        assert found.value is value


def test_an_empty_constraint_stands_for_an_entry_that_is_not_judged() -> None:
    found = withhold_entries(patch(DELETED, COMPLETE), TEMPLATE)

    assert found.value == patch("{}", COMPLETE)


def test_places_in_lists_and_bare_lists_are_searched() -> None:
    empty: list[Any] = []
    value: Any = {
        "spec": {"jobs": [dict[str, str](), patch(DELETED)], "topologySpreadConstraints": empty}
    }
    jobs = TemplatePatterns((("spec", "jobs", "*", "spec", "template"),))

    assert withhold_entries(value, jobs).withheld == {("spec", "jobs", 1, *TEMPLATE): {0}}
    assert withhold_entries(
        {"spec": {"topologySpreadConstraints": [{"$patch": "replace"}]}},
        ("spec", "topologySpreadConstraints"),
    ).withheld == {("spec", "topologySpreadConstraints"): {0}}


def test_an_object_that_has_no_places_is_left_alone() -> None:
    value = patch(DELETED)

    assert withhold_entries(value, None) == (value, {})
    jobs = TemplatePatterns((("spec", "template", "*"),))
    assert withhold_entries(value, jobs) == (value, {})


@pytest.mark.parametrize(
    ("entry", "expected"),
    [({"$patch": "delete"}, True), ({"$patch": "merge"}, False), ({}, False), (None, False)],
)
def test_directives(entry: Any, *, expected: bool) -> None:
    assert is_directive(entry) is expected
