"""Each check of rights, configuration and other policies reports what deviates, and what to do."""

from typing import Any

import pytest

from tests.doctor.installations import (
    OWN,
    assert_reported,
    configuration,
    deployment,
    hooks,
    serving_with,
)
from webhook.doctor import objects
from webhook.doctor.installation import DryRunPod, Lookup
from webhook.doctor.rights import list_needed_rights
from webhook.policy.model import Constraint, ObjectMeta
from webhook.policy.request import Hook

KEYS = "MatchLabelKeysInPodTopologySpread"
MERGE = f"{KEYS}SelectorMerge"
RACK = Constraint(topology_key="rack")


CASES: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "rights that are not granted": (
        {
            "rights": {
                right: Lookup(right.resource != "secrets")
                for right in list_needed_rights("evenspread", "self")
            }
        },
        {"rights": "may not get on secrets evenspread-ca, patch on secrets evenspread-ca"},
    ),
    "no ConfigMap": ({"configuration": Lookup()}, {"configuration": "does not exist"}),
    "an entry that is missing": (
        {"configuration": Lookup(objects.ConfigMap(data={"other.yaml": ""}))},
        {"configuration": "'config.yaml' is not in the ConfigMap, which has other.yaml"},
    ),
    "a configuration with errors": (
        {"configuration": configuration("apiVersion: evenspread.io/v1alpha1\nkind: Odd\n")},
        {"configuration": "evenspread config check"},
    ),
    "an old Kubernetes": ({"kubernetes": "v1.27.4"}, {"kubernetes": "upgrade to 1.28 or later"}),
    "no version that can be read": ({"kubernetes": "odd"}, {"kubernetes": "older than 1.28"}),
    "a new Kubernetes": (
        {"kubernetes": "v1.99.0"},
        {"kubernetes": "newer than the supported versions: the rules of 1.37"},
    ),
    "a gate that is off in the API server alone": (
        {"features": Lookup({"MatchLabelKeysInPodTopologySpread": False})},
        {"gates": "featureGates: {MatchLabelKeysInPodTopologySpread: false}"},
    ),
    "a gate that is off here alone": (
        {
            "deployment": deployment(serving_with(f"--feature-gates={KEYS}=false,{MERGE}=false")),
            "features": Lookup({"MatchLabelKeysInPodTopologySpread": True}),
        },
        {"gates": "its fields are removed here"},
    ),
    "a policy of another engine": (
        {"conflicts": Lookup(("Assign spread",))},
        {"other-writers": "Assign spread writes topologySpreadConstraints too"},
    ),
    "constraints of another client": (
        {
            "dry_run_pods": Lookup((DryRunPod(None, (RACK,), ()),)),
            "mutating": Lookup(
                (
                    hooks()[Hook.MUTATE].value,
                    objects.WebhookConfiguration(
                        metadata=ObjectMeta(name="meddler"),
                        webhooks=(
                            objects.Webhook(
                                name="a.b.c",
                                client_config=objects.ClientConfig(),
                                rules=(
                                    objects.WebhookRule(
                                        resources=("pods",), operations=("CREATE",)
                                    ),
                                ),
                            ),
                        ),
                    ),
                    objects.WebhookConfiguration(metadata=ObjectMeta(name="idle")),
                )
            ),
        },
        {"other-writers": "other webhooks that are called for them: meddler\n"},
    ),
    "a constraint that is gone": (
        {"dry_run_pods": Lookup((DryRunPod(None, (), (OWN,)),))},
        {"other-writers": "none is readable"},
    ),
}

NOTES = {"a gate that is off here alone", "a new Kubernetes"}


@pytest.mark.parametrize("case", CASES)
def test_one_check_reports_the_deviation_and_the_fix(case: str) -> None:
    changes, expected = CASES[case]

    assert_reported(changes, expected, is_note=case in NOTES)
