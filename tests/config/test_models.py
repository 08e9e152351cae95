import pytest

from tests.config.configs import HEAD, check, errors_of, one_profile
from webhook.config.models import (
    SHIPPED_OWNERS,
    OwnerSelector,
    collect_owners,
    collect_templates,
    parse_selector,
)
from webhook.policy.kinds import BUILT_IN_TEMPLATES, SHIPPED_TEMPLATES
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
        "podTemplates: [{group: apps, kind: Deployment, path: spec.template}]",
        "3: podTemplates[0].kind: Deployment.apps is built in: remove the entry",
    ),
    "a kind that occurs twice": (
        (
            "ownerSelectors:\n- {group: g, kind: K, selectorPath: a}\n"
            "- {group: g, kind: K, selectorPath: b}"
        ),
        "5: ownerSelectors[1].kind: K.g occurs twice: remove one of the two",
    ),
    "a path with an empty member": (
        "podTemplates: [{group: g, kind: K, path: spec..template}]",
        f"3: podTemplates[0].path: {PATH_PROBLEM}",
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
    text = (
        "podTemplates: [{group: g, kind: K, path: spec.pod}]\n"
        "ownerSelectors: [{group: g, kind: K, selectorPath: spec.selector}]\n"
    )

    configuration = check(text)

    kind = GroupKind("g", "K")
    assert configuration.pod_templates == {**collect_templates(()), kind: ("spec", "pod")}
    owner = OwnerSelector(kind, ("spec", "selector"))
    assert configuration.owner_selectors == (*SHIPPED_OWNERS, owner)


def test_a_configured_kind_replaces_a_shipped_one() -> None:
    shipped = SHIPPED_OWNERS[0].kind
    member = f"group: {shipped.group}, kind: {shipped.kind}"

    configuration = check(
        f"podTemplates: [{{{member}, path: a.b}}]\nownerSelectors: [{{{member}, selectorPath: c}}]"
    )

    assert configuration.pod_templates[shipped] == ("a", "b")
    assert configuration.owner_selectors[0] == OwnerSelector(shipped, ("c",))
    assert len(configuration.owner_selectors) == len(SHIPPED_OWNERS)


def test_without_configuration_the_built_in_and_the_shipped_kinds_are_known() -> None:
    assert collect_templates(()) == {**BUILT_IN_TEMPLATES, **SHIPPED_TEMPLATES}
    assert collect_owners(()) == SHIPPED_OWNERS
