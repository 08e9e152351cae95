from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from tests.build import owned_by, pod, policy, profile, requirement, selector, template
from webhook.policy.catalogue import DEFAULT_ACTIONS
from webhook.policy.defaulting.profiles import (
    SYSTEM_CONSTRAINTS,
    FieldDefaults,
    Merge,
    Mode,
    Policy,
    Profile,
    ScaleDown,
)
from webhook.policy.model import HOSTNAME, NAME_LABEL, ZONE, PodTemplate
from webhook.policy.rule_entry import Action

WEB = template(pod(owner=owned_by("ReplicaSet")))
BARE = template(pod())
OTHER = template(pod(schedulerName="other"))

FITS: dict[str, tuple[dict[str, Any], PodTemplate, bool]] = {
    "any pod, if nothing is required": ({}, WEB, True),
    "a pod without members": ({}, PodTemplate(), True),
    "a pod of the default scheduler, by name": (
        {},
        template(pod(schedulerName="default-scheduler")),
        True,
    ),
    "no pod of another scheduler": ({}, OTHER, False),
    "a pod of the required scheduler": (
        {"scheduler_names": frozenset({"other"})},
        OTHER,
        True,
    ),
    "a pod that the selector selects": ({"object_selector": selector(app="web")}, WEB, True),
    "no pod that it does not": ({"object_selector": selector(app="db")}, WEB, False),
    "every pod, if the selector is empty": ({"object_selector": selector()}, WEB, True),
    "a pod of such an owner": ({"owner_kinds": frozenset({"ReplicaSet"})}, WEB, True),
    "no pod of another": ({"owner_kinds": frozenset({"StatefulSet"})}, WEB, False),
    "no pod without an owner": ({"owner_kinds": frozenset({"ReplicaSet"})}, BARE, False),
    "no pod without metadata": (
        {"owner_kinds": frozenset({"ReplicaSet"})},
        PodTemplate(),
        False,
    ),
    "a pod, whatever its Namespace": ({"namespace_selector": selector(tier="prod")}, WEB, True),
}


@pytest.mark.parametrize(("members", "candidate", "expected"), FITS.values(), ids=FITS.keys())
def test_a_profile_fits(members: dict[str, Any], candidate: PodTemplate, expected: bool) -> None:
    assert profile(**members).fits(candidate) is expected


NAMESPACES = {
    "any, if nothing is required": (None, {}, True),
    "an unknown one, if nothing is required": (None, None, True),
    "one that the selector selects": (selector(tier="prod"), {"tier": "prod"}, True),
    "none that it does not": (selector(tier="prod"), {}, False),
    "none that is unknown": (selector(requirement("x", "DoesNotExist")), None, False),
    "an unknown one by its name": (selector(**{NAME_LABEL: "shop"}), None, True),
    "none by another name": (selector(**{NAME_LABEL: "other"}), None, False),
    "a known one by its name": (selector(**{NAME_LABEL: "shop"}), {"tier": "prod"}, True),
    "none that is unknown, by its name and a label": (
        selector(tier="prod", **{NAME_LABEL: "shop"}),
        None,
        False,
    ),
}


@pytest.mark.parametrize(
    ("selected", "labels", "expected"), NAMESPACES.values(), ids=NAMESPACES.keys()
)
def test_a_profile_fits_a_namespace(
    selected: Any, labels: dict[str, str] | None, expected: bool
) -> None:
    assert profile(namespace_selector=selected).fits_namespace("shop", labels) is expected


def test_a_policy_needs_namespaces_if_a_profile_matches_their_labels() -> None:
    asking = replace(profile(), namespace_selector=selector())

    assert policy(profile(), asking).needs_namespaces
    assert not policy(profile()).needs_namespaces
    assert not policy().needs_namespaces


def test_a_policy_keeps_the_spread_if_a_profile_does() -> None:
    keeping = profile(name="keeping", scale_down=ScaleDown.KEEP_SPREAD)

    assert policy(profile(), keeping).keeps_spread
    assert not policy(profile()).keeps_spread
    assert not policy().keeps_spread


def test_the_system_defaults_are_those_of_kube_scheduler() -> None:
    listed = [(c.topology_key, c.max_skew, c.when_unsatisfiable) for c in SYSTEM_CONSTRAINTS]

    assert listed == [(HOSTNAME, 3, "ScheduleAnyway"), (ZONE, 5, "ScheduleAnyway")]


def test_a_policy_is_careful_by_default() -> None:
    assert policy().mode is Mode.APPLY
    assert policy().field_defaults is FieldDefaults.WHEN_UNSATISFIABLE
    assert policy().exempt_namespaces == {"kube-system"}
    assert Profile(name="x").constraints == ()
    assert not Profile(name="x").complete_selectors
    assert not Profile(name="x").system
    assert Profile(name="x").scale_down is ScaleDown.NONE
    assert not Profile(name="x").gangs
    assert Profile(name="x").merge is Merge.IF_EMPTY
    assert not policy().validates_pods


def test_a_policy_cannot_change() -> None:
    in_force = policy()

    with pytest.raises(AttributeError, match="immutable"):
        in_force.mode = Mode.RECOMMEND  # type: ignore[misc]
    with pytest.raises(TypeError):
        Policy(in_force.gates)  # type: ignore[call-arg]


def test_the_words_of_the_configuration_are_fixed() -> None:
    assert [*Mode] == ["apply", "recommend"]
    assert [*Merge] == ["IfEmpty", "PerTopologyKey"]
    assert [*ScaleDown] == ["None", "KeepSpread"]
    assert [*FieldDefaults] == ["none", "whenUnsatisfiable", "all"]


ACTIONS: dict[str, Mapping[str, Action]] = {
    "nothing": {},
    "one rule": {"TSC101": Action.DENY},
    "two rules": {"TSC101": Action.OFF, "TSC110": Action.WARN},
}


@pytest.mark.parametrize("actions", ACTIONS.values(), ids=ACTIONS.keys())
def test_the_rules_of_a_profile_go_before_those_of_the_policy(
    actions: Mapping[str, Action],
) -> None:
    in_force = policy(profile(actions=actions), not_exemptible=frozenset({"TSC110"}))

    (one,) = in_force.profiles
    inside = in_force.with_rules_of(one)

    assert inside.actions == {**DEFAULT_ACTIONS, **actions}
    assert (inside is in_force) is not in_force.has_profile_rules
    assert inside.not_exemptible == {"TSC110"}
    assert inside.with_rules_of(one) == inside


def test_a_profile_allows_and_forbids_exemptions() -> None:
    one = profile(exemptible={"TSC110": True, "TSC101": False})
    in_force = policy(one, not_exemptible=frozenset({"TSC110", "TSC102"}))

    assert in_force.has_profile_rules
    assert in_force.with_rules_of(one).not_exemptible == {"TSC101", "TSC102"}


@pytest.mark.parametrize("mode", Mode)
def test_a_profile_in_recommend_mode_holds_its_denials_back(mode: Mode) -> None:
    one = profile(mode=mode, actions={"TSC101": Action.DENY, "TSC102": Action.WARN})

    inside = policy(one).with_rules_of(one)

    assert inside.held_denials == ({"TSC101"} if mode is Mode.RECOMMEND else set())


@pytest.mark.parametrize(
    ("general", "of_profile", "off"),
    [
        (Action.WARN, {}, False),
        (Action.OFF, {}, True),
        (Action.OFF, {"TSC101": Action.WARN}, False),
        (Action.OFF, {"TSC101": Action.OFF, "TSC102": Action.DENY}, True),
        (Action.WARN, {"TSC101": Action.OFF}, False),
    ],
)
def test_a_rule_is_off_if_it_is_off_everywhere(
    general: Action, of_profile: Mapping[str, Action], off: bool
) -> None:
    in_force = policy(
        profile(actions=of_profile), profile(), actions={**DEFAULT_ACTIONS, "TSC101": general}
    )

    assert in_force.is_off("TSC101") is off


@pytest.mark.parametrize(
    ("forbidden", "of_profile", "exemptible"),
    [
        ((), {}, True),
        (("TSC101",), {}, False),
        (("TSC101",), {"TSC101": True}, True),
        (("TSC101",), {"TSC101": False, "TSC102": True}, False),
        ((), {"TSC101": False}, True),
    ],
)
def test_a_rule_is_exemptible_if_it_is_anywhere(
    forbidden: tuple[str, ...], of_profile: Mapping[str, bool], exemptible: bool
) -> None:
    in_force = policy(
        profile(exemptible=of_profile), profile(), not_exemptible=frozenset(forbidden)
    )

    assert in_force.is_exemptible("TSC101") is exemptible


@pytest.mark.parametrize(
    ("allowed", "exemptible"), [((), False), ((False,), False), ((False, True), True)]
)
def test_defaults_are_exemptible_if_those_of_a_profile_are(
    allowed: tuple[bool, ...], exemptible: bool
) -> None:
    in_force = policy(*(profile(allows_exceptions=one) for one in allowed))

    assert in_force.has_exemptible_defaults is exemptible


@pytest.mark.parametrize(
    ("general", "of_profile", "mode", "recommends"),
    [
        (Mode.APPLY, Mode.APPLY, Mode.APPLY, False),
        (Mode.APPLY, Mode.RECOMMEND, Mode.RECOMMEND, True),
        (Mode.RECOMMEND, Mode.APPLY, Mode.RECOMMEND, True),
        (Mode.RECOMMEND, Mode.RECOMMEND, Mode.RECOMMEND, True),
    ],
)
def test_the_more_careful_mode_is_in_force(
    general: Mode, of_profile: Mode, mode: Mode, recommends: bool
) -> None:
    one = profile(mode=of_profile)
    in_force = policy(one, mode=general)

    assert in_force.mode_of(one) is mode
    assert in_force.recommends is recommends
