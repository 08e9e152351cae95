from typing import Annotated

import pytest
from pydantic import TypeAdapter, ValidationError

from tests.config.configs import HEAD, check, errors_of, one_profile
from webhook.config.messages import RefusalError
from webhook.config.models import (
    collect_owners,
    parse_selector,
    refuse_two_configurations,
    version_validator,
)
from webhook.config.ownerselectors import SHIPPED_OWNERS, OwnerSelector
from webhook.policy.api.versions import parse_version
from webhook.policy.model import GroupKind, LabelSelector, LabelSelectorRequirement

ERRORS = {
    "an expression with values that it must not have": (
        one_profile(
            "match:\n    objectSelector:\n      matchExpressions:\n"
            "      - {key: a, operator: Exists, values: [b]}\n  defaultConstraints: []"
        ),
        (
            "8: profiles[0].match.objectSelector.matchExpressions[0].values: "
            "Forbidden: may not be specified when `operator` is 'Exists' "
            "or 'DoesNotExist'; write label "
            "keys and values in the syntax of labels; values with In and NotIn only"
        ),
    ),
}


@pytest.mark.parametrize(("text", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_a_selector_that_kube_apiserver_rejects_is_refused(text: str, message: str) -> None:
    assert errors_of(HEAD + text) == [f"etc/spread.yaml:{message}"]


def test_a_selector_becomes_that_of_the_policy() -> None:
    written = "{matchLabels: {tier: prod}, matchExpressions: [{key: a, operator: In, values: [b]}]}"
    (profile,) = check(
        one_profile(f"match: {{objectSelector: {written}}}\n  defaultConstraints: []")
    ).profiles

    expression = LabelSelectorRequirement(key="a", operator="In", values=("b",))
    assert profile.object_selector == LabelSelector({"tier": "prod"}, (expression,))


def test_an_absent_or_empty_selector_matches_all() -> None:
    text = "match: {namespaceSelector: {matchLabels: {}}}\n  defaultConstraints: []"
    (profile,) = check(one_profile(text)).profiles

    assert profile.namespace_selector is None
    assert parse_selector(None) is None


PATH_PROBLEM = "must be names of members with dots between them, as in `spec.template`"

KIND_ERRORS = {
    "a built-in kind": (
        "ownerSelectors: [{group: apps, kind: Deployment, selectorPath: spec.selector}]",
        "3: ownerSelectors[0].kind: Deployment.apps is built in: remove the entry",
    ),
    "a kind that occurs twice": (
        (
            "ownerSelectors:\n- {group: g, kind: K, selectorPath: a}\n"
            "- {group: g, kind: K, selectorPath: b}"
        ),
        "5: ownerSelectors[1].kind: K.g occurs twice: remove one of the two",
    ),
    "a path with an empty member": (
        "ownerSelectors: [{group: g, kind: K, selectorPath: spec..selector}]",
        f"3: ownerSelectors[0].selectorPath: {PATH_PROBLEM}",
    ),
    "an empty selector path": (
        "ownerSelectors: [{group: g, kind: K, selectorPath: ''}]",
        f"3: ownerSelectors[0].selectorPath: {PATH_PROBLEM}",
    ),
}


@pytest.mark.parametrize(("text", "message"), KIND_ERRORS.values(), ids=KIND_ERRORS.keys())
def test_a_kind_that_cannot_be_configured_is_refused(text: str, message: str) -> None:
    assert errors_of(HEAD + text) == [f"etc/spread.yaml:{message}"]


def test_a_configured_kind_stands_beside_the_shipped_ones() -> None:
    configuration = check("ownerSelectors: [{group: g, kind: K, selectorPath: spec.selector}]")

    owner = OwnerSelector(GroupKind("g", "K"), ("spec", "selector"))
    assert configuration.owner_selectors == (*SHIPPED_OWNERS, owner)


def test_a_configured_kind_replaces_a_shipped_one() -> None:
    shipped = SHIPPED_OWNERS[0].kind
    member = f"group: {shipped.group}, kind: {shipped.kind}"

    configuration = check(f"ownerSelectors: [{{{member}, selectorPath: c}}]")

    assert configuration.owner_selectors[0] == OwnerSelector(shipped, ("c",))
    assert len(configuration.owner_selectors) == len(SHIPPED_OWNERS)


def test_without_configuration_the_shipped_controllers_are_known() -> None:
    assert collect_owners(()) == SHIPPED_OWNERS


VERSIONS = {
    "a number": ("1.30", 'must be a text, not 1.3: write it in quotes, as "1.'),
    "no version": ('"new"', "is no Kubernetes version"),
    "a future version": ('"1.99"', '1.99 is newer than the supported versions: write "1.'),
}


@pytest.mark.parametrize(("written", "problem"), VERSIONS.values(), ids=VERSIONS.keys())
def test_a_version_that_is_not_supported_is_refused(written: str, problem: str) -> None:
    adapter = TypeAdapter(Annotated[str, version_validator(parse_version)])

    assert adapter.validate_json('"1.30"') == "1.30"
    with pytest.raises(ValidationError) as caught:
        adapter.validate_json(written)

    (error,) = caught.value.errors()
    (cause,) = error["ctx"]["error"].problems
    assert problem in cause[1]


def test_a_file_has_one_configuration() -> None:
    refuse_two_configurations("a.yaml", None)
    refuse_two_configurations(None, "b.yaml")

    with pytest.raises(RefusalError) as raised:
        refuse_two_configurations("a.yaml", "b.yaml")

    problem = "cannot be used with config: remove one of the two"
    assert raised.value.problems == ((("schedulerConfig",), problem),)
