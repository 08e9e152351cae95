import pytest
import yaml

from tests.build import request
from tests.docs.api_examples import API_EXAMPLES, STRICT_EXAMPLES
from webhook.audit.strict import find_strict_errors
from webhook.manifests import Document, parse
from webhook.policy.api.gates import resolve
from webhook.policy.api.predict import list_warnings
from webhook.policy.api.rules import API_RULES
from webhook.policy.api.versions import NEWEST_VERSION
from webhook.policy.catalogue import API_WARNINGS, STRICT_RULES, TOO_MANY_CONSTRAINTS
from webhook.policy.defaulting.profiles import FieldDefaults, Policy
from webhook.policy.facts import NoFacts
from webhook.policy.model import Constraint
from webhook.policy.request import Hook
from webhook.policy.verdict import judge

POLICY = Policy(gates=resolve(NEWEST_VERSION, {}), field_defaults=FieldDefaults.NONE)

DENYING = [rule for rule in API_EXAMPLES if rule < "TSC020"]


def constraints(manifest: str) -> tuple[Constraint, ...]:
    template = request(yaml.safe_load(manifest)).template
    assert template is not None
    return template.constraints


def test_every_rule_has_an_example() -> None:
    assert list(API_EXAMPLES) == [
        *API_RULES, TOO_MANY_CONSTRAINTS, *API_WARNINGS
    ]  # fmt: skip


@pytest.mark.parametrize("rule", DENYING)
def test_what_violates_a_rule_is_denied_by_it_alone(rule: str) -> None:
    creation = request(yaml.safe_load(API_EXAMPLES[rule].violates))

    verdict = judge(creation, Hook.VALIDATE, POLICY, NoFacts())

    assert {finding.rule for finding in verdict.findings} == {rule}
    assert not verdict.allowed


@pytest.mark.parametrize("rule", [rule for rule in API_EXAMPLES if rule not in DENYING])
def test_what_violates_a_warning_is_allowed_and_warned_of(rule: str) -> None:
    found = constraints(API_EXAMPLES[rule].violates)

    assert judge(
        request(yaml.safe_load(API_EXAMPLES[rule].violates)), Hook.VALIDATE, POLICY, NoFacts()
    ).allowed
    assert {caution.rule for caution in list_warnings(found, "spec")} == {rule}


@pytest.mark.parametrize("rule", API_EXAMPLES)
def test_what_passes_is_allowed_without_a_warning(rule: str) -> None:
    creation = request(yaml.safe_load(API_EXAMPLES[rule].passes))

    assert judge(creation, Hook.VALIDATE, POLICY, NoFacts()).allowed
    assert list_warnings(constraints(API_EXAMPLES[rule].passes), "spec") == []


ZONE = "topology.kubernetes.io/zone"

# rule -> member, its value in the last constraint that violates, and in the one that passes
DIFFERENCES = {
    "TSC001": ("maxSkew", 0, 1),
    "TSC002": ("topologyKey", None, ZONE),
    "TSC003": ("whenUnsatisfiable", "Maybe", "ScheduleAnyway"),
    "TSC004": ("topologyKey", ZONE, "kubernetes.io/hostname"),
    "TSC005": ("minDomains", 0, 3),
    "TSC006": ("whenUnsatisfiable", "ScheduleAnyway", "DoNotSchedule"),
    "TSC007": ("nodeTaintsPolicy", "Sometimes", "Honor"),
    "TSC008": ("labelSelector", None, {"matchLabels": {"app": "web"}}),
    "TSC009": ("labelSelector", {"matchLabels": {"app": "-web-"}}, {"matchLabels": {"app": "web"}}),
    "TSC010": ("topologyKey", "rack-1000", "rack-1"),
    "TSC020": ("topologyKey", "failure-domain.beta.kubernetes.io/zone", ZONE),
    "TSC021": ("labelSelector", None, {"matchLabels": {"app": "web"}}),
}


@pytest.mark.parametrize("rule", API_EXAMPLES)
def test_an_example_differs_in_one_member(rule: str) -> None:
    violating, passing = (
        yaml.safe_load(manifest)["spec"]["topologySpreadConstraints"][-1]
        for manifest in (API_EXAMPLES[rule].violates, API_EXAMPLES[rule].passes)
    )
    member, *values = DIFFERENCES[rule]

    assert [violating.pop(member, None), passing.pop(member, None)] == values
    assert violating == passing


def test_the_example_of_min_domains_sets_it() -> None:
    example = API_EXAMPLES["TSC006"]

    assert "minDomains: 3" in example.violates
    assert "minDomains: 3" in example.passes
    assert API_EXAMPLES["TSC004"].violates.count("maxSkew: 2") == 1


def strict_errors(manifest: str) -> list[str]:
    (document,) = parse(manifest, "pod.yaml")
    assert isinstance(document, Document)
    return [finding.rule for finding in find_strict_errors(document, ())]


def test_every_rule_of_strict_decoding_has_an_example() -> None:
    assert tuple(STRICT_EXAMPLES) == STRICT_RULES


@pytest.mark.parametrize("rule", STRICT_EXAMPLES)
def test_an_example_of_strict_decoding(rule: str) -> None:
    example = STRICT_EXAMPLES[rule]

    assert strict_errors(example.violates) == [rule]
    assert strict_errors(example.passes) == []
    for manifest in (example.violates, example.passes):
        creation = request(yaml.safe_load(manifest))
        assert judge(creation, Hook.VALIDATE, POLICY, NoFacts()).allowed
