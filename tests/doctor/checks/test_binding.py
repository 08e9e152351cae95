"""The webhook for Bindings is checked with the configuration that needs it."""

from typing import Any

import msgspec
import pytest

from tests.deploy.manifests import Json
from tests.doctor.installations import (
    BINDING,
    METRICS,
    assert_reported,
    build_installation,
    configuration,
    find_deviations,
    hooks,
    merge,
    registered,
    replica,
)
from webhook.cluster.spreadpolicies import SpreadPolicyObject
from webhook.config.policyobjects import check_spread_policy
from webhook.doctor.installation import Lookup
from webhook.doctor.objects import Webhook, WebhookConfiguration
from webhook.policy.request import Hook

HEAD = "apiVersion: evenspread.io/v1alpha1\nkind: SpreadConfiguration\n"
KEEPING_TEXT = f"{HEAD}profiles: [{{name: a, scaleDown: KeepSpread, defaultConstraints: []}}]\n"
KEEPING = configuration(KEEPING_TEXT)


def binding(change: Json | None = None) -> dict[Hook, Lookup[WebhookConfiguration]]:
    """Both configurations, the mutating one with the webhook for Bindings."""
    usual = registered(Hook.MUTATE).or_none
    assert usual is not None
    trusting = {"clientConfig": {"caBundle": usual.webhooks[0].client_config.ca_bundle}}
    webhook = msgspec.convert(merge(merge(BINDING, trusting), change or {}), Webhook)
    changed = msgspec.structs.replace(usual, webhooks=(*usual.webhooks, webhook))
    return {**hooks(), Hook.MUTATE: Lookup(changed)}


CASES: dict[str, tuple[dict[str, Any], str]] = {
    "it is missing": ({"configuration": KEEPING}, "pods are labelled, and get no rank"),
    "it has another failure policy": (
        {"configuration": KEEPING, "configurations": binding({"failurePolicy": "Fail"})},
        "no pod can be bound while no replica answers",
    ),
    "it may take long": (
        {"configuration": KEEPING, "configurations": binding({"timeoutSeconds": 30})},
        "every pod waits that long for its node",
    ),
    "it is called for kube-system": (
        {"configuration": KEEPING, "configurations": binding({"namespaceSelector": None})},
        "is called for namespace kube-system",
    ),
}


@pytest.mark.parametrize(("changes", "words"), CASES.values(), ids=CASES)
def test_a_fault_is_reported(changes: dict[str, Any], words: str) -> None:
    assert_reported(changes, {"binding": words}, is_note=False)


def test_it_is_healthy_if_a_profile_needs_it() -> None:
    changes = {"configuration": KEEPING, "configurations": binding()}

    assert find_deviations(build_installation(**changes)) == {}


RECOMMENDED = {
    "the profile": KEEPING_TEXT.replace("name: a", "name: a, mode: recommend"),
    "the file": f"{KEEPING_TEXT}mode: recommend\n",
}


@pytest.mark.parametrize("text", RECOMMENDED.values(), ids=RECOMMENDED)
def test_it_may_be_missing_while_labels_are_only_recommended(text: str) -> None:
    changes: dict[str, Any] = {"configuration": configuration(text)}

    assert "binding" not in find_deviations(build_installation(**changes))
    assert "binding" not in find_deviations(build_installation(**changes, configurations=binding()))


POLICY = SpreadPolicyObject(
    found=check_spread_policy(
        {
            "apiVersion": "evenspread.io/v1alpha1",
            "kind": "SpreadPolicy",
            "metadata": {"name": "keeping"},
            "spec": {"scaleDown": "KeepSpread", "defaultConstraints": []},
        }
    )
)


def test_it_is_healthy_if_a_spread_policy_needs_it() -> None:
    changes = {"policies": Lookup((POLICY,)), "configurations": binding()}

    assert find_deviations(build_installation(**changes)).keys() <= {"policies"}


def test_it_is_missing_for_a_spread_policy() -> None:
    found = find_deviations(build_installation(policies=Lookup((POLICY,))))

    (finding,) = found["binding"].findings
    assert "pods are labelled, and get no rank" in finding.message
    assert "policies.keepSpread: true" in finding.advice


def test_a_webhook_that_no_profile_needs_is_noted() -> None:
    assert_reported(
        {"configurations": binding()},
        {"binding": "no profile has scaleDown: KeepSpread"},
        is_note=True,
    )


def test_a_mutating_configuration_that_does_not_exist_is_another_check() -> None:
    changes = {"configurations": {**hooks(), Hook.MUTATE: Lookup[WebhookConfiguration]()}}

    assert "binding" not in find_deviations(build_installation(**changes))


def test_an_invalid_configuration_says_nothing_about_it() -> None:
    broken = {"configuration": configuration(f"{HEAD}profiles: 1\n")}

    found = find_deviations(build_installation(**broken, configurations=binding()))

    assert "binding" not in found


def test_contested_costs_are_noted() -> None:
    counted = 'evenspread_rank_repairs_total{{reason="{}"}} 2.0\n'
    page = METRICS + counted.format("contested") + counted.format("gap")
    changes = {"replicas": (replica(metrics=page), replica(metrics=page))}

    assert_reported(changes, {"binding": "deletion costs of 4 pods"}, is_note=True)
