from typing import Any

import pytest
from msgspec.structs import replace

from tests.build import owned_by, pod, policy, profile, requirement, selector, template
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
