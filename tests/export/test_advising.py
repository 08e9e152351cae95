"""The texts of exported policies; ``tests.e2e.test_export_advice`` has them evaluated."""

from typing import Any

import pytest

from tests.build import gates, policy, profile
from webhook.export.advising import export_advice
from webhook.export.exported import Manifest
from webhook.policy import kinds
from webhook.policy.catalogue import DEFAULT_ACTIONS
from webhook.policy.defaulting.profiles import Mode
from webhook.policy.kinds import BUILT_IN_TEMPLATES
from webhook.policy.model import GroupKind
from webhook.policy.paths import LIST_NAME
from webhook.policy.places import TemplatePatterns
from webhook.policy.rule_entry import Action

BARE = GroupKind("example.io", "Bare")
PLACES = {kinds.DEPLOYMENT: ("spec", "template")}
OFF = dict.fromkeys(DEFAULT_ACTIONS, Action.OFF)


def export(places: Any = PLACES, **changes: Any) -> tuple[Manifest, ...]:
    return export_advice(policy(pod_templates=places, **changes)).manifests


def test_a_kind_becomes_a_policy_for_each_action() -> None:
    actions = {**OFF, "TSC101": Action.DENY, "TSC102": Action.AUDIT}

    manifests = export(actions=actions)

    assert [one["metadata"]["name"] for one in manifests] == [
        f"evenspread-advice-deployment-apps-{action}"
        for action in ("deny", "deny", "audit", "audit")
    ]
    assert [one["spec"]["validationActions"] for one in manifests[1::2]] == [["Deny"], ["Audit"]]


def test_rules_with_one_action_share_a_policy() -> None:
    made, _ = export()

    messages = [one["message"][-8:] for one in made["spec"]["validations"]]
    assert messages == ["(TSC101)", "(TSC102)"]
    assert [one["name"] for one in made["spec"]["matchConditions"]] == [
        "kind",
        "no-controller",
        "changed",
    ]


def test_rules_that_are_off_are_left_out() -> None:
    assert export(actions=OFF) == ()


def test_recommend_mode_warns_in_place_of_a_denial() -> None:
    manifests = export(actions={**OFF, "TSC101": Action.DENY}, mode=Mode.RECOMMEND)

    assert manifests[1]["spec"]["validationActions"] == ["Warn"]


def test_an_exemption_holds_unless_it_is_forbidden() -> None:
    made, _ = export(not_exemptible=frozenset({"TSC102"}))

    first, second = (one["expression"] for one in made["spec"]["validations"])
    assert first.startswith('object.metadata.?annotations[?"evenspread.io/exempt"]')
    assert second.startswith("[object.?spec.?template.?metadata.?labels.orValue({})]")


def test_bare_lists_are_left_out() -> None:
    places = {
        BARE: TemplatePatterns((("spec", LIST_NAME), ("spec", "template"))),
        GroupKind("example.io", "List"): ("spec", LIST_NAME),
    }

    made, _ = export(places)

    assert made["metadata"]["name"] == "evenspread-advice-bare-example-io-warn"
    assert len(made["spec"]["validations"]) == 2


def test_all_built_in_kinds_are_exported() -> None:
    assert len(export(BUILT_IN_TEMPLATES)) == 2 * len(BUILT_IN_TEMPLATES)


def test_pods_are_compared_without_their_nodes() -> None:
    made, _ = export({kinds.POD: ()})

    pod = "[object.?metadata.?labels, object.?spec.?topologySpreadConstraints]"
    condition = made["spec"]["matchConditions"][-1]["expression"]
    assert condition == f'request.operation == "CREATE" || {pod} != {pod.replace("obj", "oldObj")}'


def test_a_profile_may_complete_selectors() -> None:
    made, _ = export(profiles=(profile(complete_selectors=True),))

    assert "items.all(c, !(has(c.labelSelector)" in made["spec"]["validations"][1]["expression"]


def test_a_gate_switches_the_rules_off() -> None:
    found = export_advice(policy(gates=gates(EvenspreadAdvice=False)))

    assert found.manifests == ()
    assert str(found.omissions[0]).endswith("because EvenspreadAdvice is off")


@pytest.mark.parametrize(
    ("actions", "words"),
    [({**OFF, "TSC103": Action.WARN}, "TSC103 are"), (DEFAULT_ACTIONS, "TSC103, TSC104")],
)
def test_other_rules_are_named(actions: Any, words: str) -> None:
    omissions = export_advice(policy(actions=actions)).omissions

    assert [one.subject for one in omissions] == ["rules", "exceptions from rules", "TSC101"]
    assert omissions[0].reason.startswith(words)


def test_the_rules_of_profiles_are_named() -> None:
    described = profile(actions={"TSC102": Action.DENY}, exemptible={"TSC101": False})

    found = export_advice(policy(described)).omissions[1]

    assert found.subject == "profile 'cluster'"
    assert found.reason.startswith("its settings of TSC101, TSC102 are not exported")


def test_kinds_of_similar_groups_have_policies_of_their_own() -> None:
    groups = ("a-b.io", "a.b.io")
    manifests = export({GroupKind(group, "Fleet"): ("spec", "pod") for group in groups})

    assert len({one["metadata"]["name"] for one in manifests}) == len(groups)
