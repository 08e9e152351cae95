"""Objects of an installation; webhook configurations say what their webhooks are called for."""

import pytest

from webhook.doctor.objects import (
    ClientConfig,
    Secret,
    Webhook,
    WebhookConfiguration,
    WebhookRule,
    decode_base64,
)
from webhook.policy.model import LabelSelector

APPS = WebhookRule(api_groups=("apps",), resources=("deployments",), operations=("CREATE",))
EVERY = WebhookRule(api_groups=("*",), resources=("*/*",), operations=("*",))


def webhook(*rules: WebhookRule, selector: LabelSelector | None = None) -> Webhook:
    return Webhook("a", ClientConfig(), rules=rules, namespace_selector=selector)


@pytest.mark.parametrize(
    ("rules", "covered"),
    [((), False), ((APPS,), True), ((EVERY,), True)],
    ids=["no rule", "a rule", "a wildcard"],
)
def test_a_webhook_covers_what_one_of_its_rules_includes(
    rules: tuple[WebhookRule, ...], covered: bool
) -> None:
    assert webhook(*rules).covers("apps", "deployments", "CREATE") is covered


@pytest.mark.parametrize(
    ("group", "resource", "operation"),
    [
        ("batch", "deployments", "CREATE"),
        ("apps", "replicasets", "CREATE"),
        ("apps", "deployments", "UPDATE"),
    ],
)
def test_group_resource_and_operation_must_match(group: str, resource: str, operation: str) -> None:
    assert not webhook(APPS).covers(group, resource, operation)


def test_a_webhook_without_a_selector_is_called_for_every_namespace() -> None:
    selector = LabelSelector(match_labels={"a": "b"})

    assert webhook().selects_namespace({})
    assert not webhook(selector=selector).selects_namespace({})
    assert webhook(selector=selector).selects_namespace({"a": "b"})


def test_webhooks_are_found_by_name() -> None:
    configuration = WebhookConfiguration(webhooks=(webhook(),))

    assert (configuration.index("a"), configuration.index("b")) == (0, None)
    assert configuration.webhook("a") == webhook()
    assert configuration.webhook("b") is None


def test_certificates_of_a_secret_are_decoded() -> None:
    secret = Secret({"tls.crt": "UEVN"})

    assert secret.certificates("tls.crt") == b"PEM"
    assert secret.certificates("ca.crt") == b""


def test_invalid_base64_is_empty() -> None:
    assert decode_base64("!") == b""
