"""What a webhook configuration has that no installation has."""

from typing import Any

import msgspec
import pytest

from tests.deploy.manifests import Json
from tests.doctor.installations import BASE, merge
from webhook.doctor.drift import find_drift, list_excess
from webhook.doctor.installation import CONFIGURATION_KINDS
from webhook.doctor.objects import WebhookConfiguration
from webhook.policy.request import Hook


def drift(change: Json, hook: Hook = Hook.MUTATE, **more: Any) -> list[str]:
    made = BASE[f"{CONFIGURATION_KINDS[hook]}/evenspread"]
    changed: Json = {"webhooks": [merge(made["webhooks"][0], change)], **more}
    configuration = msgspec.convert(merge(made, changed), WebhookConfiguration)
    place = {"name": "evenspread", "namespace": "evenspread"}
    groups = {"argoproj.io", "apps.kruise.io"}
    return list(find_drift(hook, configuration, **place, groups=groups))


@pytest.mark.parametrize("hook", Hook)
def test_the_manifests_do_not_drift(hook: Hook) -> None:
    assert drift({}, hook) == []


def rule(**changes: Any) -> Json:
    usual = {"apiGroups": [""], "resources": ["pods"], "operations": ["CREATE"]}
    return {"rules": [{**usual, "scope": "Namespaced", **changes}]}


@pytest.mark.parametrize(
    "change",
    [
        {"failurePolicy": "Fail"},
        {"timeoutSeconds": 10},
        {"objectSelector": {"matchLabels": {"a": "b"}}},
        rule(),
        rule(apiGroups=["argoproj.io"], resources=["rollouts"]),
    ],
    ids=str,
)
def test_what_operators_choose_is_no_drift(change: Json) -> None:
    assert drift(change) == []


MUTATE = "mutate.evenspread.io"

CASES = {
    "another kind": (
        rule(apiGroups=["rbac.authorization.k8s.io"], resources=["rolebindings"]),
        "is called for rolebindings of the API group rbac.authorization.k8s.io",
    ),
    "another kind of a known group": (
        rule(resources=["secrets"]),
        "is called for secrets of the API group core",
    ),
    "a known name of every group": (
        rule(apiGroups=["*"]),
        "is called for pods of the API group *",
    ),
    "a subresource": (
        rule(resources=["pods/exec"]),
        "is called for pods/exec of the API group core",
    ),
    "everything": (rule(resources=["*"]), "is called for every resource"),
    "deletions": (rule(operations=["DELETE"]), "is called for DELETE, CONNECT"),
    "objects of the cluster": (
        rule(scope="*"),
        "is called for objects outside of namespaces",
    ),
    "side effects": ({"sideEffects": "Some"}, "has sideEffects: Some, not None"),
    "another Service": (
        {"clientConfig": {"service": {"name": "web"}}},
        "calls evenspread/web/mutate, not evenspread/evenspread/mutate",
    ),
    "a URL": (
        {"clientConfig": {"service": None, "url": "https://a/"}},
        "calls a URL, not evenspread/evenspread/mutate",
    ),
}


@pytest.mark.parametrize(("change", "message"), CASES.values(), ids=CASES)
def test_each_deviation_is_named(change: Json, message: str) -> None:
    assert drift(change) == [f"{MUTATE} {message}"]


def test_lost_exemptions_are_named() -> None:
    assert drift({"namespaceSelector": None}) == [
        f"{MUTATE} is called for namespace kube-system",
        f"{MUTATE} is called for namespace evenspread",
    ]


def test_another_webhook_is_named() -> None:
    other = {"name": "other.io", "clientConfig": {"url": "https://a/"}}

    assert drift({}, webhooks=[other]) == [
        "there is a webhook other.io, which no manifest of evenspread has",
        f"there is no webhook {MUTATE}",
    ]


def test_a_validating_webhook_is_not_called_again() -> None:
    assert drift({"reinvocationPolicy": "Never"}, Hook.VALIDATE) == []


def test_without_a_configuration_any_custom_group_may_be_reviewed() -> None:
    made = BASE[f"{CONFIGURATION_KINDS[Hook.MUTATE]}/evenspread"]["webhooks"][0]
    changed = merge(made, rule(apiGroups=["example.com"], resources=["things"]))
    configuration = msgspec.convert({"webhooks": [changed]}, WebhookConfiguration)

    assert list_excess(configuration.webhooks[0], None) == []
    assert list_excess(configuration.webhooks[0], {"example.com"}) == []
    assert list_excess(configuration.webhooks[0], set()) == ["things of the API group example.com"]
