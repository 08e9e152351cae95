from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.build import default, gates, profile, selector
from webhook.config.configuration import Configuration, policy
from webhook.config.profilechanges import (
    ProfileChange,
    ProfileEdit,
    compare_profiles,
    compare_settings,
)
from webhook.policy.defaulting.profiles import Mode, Policy, Profile
from webhook.policy.rule_entry import Action

NEW, CHANGED, REMOVED = ProfileEdit.NEW, ProfileEdit.CHANGED, ProfileEdit.REMOVED
MOVED, IDLE, BUSY = ProfileEdit.REORDERED, ProfileEdit.INEFFECTIVE, ProfileEdit.EFFECTIVE


def side(*profiles: Profile, **settings: Any) -> tuple[Configuration, Policy]:
    configuration = Configuration(profiles=profiles, **settings)
    return configuration, policy(configuration, gates())


def narrow(name: str, **changes: Any) -> Profile:
    """A profile that no other one covers."""
    return profile(name=name, object_selector=selector(profile=name), **changes)


def edits(before: tuple[Configuration, Policy], after: tuple[Configuration, Policy]) -> Any:
    return {change.name: change.edits for change in compare_profiles(before, after)}


A, B, C = narrow("a"), narrow("b"), narrow("c")
ALL = profile(name="all")

# before, after, name -> edits
CASES: dict[str, tuple[tuple[Profile, ...], tuple[Profile, ...], dict[str, Any]]] = {
    "nothing": ((A, B), (A, B), {}),
    "none at all": ((), (), {}),
    "a new one": ((A,), (A, B), {"b": (NEW,)}),
    "a new one before the others": ((A, C), (B, A, C), {"b": (NEW,)}),
    "a removed one": ((A, B), (B,), {"a": (REMOVED,)}),
    "one that another replaces": ((A,), (B,), {"b": (NEW,), "a": (REMOVED,)}),
    "other constraints": (
        (A,), (narrow("a", constraints=(default(max_skew=5),)),), {"a": (CHANGED,)}
    ),
    "other pods": ((A,), (profile(name="a", object_selector=selector(x="y")),), {"a": (CHANGED,)}),
    "other exceptions": ((A,), (narrow("a", allows_exceptions=False),), {"a": (CHANGED,)}),
    "a mode": ((A,), (narrow("a", mode=Mode.RECOMMEND),), {"a": (CHANGED,)}),
    "an action of a rule": (
        (A,), (narrow("a", actions={"TSC110": Action.DENY}),), {"a": (CHANGED,)}
    ),
    "one that moves to the front": ((A, B, C), (C, A, B), {"c": (MOVED,)}),
    "one that moves to the end": ((A, B, C), (B, C, A), {"a": (MOVED,)}),
    "one that moves and changes": (
        (A, B, C), (narrow("c", gangs=True), A, B), {"c": (CHANGED, MOVED)}
    ),
    "one that none before it leaves a pod": (
        (A, ALL), (ALL, narrow("d")), {"d": (NEW, IDLE), "a": (REMOVED,)}
    ),
    "one that a new one covers": ((A,), (ALL, A), {"all": (NEW,), "a": (IDLE,)}),
    "one that is no longer covered": ((ALL, A), (A,), {"a": (BUSY,), "all": (REMOVED,)}),
    "one that stays without effect": ((ALL, A), (ALL, A, B), {"b": (NEW, IDLE)}),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after", "found"), CASES.values(), ids=CASES.keys())
def test_edits(
    before: tuple[Profile, ...], after: tuple[Profile, ...], found: dict[str, Any]
) -> None:
    assert edits(side(*before), side(*after)) == found


def test_a_change_has_both_descriptions() -> None:
    (change,) = compare_profiles(side(A), side(narrow("a", gangs=True)))

    assert change.before is not None
    assert change.after is not None
    assert (change.before["gangs"], change.after["gangs"]) == (False, True)
    assert change.before | {"gangs": True} == change.after


def test_an_ineffective_profile_has_the_reason() -> None:
    (_, change) = compare_profiles(side(A), side(ALL, A))

    assert isinstance(change, ProfileChange)
    assert change.reason == (
        "applies to no pod, as profile 'all' before it fits every pod that it fits"
    )


def test_another_order_of_a_spread_policy_is_a_change() -> None:
    before, after = (side(A, orders={"a": order}) for order in (1, 2))

    assert edits(before, after) == {"a": (CHANGED,)}


def test_a_mode_for_all_changes_all() -> None:
    assert edits(side(A, B), side(A, B, mode=Mode.RECOMMEND)) == {"a": (CHANGED,), "b": (CHANGED,)}


NAMES = "abcdefg"
sequences = st.lists(st.sampled_from(NAMES), unique=True).map(tuple)


@given(sequences)
def test_equal_profiles_have_no_changes(names: tuple[str, ...]) -> None:
    one = side(*map(narrow, names))

    assert compare_profiles(one, side(*map(narrow, names))) == []
    assert compare_settings(one, side()) is None


@given(sequences, sequences)
def test_the_edits_are_those_of_the_sequences(old: tuple[str, ...], new: tuple[str, ...]) -> None:
    found = edits(side(*map(narrow, old)), side(*map(narrow, new)))

    assert {name for name in found if NEW in found[name]} == set(new) - set(old)
    assert {name for name in found if REMOVED in found[name]} == set(old) - set(new)
    moved = {name for name in found if MOVED in found[name]}
    kept = [name for name in old if name in new]
    stays = [name for name in kept if name not in moved]
    assert stays == [name for name in new if name in stays]
    assert len(stays) == longest([kept.index(name) for name in new if name in kept])


def longest(positions: list[int]) -> int:
    """The length of the longest increasing subsequence, by trying all."""
    for size in range(len(positions), 0, -1):
        if any(list(some) == sorted(some) for some in combinations(positions, size)):
            return size
    return 0


# settings of the new configuration, what differs
SETTINGS: dict[str, tuple[dict[str, Any], str]] = {
    "the mode": ({"mode": Mode.RECOMMEND}, "mode"),
    "exempt namespaces": ({"exempt_namespaces": frozenset({"ops"})}, "exemptNamespaces"),
    "a rule without exemptions": ({"not_exemptible": frozenset({"TSC101"})}, "rules"),
    "a notice": ({"notices": ("SpreadPolicy 'a' is not used",)}, "notices"),
    "repair": ({"scale_down_repair": True}, "scaleDownRepair"),
    "owners": ({"owner_selectors": ()}, "ownerSelectors"),
}


@pytest.mark.parametrize(("settings", "key"), SETTINGS.values(), ids=SETTINGS.keys())
def test_settings(settings: dict[str, Any], key: str) -> None:
    change = compare_settings(side(), side(**settings))

    assert change is not None
    differing = {name for name in change.before if change.before[name] != change.after[name]}
    assert differing == {key}


def test_gates_are_settings() -> None:
    configuration = Configuration()
    before, after = (
        (configuration, policy(configuration, gates(EvenspreadAdvice=on))) for on in (True, False)
    )

    change = compare_settings(before, after)

    assert change is not None
    assert (change.before["gates"]["EvenspreadAdvice"]) is True
    assert (change.after["gates"]["EvenspreadAdvice"]) is False
