"""What a webhook configuration has that no installation has."""

from typing import Any

import msgspec
import pytest

from tests.deploy.manifests import Json
from tests.doctor.installations import BASE, BINDING, merge
from webhook.doctor.drift import find_drift, list_excess
from webhook.doctor.installation import CONFIGURATION_KINDS
from webhook.doctor.objects import WebhookConfiguration
from webhook.policy.request import Hook

CUSTOM = {("example.com", "fleets"), ("example.org", "")}


def drift(change: Json, hook: Hook = Hook.MUTATE, **more: Any) -> list[str]:
    made = BASE[f"{CONFIGURATION_KINDS[hook]}/evenspread"]
    changed: Json = {"webhooks": [merge(made["webhooks"][0], change)], **more}
    configuration = msgspec.convert(merge(made, changed), WebhookConfiguration)
    place = {"name": "evenspread", "namespace": "evenspread"}
    return list(find_drift(hook, configuration, **place, custom=CUSTOM))


@pytest.mark.parametrize("hook", Hook)
def test_the_manifests_do_not_drift(hook: Hook) -> None:
    assert drift({}, hook) == []


def test_the_webhook_for_bindings_belongs_to_the_mutating_configuration() -> None:
    assert drift_beside(Hook.MUTATE, {}) == []
    assert drift_beside(Hook.VALIDATE, {}) == [
        "there is a webhook bind.evenspread.io, which no manifest of evenspread has"
    ]


def test_the_webhook_for_bindings_drifts_too() -> None:
    change = {"failurePolicy": "Fail", "namespaceSelector": None}

    policy, *exempt = drift_beside(Hook.MUTATE, change)
    assert "bind.evenspread.io has failurePolicy: Fail, not Ignore" in policy
    assert exempt == [
        "bind.evenspread.io is called for namespace kube-system",
        "bind.evenspread.io is called for namespace evenspread",
    ]


def drift_beside(hook: Hook, change: Json) -> list[str]:
    made = BASE[f"{CONFIGURATION_KINDS[hook]}/evenspread"]
    return drift({}, hook, webhooks=[*made["webhooks"], merge(BINDING, change)])


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
        rule(apiGroups=["example.com"], resources=["fleets"], operations=["CREATE", "UPDATE"]),
        rule(apiGroups=["example.org"], resources=["unlocated"]),
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
    "another kind of a shipped custom group": (
        rule(apiGroups=["argoproj.io"], resources=["applications", "rollouts"]),
        "is called for applications of the API group argoproj.io",
    ),
    "a kind of another shipped group": (
        rule(apiGroups=["apps.kruise.io"], resources=["resourcedistributions"]),
        "is called for resourcedistributions of the API group apps.kruise.io",
    ),
    "another kind of a configured group": (
        rule(apiGroups=["example.com"], resources=["fleets", "secrets"]),
        "is called for secrets of the API group example.com",
    ),
    "a subresource of a group with a kind that the API server does not have": (
        rule(apiGroups=["example.org"], resources=["unlocated/*"]),
        "is called for unlocated/* of the API group example.org",
    ),
    "updates of pods": (
        rule(operations=["CREATE", "UPDATE"]),
        "is called for UPDATE of pods",
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


def named(operator: str, *values: str) -> Json:
    return {"key": "kubernetes.io/metadata.name", "operator": operator, "values": values}


SYSTEM, OWN = (f"{MUTATE} is called for namespace {name}" for name in ("kube-system", "evenspread"))
EXEMPT = named("NotIn", "kube-system", "evenspread")
OTHER = {"key": "control-plane", "operator": "DoesNotExist"}

SELECTORS: dict[str, tuple[Json, list[str]]] = {
    "a label that kube-system may get": ({"matchLabels": {"team": "x"}}, [SYSTEM, OWN]),
    "a label that kube-system may have": (
        {"matchExpressions": [{"key": "pod-security.kubernetes.io/enforce", "operator": "Exists"}]},
        [SYSTEM, OWN],
    ),
    "no exemption of kube-system": ({"matchExpressions": [named("NotIn", "evenspread")]}, [SYSTEM]),
    "both namespaces by name": ({"matchExpressions": [EXEMPT]}, []),
    "both namespaces by name, and another label": ({"matchExpressions": [OTHER, EXEMPT]}, []),
    "other namespaces by name": ({"matchExpressions": [named("In", "shop")]}, []),
    "another namespace by its pair": ({"matchLabels": {"kubernetes.io/metadata.name": "a"}}, []),
}


@pytest.mark.parametrize(("selector", "expected"), SELECTORS.values(), ids=SELECTORS)
def test_only_names_exempt_a_namespace(selector: Json, expected: list[str]) -> None:
    found = drift({"namespaceSelector": {"matchExpressions": [], **selector}})

    assert found == expected


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
    assert list_excess(configuration.webhooks[0], {("example.com", "")}) == []
    assert list_excess(configuration.webhooks[0], set()) == ["things of the API group example.com"]


@pytest.mark.parametrize(
    ("group", "resource"), [("apps", "controllerrevisions"), ("*", "fleets"), ("a.io", "b/*")]
)
def test_without_a_configuration_other_resources_are_excess(group: str, resource: str) -> None:
    made = BASE[f"{CONFIGURATION_KINDS[Hook.MUTATE]}/evenspread"]["webhooks"][0]
    changed = merge(made, rule(apiGroups=[group], resources=[resource]))
    configuration = msgspec.convert({"webhooks": [changed]}, WebhookConfiguration)

    assert list_excess(configuration.webhooks[0], None) == [f"{resource} of the API group {group}"]
