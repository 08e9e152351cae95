"""SpreadPolicies that the server does not use are reported."""

from typing import Any

import pytest

from tests.doctor.installations import (
    assert_reported,
    build_installation,
    build_policy,
    configuration,
    deployment,
    find_deviations,
    serving_with,
)
from webhook.cluster.spreadpolicies import SpreadPolicyObject
from webhook.doctor.installation import Lookup

CONFIGURED = configuration(
    "apiVersion: evenspread.io/v1alpha1\nkind: SpreadConfiguration\n"
    "profiles: [{name: web, match: {objectSelector: {matchLabels: {app: web}}}, "
    "defaultConstraints: []}]\n"
)


def installed(*policies: SpreadPolicyObject, source: str = "both") -> dict[str, Any]:
    """An installation with a profile in its configuration, and these policies."""
    flags = serving_with(f"--policies={source}")
    return {
        "configuration": CONFIGURED,
        "policies": Lookup(policies),
        "deployment": deployment(flags),
    }


WEB = {"match": {"objectSelector": {"matchLabels": {"app": "web"}}}}

PROBLEMS: dict[str, tuple[dict[str, Any], str]] = {
    "it cannot be read": (
        installed(build_policy("a", order="x")),
        "SpreadPolicy 'a' cannot be used: spec.order: must be a whole number",
    ),
    "a profile has its name": (
        installed(build_policy("web")),
        "SpreadPolicy 'web' is not used: a profile of the configuration has its name",
    ),
    "it denies pods that the webhook does not get": (
        installed(build_policy("a", rules={"TSC101": {"action": "deny"}})),
        "denies by TSC101, but not new pods",
    ),
    "the kind is absent": (
        {**installed(source="resource"), "policies": Lookup()},
        "CustomResourceDefinition is not installed: no pod gets defaults",
    ),
}


@pytest.mark.parametrize(("changes", "words"), PROBLEMS.values(), ids=PROBLEMS)
def test_a_policy_that_is_not_used_is_a_problem(changes: dict[str, Any], words: str) -> None:
    assert_reported(changes, {"policies": words}, is_note=False)


NOTES: dict[str, tuple[dict[str, Any], str]] = {
    "a profile before it": (
        installed(build_policy("b", **WEB)),
        "SpreadPolicy 'b' applies to no pod",
    ),
    "the file alone counts": (
        installed(build_policy("b"), source="file"),
        "1 SpreadPolicies have no effect: the server runs with --policies file",
    ),
}


def test_a_policy_that_denies_in_audits_only_is_no_problem() -> None:
    policy = build_policy("a", rules={"TSC112": {"action": "deny"}})

    assert find_deviations(build_installation(**installed(policy))) == {}


@pytest.mark.parametrize(("changes", "words"), NOTES.values(), ids=NOTES)
def test_a_policy_without_effect_is_noted(changes: dict[str, Any], words: str) -> None:
    assert_reported(changes, {"policies": words}, is_note=True)


COVERED = configuration(
    "apiVersion: evenspread.io/v1alpha1\nkind: SpreadConfiguration\nprofiles:\n"
    "- {name: all, defaultConstraints: []}\n- {name: web, defaultConstraints: []}\n"
)


def test_a_profile_of_the_configuration_without_effect_is_another_check() -> None:
    changes = {**installed(), "configuration": COVERED}

    assert "policies" not in find_deviations(build_installation(**changes))


HEALTHY: dict[str, dict[str, Any]] = {
    "policies": installed(
        build_policy("a"), build_policy("b", order=-1, match={"ownerKinds": ["Job"]})
    ),
    "policies alone, with the name of a profile": installed(build_policy("web"), source="resource"),
    "no kind": {**installed(), "policies": Lookup()},
    "no policies, of which none would count": installed(source="file"),
}


@pytest.mark.parametrize("changes", HEALTHY.values(), ids=HEALTHY)
def test_a_healthy_installation_has_no_findings(changes: dict[str, Any]) -> None:
    assert find_deviations(build_installation(**changes)) == {}


def test_policies_that_may_not_be_listed_are_unknown() -> None:
    unread = Lookup[tuple[SpreadPolicyObject, ...]](problem="needs list on spreadpolicies")

    found = find_deviations(build_installation(policies=unread))

    assert found["policies"].unreadable == ("needs list on spreadpolicies",)


def test_an_invalid_configuration_is_another_check() -> None:
    changes = {**installed(build_policy("web")), "configuration": configuration("profiles: 5\n")}

    assert "policies" not in find_deviations(build_installation(**changes))
