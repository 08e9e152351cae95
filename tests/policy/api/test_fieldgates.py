from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests import strategies
from tests.build import constraint, gates
from webhook.policy.api.fieldgates import (
    DroppedField,
    drop_disabled_fields,
    explain_briefly,
    explain_disabled_gate,
    is_set,
)
from webhook.policy.api.gates import GATES, Gate, Gates
from webhook.policy.api.versions import Version
from webhook.policy.model import Constraint

MIN_DOMAINS_OFF = gates(MinDomainsInPodTopologySpread=False)
POLICIES_OFF = gates(NodeInclusionPolicyInPodTopologySpread=False)
KEYS_OFF = gates(
    MatchLabelKeysInPodTopologySpread=False, MatchLabelKeysInPodTopologySpreadSelectorMerge=False
)
ALL_OFF = gates(EvenPodsSpread=False)

PLAIN = constraint()
FULL = constraint(
    min_domains=2,
    node_affinity_policy="Honor",
    node_taints_policy="Ignore",
    match_label_keys=("app",),
)

Case = tuple[Gates, list[Constraint], list[Constraint] | None, list[Constraint], list[DroppedField]]

CASES: dict[str, Case] = {
    "a gate that is on takes nothing": (gates(), [FULL], None, [FULL], []),
    "minDomains goes from every entry that has it": (
        MIN_DOMAINS_OFF,
        [FULL, PLAIN, FULL],
        None,
        [replace(FULL, min_domains=None), PLAIN, replace(FULL, min_domains=None)],
        [DroppedField(Gate.MIN_DOMAINS, i, "minDomains") for i in (0, 2)],
    ),
    "an invalid value goes as well": (
        MIN_DOMAINS_OFF,
        [constraint(min_domains=-1)],
        None,
        [PLAIN],
        [DroppedField(Gate.MIN_DOMAINS, 0, "minDomains")],
    ),
    "both policies go": (
        POLICIES_OFF,
        [FULL],
        None,
        [replace(FULL, node_affinity_policy=None, node_taints_policy=None)],
        [
            DroppedField(Gate.NODE_INCLUSION_POLICY, 0, "nodeAffinityPolicy"),
            DroppedField(Gate.NODE_INCLUSION_POLICY, 0, "nodeTaintsPolicy"),
        ],
    ),
    "an update keeps the one policy that was in use, anywhere": (
        POLICIES_OFF,
        [FULL],
        [PLAIN, constraint(node_taints_policy="")],
        [replace(FULL, node_affinity_policy=None)],
        [DroppedField(Gate.NODE_INCLUSION_POLICY, 0, "nodeAffinityPolicy")],
    ),
    "an update keeps what was in use in every entry": (
        KEYS_OFF,
        [FULL, FULL],
        [constraint(match_label_keys=("x",))],
        [FULL, FULL],
        [],
    ),
    "empty matchLabelKeys were not in use": (
        KEYS_OFF,
        [FULL],
        [PLAIN],
        [replace(FULL, match_label_keys=())],
        [DroppedField(Gate.MATCH_LABEL_KEYS, 0, "matchLabelKeys")],
    ),
    "an update of an empty list drops": (
        MIN_DOMAINS_OFF,
        [constraint(min_domains=1)],
        [],
        [PLAIN],
        [DroppedField(Gate.MIN_DOMAINS, 0, "minDomains")],
    ),
    "the whole list goes": (
        ALL_OFF, [FULL, PLAIN], None, [], [DroppedField(Gate.EVEN_PODS_SPREAD)]
    ),
    "there is nothing to take from an empty list": (ALL_OFF, [], None, [], []),
    "an update keeps a list that was in use": (ALL_OFF, [FULL], [PLAIN], [FULL], []),
    "an update drops a list that was not": (
        ALL_OFF, [FULL], [], [], [DroppedField(Gate.EVEN_PODS_SPREAD)]
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("in_force", "requested", "old", "left", "drops"), CASES.values(), ids=CASES.keys()
)
def test_a_gate_that_is_off_takes_its_field_away(
    in_force: Gates,
    requested: list[Constraint],
    old: list[Constraint] | None,
    left: list[Constraint],
    drops: list[DroppedField],
) -> None:
    kept = drop_disabled_fields(tuple(requested), old, in_force)

    assert list(kept.constraints) == left
    assert list(kept.drops) == drops


SET: dict[str, tuple[str, dict[str, Any], bool]] = {
    "minDomains of 0 is set": ("minDomains", {"min_domains": 0}, True),
    "an empty policy is set": ("nodeTaintsPolicy", {"node_taints_policy": ""}, True),
    "empty matchLabelKeys are not": ("matchLabelKeys", {"match_label_keys": ()}, False),
    "an absent policy is not": ("nodeAffinityPolicy", {}, False),
}


@pytest.mark.parametrize(("field", "changes", "expected"), SET.values(), ids=SET.keys())
def test_a_field_is_set(field: str, changes: dict[str, Any], expected: bool) -> None:
    assert is_set(constraint(**changes), field) is expected


# gates, why, the same for a line of kubectl
WHYS: dict[str, tuple[Gates, str, str]] = {
    "switched off": (
        MIN_DOMAINS_OFF,
        "feature gate MinDomainsInPodTopologySpread is off",
        "MinDomainsInPodTopologySpread is off",
    ),
    "off in alpha": (
        gates(Version(1, 24)),
        "feature gate MinDomainsInPodTopologySpread is off",
        "MinDomainsInPodTopologySpread is off",
    ),
    "not there yet": (
        gates(Version(1, 23)),
        (
            "Kubernetes 1.23 does not know it: it came with 1.24, "
            "feature gate MinDomainsInPodTopologySpread"
        ),
        "Kubernetes 1.23 does not know it",
    ),
}


@pytest.mark.parametrize(("in_force", "why", "brief"), WHYS.values(), ids=WHYS.keys())
def test_a_field_is_held_back_since(in_force: Gates, why: str, brief: str) -> None:
    assert explain_disabled_gate(Gate.MIN_DOMAINS, in_force) == why
    assert explain_briefly(Gate.MIN_DOMAINS, in_force) == brief


ATTRIBUTES = {
    "minDomains": "min_domains",
    "nodeAffinityPolicy": "node_affinity_policy",
    "nodeTaintsPolicy": "node_taints_policy",
    "matchLabelKeys": "match_label_keys",
}

some_gates = strategies.some_gates()
old_lists = st.none() | strategies.any_lists


@given(strategies.any_lists, old_lists, some_gates)
def test_gates_change_nothing_but_the_fields_they_guard(
    requested: tuple[Constraint, ...], old: tuple[Constraint, ...] | None, in_force: Gates
) -> None:
    kept = drop_disabled_fields(requested, old, in_force)

    if kept.drops == (DroppedField(Gate.EVEN_PODS_SPREAD),):
        assert (kept.constraints, bool(old)) == ((), False)
        return
    guarded = {field for gate in Gate if gate not in in_force for field in GATES[gate].fields}
    assert {drop.field for drop in kept.drops} <= guarded
    gone = [(drop.entry, ATTRIBUTES[drop.field]) for drop in kept.drops]
    for i, (before, after) in enumerate(zip(requested, kept.constraints, strict=True)):
        for attribute in Constraint.__struct_fields__:
            expected = Constraint() if (i, attribute) in gone else before
            assert getattr(after, attribute) == getattr(expected, attribute)


@given(strategies.any_lists, old_lists, some_gates)
def test_what_is_left_loses_nothing_more(
    requested: tuple[Constraint, ...], old: tuple[Constraint, ...] | None, in_force: Gates
) -> None:
    left = drop_disabled_fields(requested, old, in_force).constraints

    assert drop_disabled_fields(left, old, in_force) == (left, ())


@given(strategies.any_lists, some_gates)
def test_an_update_that_changes_nothing_loses_nothing(
    stored: tuple[Constraint, ...], in_force: Gates
) -> None:
    assert drop_disabled_fields(stored, stored, in_force) == (stored, ())
