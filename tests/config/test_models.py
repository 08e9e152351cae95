import pytest

from tests.config.configs import HEAD, check, errors_of, one_profile
from webhook.config.models import parse_selector
from webhook.policy.model import LabelSelector, LabelSelectorRequirement

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
