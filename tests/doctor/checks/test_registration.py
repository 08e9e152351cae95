"""Each check of webhook configurations reports what deviates, and what to do."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.deploy.manifests import Json
from tests.doctor.installations import (
    BASE,
    assert_reported,
    build_installation,
    configuration,
    deployment,
    find_deviations,
    hooks,
    registered,
    serving_with,
)
from webhook.doctor import objects
from webhook.doctor.installation import Lookup
from webhook.policy.request import Hook

HEAD = "apiVersion: evenspread.io/v1alpha1\nkind: SpreadConfiguration\n"
WITH_PODS = BASE["MutatingWebhookConfiguration/evenspread"]["webhooks"][0]["rules"]


def rule(**changes: Any) -> Json:
    every = {"apiGroups": ["*"], "resources": ["*"], "operations": ["*"], "scope": "Namespaced"}
    return {"rules": [{**every, **changes}]}


_FAILING = registered(Hook.MUTATE, {"failurePolicy": "Fail"}).or_none
assert _FAILING is not None
BESIDE_ANOTHER = Lookup(
    replace(_FAILING, webhooks=(replace(_FAILING.webhooks[0], name="other.io"), *_FAILING.webhooks))
)

CASES: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "nothing is registered": (
        {"configurations": {hook: Lookup() for hook in Hook}},
        {"registered": "apply the manifests again"},
    ),
    "a configuration without our webhook": (
        {"configurations": {**hooks(), Hook.VALIDATE: Lookup(objects.WebhookConfiguration())}},
        {"registered": "has no webhook validate.evenspread.io"},
    ),
    "a webhook that is called by URL": (
        {"configurations": hooks({"clientConfig": {"service": None, "url": "https://a/"}})},
        {"called-service": "called by URL"},
    ),
    "a webhook that calls another Service": (
        {"configurations": hooks({"clientConfig": {"service": {"name": "web"}}})},
        {"called-service": "evenspread/web/mutate, not evenspread/evenspread/mutate"},
    ),
    "a webhook that is not called on updates": (
        {"configurations": hooks(rule(operations=["CREATE"]), Hook.VALIDATE)},
        {"rules": "not called for UPDATE cronjobs"},
    ),
    "a webhook that is called for deletions": (
        {"configurations": hooks(rule(resources=["*"]), Hook.MUTATE)},
        {"rules": "every resource, DELETE, CONNECT"},
    ),
    "a webhook that is called for the whole cluster": (
        {"configurations": hooks(rule(scope="*"))},
        {"rules": "objects outside of namespaces"},
    ),
    "a custom kind that no rule names": (
        {
            "configuration": configuration(
                "apiVersion: evenspread.io/v1alpha1\nkind: SpreadConfiguration\n"
                "podTemplates: [{group: example.com, kind: Fleet, path: spec.template}]\n"
            )
        },
        {"rules": "not called for Fleet.example.com"},
    ),
    "another matchPolicy": (
        {"configurations": hooks({"matchPolicy": "Exact"}, Hook.VALIDATE)},
        {"fixed-members": "matchPolicy: Exact, not Equivalent"},
    ),
    "no reinvocation": (
        {"configurations": hooks({"reinvocationPolicy": "Never"})},
        {"fixed-members": "mutate.evenspread.io has reinvocationPolicy: Never"},
    ),
    "another version of reviews": (
        {"configurations": hooks({"admissionReviewVersions": ["v1beta1"]})},
        {"fixed-members": "no v1 in admissionReviewVersions"},
    ),
    "a long timeout": (
        {"configurations": hooks({"timeoutSeconds": 11}, Hook.MUTATE)},
        {"timeouts": '"path":"/webhooks/0/timeoutSeconds","value":3'},
    ),
    "Fail before one replica": (
        {
            "configurations": hooks({"failurePolicy": "Fail"}, Hook.VALIDATE),
            "deployment": deployment({"spec": {"replicas": 1}}),
        },
        {"failure-policy": "scale deployment evenspread --replicas=2"},
    ),
    "a mutating webhook of Fail": (
        {"configurations": hooks({"failurePolicy": "Fail"}, Hook.MUTATE)},
        {"failure-policy": '"path":"/webhooks/0/failurePolicy","value":"Ignore"'},
    ),
    "a mutating webhook of Fail beside another one": (
        {"configurations": {**hooks(), Hook.MUTATE: BESIDE_ANOTHER}},
        {
            "failure-policy": '[{"op":"test","path":"/webhooks/1/name",'
            '"value":"mutate.evenspread.io"},{"op":"replace","path":"/webhooks/1/failurePolicy"'
        },
    ),
    "no namespace left out": (
        {"configurations": hooks({"namespaceSelector": None})},
        {"exemptions": "called for namespace kube-system"},
    ),
    "a rule that denies, without its pods": (
        {"configuration": configuration(f"{HEAD}rules: {{TSC101: deny}}\n")},
        {"validated-pods": "deny for TSC101, and validate.evenspread.io is not called for CREATE"},
    ),
    "a flag that requires pods, without them": (
        {"deployment": deployment(serving_with("--validate-pods=true"))},
        {"validated-pods": "deploy/kustomize/validate-pods"},
    ),
    "pods that no rule denies": (
        {"configurations": hooks({"rules": WITH_PODS}, Hook.VALIDATE)},
        {"validated-pods": "helm upgrade, or kubectl apply -k, with validatePods: auto or false"},
    ),
    "a condition that costs time": (
        {"configurations": hooks({"matchConditions": [{"name": "a", "expression": "true"}]})},
        {"match-conditions": "which took 0.5 ms per pod"},
    ),
    "a condition of the short form": (
        {
            "configurations": hooks(
                {
                    "matchConditions": [
                        {"name": "a", "expression": "!('b' in object.metadata.annotations)"}
                    ]
                }
            )
        },
        {"match-conditions": "!has(object.metadata.annotations)"},
    ),
}

NOTES = {
    "a condition that costs time",
    "a mutating webhook of Fail",
    "a mutating webhook of Fail beside another one",
    "pods that no rule denies",
}


@pytest.mark.parametrize("case", CASES)
def test_one_check_reports_the_deviation_and_the_fix(case: str) -> None:
    changes, expected = CASES[case]

    assert_reported(changes, expected, is_note=case in NOTES)


@pytest.mark.parametrize("text", [None, "kind: Odd\n"])
def test_an_unusable_configuration_is_left_to_the_check_of_it(text: str | None) -> None:
    lookup = Lookup[objects.ConfigMap]() if text is None else configuration(text)

    assert find_deviations(build_installation(configuration=lookup)).keys() == {"configuration"}
