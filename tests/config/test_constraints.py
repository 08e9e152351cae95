import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.config.configs import (
    HARD,
    HEAD,
    SOFT,
    check,
    check_scheduler,
    errors_of,
    one_default,
    one_profile,
)
from webhook.errors import CombinedConfigError
from webhook.policy.api import rules
from webhook.policy.api.rules import ValidationOptions
from webhook.policy.model import LabelSelector

ERRORS = {
    "a value that kube-scheduler rejects": (
        one_default("topologyKey: zone, whenUnsatisfiable: ScheduleAnyway"),
        (
            "6: profiles[0].defaultConstraints[0].maxSkew: "
            "Invalid value: 0: not in valid range (0, inf); write at "
            "least 1: how many more pods a domain may have than the emptiest domain, for "
            "example `maxSkew: 1`"
        ),
    ),
    "a label selector": (
        one_default(f"{HARD}, labelSelector: {{}}"),
        (
            "6: profiles[0].defaultConstraints[0].labelSelector: "
            "Forbidden: constraint must not define a selector, as they "
            "deduced for each pod; leave it "
            "out: each pod gets that of its Services and of the controller that owns it"
        ),
    ),
    "minDomains with ScheduleAnyway, which kube-scheduler accepts": (
        one_default("maxSkew: 1, topologyKey: z, whenUnsatisfiable: ScheduleAnyway, minDomains: 2"),
        (
            "6: profiles[0].defaultConstraints[0].minDomains: "
            "Invalid value: 2: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not "
            "ScheduleAnyway, so no pod with it could be created; "
            "write `whenUnsatisfiable: DoNotSchedule`, or leave minDomains out"
        ),
    ),
    "minDomains with an unknown action, which has one error": (
        one_default("maxSkew: 1, topologyKey: z, whenUnsatisfiable: Never, minDomains: 2"),
        (
            "6: profiles[0].defaultConstraints[0].whenUnsatisfiable: "
            'Unsupported value: "Never": supported values: '
            '"DoNotSchedule", "ScheduleAnyway"; write '
            "`DoNotSchedule` to hold the pod back, `ScheduleAnyway` to prefer emptier domains"
        ),
    ),
    "DoNotSchedule that ignores node affinity": (
        one_default(f"{HARD}, nodeAffinityPolicy: Ignore"),
        (
            "6: profiles[0].defaultConstraints[0].nodeAffinityPolicy: "
            "cannot be Ignore in a hard default, which would hold back "
            "the pods of DaemonSets, each "
            "pinned to one node: write Honor, or whenUnsatisfiable: ScheduleAnyway"
        ),
    ),
    "an unknown inclusion policy": (
        one_default(f"{HARD}, nodeTaintsPolicy: honor"),
        (
            "6: profiles[0].defaultConstraints[0].nodeTaintsPolicy: "
            'Unsupported value: "honor": supported values: "Honor", '
            '"Ignore", so no pod with it could '
            "be created; write `Honor` to count only nodes on which the pod can run, "
            "`Ignore` to count all"
        ),
    ),
    "two constraints of one topologyKey and action": (
        one_profile(f"defaultConstraints:\n  - {SOFT}\n  - {SOFT}"),
        (
            "7: profiles[0].defaultConstraints[1]: "
            'Duplicate value: "{zone, ScheduleAnyway}"; remove one of '
            "the two entries, or join them "
            "into one with the smaller maxSkew"
        ),
    ),
}


@pytest.mark.parametrize(("text", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_a_constraint_that_cannot_be_injected_is_refused(text: str, message: str) -> None:
    assert errors_of(HEAD + text) == [f"etc/spread.yaml:{message}"]


DEFAULTS = st.fixed_dictionaries(
    {},
    optional={
        "maxSkew": st.integers(-1, 3),
        "topologyKey": st.sampled_from(["", "zone", "rack", "a b", "kubernetes.io/hostname"]),
        "whenUnsatisfiable": st.sampled_from(["DoNotSchedule", "ScheduleAnyway", "Never"]),
        "minDomains": st.integers(-1, 3),
        "nodeAffinityPolicy": st.sampled_from(["Honor", "Ignore", "honor"]),
        "nodeTaintsPolicy": st.sampled_from(["Honor", "Ignore", ""]),
        "matchLabelKeys": st.lists(st.sampled_from(["version", "a b", "x/y/z"]), max_size=2),
    },
)


@given(st.lists(DEFAULTS, max_size=3), st.booleans(), st.booleans())
def test_an_accepted_constraint_is_valid_in_a_pod_with_a_selector(
    written: list[dict[str, Any]], from_scheduler: bool, merged: bool
) -> None:
    args = {"defaultingType": "List", "defaultConstraints": written}
    profile = json.dumps({"profiles": [{"name": "a", "defaultConstraints": written}]})
    try:
        configuration = (
            check_scheduler(json.dumps(args)) if from_scheduler else check(profile[1:-1])
        )
    except CombinedConfigError:
        return

    selector = LabelSelector({"app": "web"})
    (loaded,) = configuration.profiles
    injected = tuple(replace(one, label_selector=selector) for one in loaded.constraints)
    assert rules.check(injected, "", ValidationOptions(merged=merged)) == []
    assert len(injected) == len(written)


def test_match_label_keys_are_injected_from_our_own_file_only() -> None:
    entry = f"{SOFT[:-1]}, matchLabelKeys: [version]}}"

    (ours,) = check(one_profile(f"defaultConstraints: [{entry}]")).profiles
    (theirs,) = check_scheduler(f"defaultingType: List\ndefaultConstraints: [{entry}]").profiles

    assert ours.constraints[0].match_label_keys == ("version",)
    assert theirs.constraints[0].match_label_keys == ()
