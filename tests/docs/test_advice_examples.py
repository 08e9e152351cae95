import pytest
import yaml

from tests.build import default, policy, profile
from tests.docs.advice_examples import ADVICE_EXAMPLES, NODES
from tests.policy.advice.subjects import documents, from_manifests, subject
from webhook.policy.advice.rules import POLICY_RULES, PolicyRule
from webhook.policy.api.gates import resolve
from webhook.policy.api.rules import ValidationOptions, check
from webhook.policy.api.versions import NEWEST_VERSION
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.kinds import BUILT_IN_TEMPLATES
from webhook.policy.paths import constraints_field

BY_ID = {row.id: row for row in POLICY_RULES}


def policy_of(rule: str) -> Policy:
    example = ADVICE_EXAMPLES[rule]
    profiles = (profile(constraints=(default(),)),) if example.profile else ()
    return policy(*profiles, gates=resolve(NEWEST_VERSION, example.gates))


def test_every_rule_has_examples() -> None:
    assert list(ADVICE_EXAMPLES) == list(BY_ID)


def test_the_shared_cluster_has_three_zones_of_two_nodes() -> None:
    zones = [node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in documents(NODES)]

    assert zones == ["zone-a", "zone-a", "zone-b", "zone-b", "zone-c", "zone-c"]


@pytest.mark.parametrize("row", POLICY_RULES, ids=lambda row: row.id)
def test_the_first_manifest_violates_the_rule(row: PolicyRule) -> None:
    judged, context = from_manifests(ADVICE_EXAMPLES[row.id].violates, config=policy_of(row.id))

    violations = list(row.check(judged, context))

    assert violations
    for violation in violations:
        yaml.safe_load(violation.instead)


@pytest.mark.parametrize("row", POLICY_RULES, ids=lambda row: row.id)
def test_the_second_manifest_does_not_violate_the_rule(row: PolicyRule) -> None:
    judged, context = from_manifests(ADVICE_EXAMPLES[row.id].passes, config=policy_of(row.id))

    assert list(row.check(judged, context)) == []


@pytest.mark.parametrize("rule", ADVICE_EXAMPLES)
@pytest.mark.parametrize("which", ["violates", "passes"])
def test_the_api_server_takes_every_example(rule: str, which: str) -> None:
    first = documents(getattr(ADVICE_EXAMPLES[rule], which))[0]
    path = BUILT_IN_TEMPLATES[subject(first).kind]

    assert (
        check(subject(first).constraints, constraints_field(path), ValidationOptions(merged=False))
        == []
    )
