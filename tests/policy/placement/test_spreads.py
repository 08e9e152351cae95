import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.policy.placement.clusters import (
    SELECTS_WEB,
    constraints,
    gates,
    labels,
    selectors,
    spread_over,
)
from webhook.policy.api.gates import Gates
from webhook.policy.defaulting.profiles import SYSTEM_CONSTRAINTS
from webhook.policy.model import (
    SCHEDULE_ANYWAY,
    Constraint,
    LabelSelector,
    LabelSelectorRequirement,
)
from webhook.policy.placement.nodes import Demands
from webhook.policy.placement.spreads import (
    DefaultConstraints,
    SpreadConstraint,
    resolve_constraints,
)

LABELS = {"app": "web", "rev": "7"}
REV_7 = LabelSelectorRequirement(key="rev", operator="In", values=("7",))
WEB_OF_REV_7 = LabelSelector({"app": "web"}, (REV_7,))

ALL_ON = gates()
KEYS_OFF = gates(MATCH_LABEL_KEYS=False, SELECTOR_MERGE=False)
POLICIES_OFF = gates(NODE_INCLUSION_POLICY=False)
MIN_DOMAINS_OFF = gates(MIN_DOMAINS=False)


def spread_of(constraint: Constraint, in_force: Gates = ALL_ON) -> SpreadConstraint:
    spreads = resolve_constraints((constraint,), LABELS, in_force)
    (spread,) = (*spreads.hard, *spreads.soft)
    return spread


# constraint, gates, selector
SELECTORS: dict[str, tuple[Constraint, Gates, LabelSelector | None]] = {
    "as written": (spread_over(), ALL_ON, SELECTS_WEB),
    "a key that the pod carries joins": (
        spread_over(match_label_keys=("rev",)), ALL_ON, WEB_OF_REV_7
    ),
    "a key that the pod lacks is left out": (
        spread_over(match_label_keys=("gone", "rev")), ALL_ON, WEB_OF_REV_7
    ),
    "an empty selector is empty no longer": (
        spread_over(label_selector=LabelSelector(), match_label_keys=("rev",)), ALL_ON,
        LabelSelector(match_expressions=(REV_7,)),
    ),
    "no selector stays none": (
        spread_over(label_selector=None, match_label_keys=("rev",)), ALL_ON, None
    ),
    "keys are not looked at while the gate is off": (
        spread_over(match_label_keys=("rev",)), KEYS_OFF, SELECTS_WEB
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("constraint", "in_force", "selector"), SELECTORS.values(), ids=SELECTORS.keys()
)
def test_selector(constraint: Constraint, in_force: Gates, selector: LabelSelector | None) -> None:
    assert spread_of(constraint, in_force).selector == selector


# constraint, gates, minDomains, affinity honored, taints honored
FIELDS = {
    "nothing is set": (spread_over(), ALL_ON, 1, True, False),
    "minDomains of a hard one": (spread_over(min_domains=3), ALL_ON, 3, True, False),
    "minDomains of a soft one is ignored": (
        spread_over(min_domains=3, when_unsatisfiable=SCHEDULE_ANYWAY), ALL_ON, 1, True, False
    ),
    "minDomains while its gate is off": (
        spread_over(min_domains=3), MIN_DOMAINS_OFF, 1, True, False
    ),
    "the defaults of the policies, written out": (
        spread_over(node_affinity_policy="Honor", node_taints_policy="Ignore"),
        ALL_ON, 1, True, False,
    ),
    "both policies turned round": (
        spread_over(node_affinity_policy="Ignore", node_taints_policy="Honor"),
        ALL_ON, 1, False, True,
    ),
    "policies while their gate is off": (
        spread_over(node_affinity_policy="Ignore", node_taints_policy="Honor"),
        POLICIES_OFF, 1, True, False,
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("constraint", "in_force", "min_domains", "affinity", "taints"),
    FIELDS.values(),
    ids=FIELDS.keys(),
)
def test_fields(
    constraint: Constraint, in_force: Gates, min_domains: int, affinity: bool, taints: bool
) -> None:
    spread = spread_of(constraint, in_force)

    assert (spread.min_domains, spread.honors_affinity, spread.honors_taints) == (
        min_domains,
        affinity,
        taints,
    )


def test_hard_and_soft_ones_keep_their_places() -> None:
    soft = spread_over("rack", when_unsatisfiable=SCHEDULE_ANYWAY)

    spreads = resolve_constraints((spread_over(), soft, spread_over("host")), LABELS, ALL_ON)

    assert [(spread.index, spread.topology_key) for spread in spreads.hard] == [
        (0, spread_over().topology_key),
        (2, "host"),
    ]
    assert [spread.constraint for spread in spreads.soft] == [soft]


def test_constraints_that_a_profile_added_over_a_key_are_dropped() -> None:
    rack = spread_over("rack", when_unsatisfiable=SCHEDULE_ANYWAY)
    written = (spread_over("rack"), rack, spread_over("host"))
    found = replace(resolve_constraints(written, LABELS, ALL_ON), added=frozenset({1, 2}))

    assert [one.index for one in found.drop_added("rack").by_index] == [0, 2]
    assert [one.index for one in found.drop_added("host").by_index] == [0, 1]


def test_defaults_get_the_derived_selector_and_nothing_of_their_own() -> None:
    listed = spread_over(label_selector=None, match_label_keys=("rev",))

    spreads = resolve_constraints((), LABELS, ALL_ON, DefaultConstraints((listed,), SELECTS_WEB))

    assert [spread.selector for spread in spreads.hard] == [SELECTS_WEB]
    assert spreads.defaulted
    assert spreads.requires_keys


def test_system_defaults_do_not_ask_for_keys() -> None:
    spreads = resolve_constraints(
        (), LABELS, ALL_ON, DefaultConstraints(SYSTEM_CONSTRAINTS, SELECTS_WEB, system=True)
    )

    assert [spread.max_skew for spread in spreads.soft] == [3, 5]
    assert not spreads.requires_keys


@pytest.mark.parametrize("derived", [None, LabelSelector()])
def test_without_a_derived_selector_there_are_no_defaults(derived: LabelSelector | None) -> None:
    spreads = resolve_constraints(
        (), LABELS, ALL_ON, DefaultConstraints(SYSTEM_CONSTRAINTS, derived, system=True)
    )

    assert (spreads.hard, spreads.soft) == ((), ())


@given(st.lists(constraints, min_size=1, max_size=4).map(tuple), labels, selectors)
def test_own_constraints_are_never_completed_from_the_defaults(
    own: tuple[Constraint, ...], carried: dict[str, str], derived: LabelSelector
) -> None:
    defaults = DefaultConstraints(SYSTEM_CONSTRAINTS, derived, system=True)

    assert resolve_constraints(own, carried, ALL_ON, defaults) == resolve_constraints(
        own, carried, ALL_ON
    )


@given(st.lists(constraints, max_size=4).map(tuple), labels)
def test_every_constraint_is_resolved_once(
    own: tuple[Constraint, ...], carried: dict[str, str]
) -> None:
    spreads = resolve_constraints(own, carried, ALL_ON)

    assert tuple(spread.constraint for spread in spreads.by_index) == own


def test_a_resolved_constraint_cannot_change() -> None:
    spread = spread_of(spread_over())

    with pytest.raises(AttributeError, match="immutable"):
        spread.max_skew = 2  # type: ignore[misc]
    with pytest.raises(TypeError):
        SpreadConstraint(spread_over(), 0, "zone", 1, None)  # type: ignore[call-arg]


COUNTS = {
    "equal labels": (LabelSelector({"app": "web"}), True),
    "other labels": (LabelSelector({"app": "api"}), False),
    "an empty selector": (LabelSelector(), False),
    "no selector": (None, False),
}


@pytest.mark.parametrize(("selector", "expected"), COUNTS.values(), ids=COUNTS)
def test_running_pods_count_if_a_selector_that_is_not_empty_matches(
    selector: LabelSelector | None, expected: bool
) -> None:
    spread = spread_of(spread_over(label_selector=selector))

    assert spread.counts({"app": "web", "tier": "x"}) is expected


# policies; what a node must satisfy to count
COUNTING: dict[str, tuple[Constraint, Demands]] = {
    "the defaults": (spread_over(), Demands(pairs=(("pool", "web"),), tolerations=None)),
    "other policies": (
        spread_over(node_affinity_policy="Ignore", node_taints_policy="Honor"), Demands()
    ),
}  # fmt: skip


@pytest.mark.parametrize(("constraint", "counting"), COUNTING.values(), ids=COUNTING)
def test_nodes_count_by_the_policies(constraint: Constraint, counting: Demands) -> None:
    assert spread_of(constraint).counting(Demands(pairs=(("pool", "web"),))) == counting
