"""The texts of exported policies; ``tests.e2e.test_export_validating`` has them evaluated."""

from typing import Any

import pytest

from tests.build import gates, policy
from webhook.export.apirules import API_CONDITIONS, MERGED_KEYS_CONDITION
from webhook.export.exported import Manifest
from webhook.export.validating import export_validating
from webhook.policy.api.rules import API_RULES
from webhook.policy.catalogue import DEFAULT_ACTIONS
from webhook.policy.defaulting.profiles import FieldDefaults, Mode
from webhook.policy.kinds import BUILT_IN_TEMPLATES, SHIPPED_TEMPLATES
from webhook.policy.model import GroupKind
from webhook.policy.places import TemplatePatterns
from webhook.policy.rule_entry import Action

FLEET = GroupKind("example.io", "Fleet")
PLACES = {**BUILT_IN_TEMPLATES, FLEET: ("spec", "pod")}
QUIET = {"actions": dict.fromkeys(DEFAULT_ACTIONS, Action.OFF)}
"""Without policy rules, which are the subject of test_advising."""


def export_fleet(**changes: Any) -> tuple[Manifest, ...]:
    return export_validating(policy(pod_templates=PLACES, **QUIET, **changes)).manifests


def rules_of(manifest: Manifest) -> list[str]:
    messages = [one["message"] for one in manifest["spec"]["validations"]]
    return [message.rpartition("(")[2].removesuffix(")") for message in messages]


def test_a_kind_becomes_a_policy_and_a_binding() -> None:
    made, binding = export_fleet()

    metadata = {
        "name": "evenspread-fleet-example-io",
        "labels": {"evenspread.io/export": "vap"},
    }
    assert (made["kind"], made["metadata"]) == ("ValidatingAdmissionPolicy", metadata)
    assert made["spec"]["failurePolicy"] == "Ignore"
    assert made["spec"]["matchConstraints"] == {
        "resourceRules": [
            {
                "apiGroups": ["example.io"],
                "apiVersions": ["*"],
                "operations": ["CREATE", "UPDATE"],
                "resources": ["*"],
            }
        ]
    }
    assert binding == {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": metadata,
        "spec": {"policyName": metadata["name"], "validationActions": ["Deny"]},
    }


def test_objects_of_the_kind_match_whose_lists_change() -> None:
    made, _ = export_fleet()

    path = ".?spec.?pod.?spec.?topologySpreadConstraints.orValue([])"
    assert [one["expression"] for one in made["spec"]["matchConditions"]] == [
        'object.kind == "Fleet"',
        f'request.operation == "CREATE" || object{path} != oldObject{path}',
    ]


def test_every_rule_is_a_validation() -> None:
    made, _ = export_fleet()

    assert rules_of(made) == ["FieldValueTypeInvalid", "TSC010", *API_RULES]
    assert {one["reason"] for one in made["spec"]["validations"]} == {"Invalid"}
    assert made["spec"]["validations"][2]["message"] == (
        "spec.pod.spec.topologySpreadConstraints: maxSkew is at least 1; write at least 1: how "
        "many more pods a domain may have than the emptiest domain, for example `maxSkew: 1` "
        "(TSC001)"
    )


def test_every_place_of_a_kind_has_validations() -> None:
    places = TemplatePatterns((("spec", "leader"), ("spec", "workers", "*", "template")))
    exported = policy(pod_templates={FLEET: places}, **QUIET)

    made, _ = export_validating(exported).manifests

    assert rules_of(made) == ["FieldValueTypeInvalid", "TSC010", *API_RULES] * 2


def test_shipped_kinds_are_exported() -> None:
    manifests = export_validating(policy(**QUIET)).manifests

    assert len(manifests) == 2 * len(SHIPPED_TEMPLATES)
    assert len({one["metadata"]["name"] for one in manifests}) == len(SHIPPED_TEMPLATES)


@pytest.mark.parametrize(
    ("merge", "condition"), [(True, MERGED_KEYS_CONDITION), (False, API_CONDITIONS["TSC008"])]
)
def test_a_gate_decides_about_keys_in_the_selector(merge: bool, condition: str) -> None:
    in_force = gates(MatchLabelKeysInPodTopologySpreadSelectorMerge=merge)

    made, _ = export_fleet(gates=in_force)

    assert f"items.all(c, {condition})" in made["spec"]["validations"][-2]["expression"]


def test_fields_of_disabled_gates_are_not_judged() -> None:
    off = gates(
        MatchLabelKeysInPodTopologySpread=False,
        MatchLabelKeysInPodTopologySpreadSelectorMerge=False,
        MinDomainsInPodTopologySpread=False,
    )
    export = export_validating(policy(pod_templates=PLACES, gates=off, **QUIET))

    left = [rule for rule in API_RULES if rule not in ("TSC005", "TSC006", "TSC008")]
    assert rules_of(export.manifests[0])[2:] == left
    assert "matchLabelKeys, minDomains are not checked, and not dropped either" in [
        one.reason for one in export.omissions
    ]


def test_without_constraints_nothing_is_exported() -> None:
    export = export_validating(policy(gates=gates(EvenPodsSpread=False)))

    assert export.manifests == ()
    assert str(export.omissions[0]).endswith("EvenPodsSpread is off")


def test_recommend_mode_warns() -> None:
    _, binding = export_fleet(mode=Mode.RECOMMEND)

    assert binding["spec"]["validationActions"] == ["Warn"]


@pytest.mark.parametrize(
    ("changes", "subjects"),
    [
        ({"field_defaults": FieldDefaults.NONE}, []),
        ({"mode": Mode.RECOMMEND, "field_defaults": FieldDefaults.NONE}, ["mode recommend"]),
        ({}, ["fieldDefaults whenUnsatisfiable"]),
    ],
)
def test_what_is_different_is_named(changes: dict[str, Any], subjects: list[str]) -> None:
    found = [one.subject for one in export_validating(policy(**changes)).omissions]

    always = ["long lists", "updates", "rules", "exceptions from rules", "TSC101"]
    assert [one for one in found if one not in always] == subjects
    assert [one for one in found if one in always] == always


def test_policy_rules_follow_the_api_rules() -> None:
    manifests = export_validating(policy(pod_templates=PLACES)).manifests

    names = [one["metadata"]["name"] for one in manifests]
    assert names[:2] == ["evenspread-fleet-example-io"] * 2
    assert "evenspread-advice-fleet-example-io-warn" in names[2:]
