from typing import Any

import pytest
from msgspec.structs import replace

from tests.build import (
    Json,
    custom,
    deployment,
    gates,
    pod,
    policy,
    profile,
    request,
    review_body,
    spread,
)
from tests.policy.mutated import BAD, applied, mutate
from tests.policy.situations import DEFAULTS, WEB
from webhook.policy.catalogue import DEFAULT_ACTIONS
from webhook.policy.defaulting.profiles import Merge, Mode, Policy
from webhook.policy.escape import WARNING_CHARACTERS
from webhook.policy.model import HOSTNAME, MAX_CONSTRAINTS, ZONE
from webhook.policy.request import AdmissionRequest, Hook
from webhook.policy.rule_entry import Action
from webhook.policy.verdict import UNTOUCHED, judge

ROLLOUT_BAD = custom(deployment(BAD))

OUTCOMES: dict[str, tuple[AdmissionRequest, Hook, Policy, str]] = {
    "a pod gets defaults": (request(pod()), Hook.MUTATE, DEFAULTS, "patch"),
    "the validating hook adds nothing": (request(pod()), Hook.VALIDATE, DEFAULTS, "allow"),
    "a pod that nothing selects stays as it is": (
        request(pod(labels={})),
        Hook.MUTATE,
        DEFAULTS,
        "allow",
    ),
    "a bad pod is denied": (request(pod(BAD)), Hook.MUTATE, DEFAULTS, "deny"),
    "a bad pod is denied by the validating hook": (
        request(pod(BAD)),
        Hook.VALIDATE,
        DEFAULTS,
        "deny",
    ),
    "a workload gets no defaults": (request(deployment()), Hook.MUTATE, DEFAULTS, "allow"),
    "a bad workload is denied": (request(deployment(BAD)), Hook.MUTATE, DEFAULTS, "deny"),
    "a bad custom workload is denied": (ROLLOUT_BAD, Hook.VALIDATE, DEFAULTS, "deny"),
    "a subresource is untouched": (
        request(pod(BAD), sub_resource="resize"),
        Hook.MUTATE,
        DEFAULTS,
        "allow",
    ),
    "a deletion is untouched": (
        request(pod(BAD), operation="DELETE"),
        Hook.MUTATE,
        DEFAULTS,
        "allow",
    ),
    "an object without a template is untouched": (
        request(pod(), template=None),
        Hook.MUTATE,
        DEFAULTS,
        "allow",
    ),
    "an update of a pod gets no defaults": (
        request(pod(), old=pod()),
        Hook.MUTATE,
        DEFAULTS,
        "allow",
    ),
    "an update that leaves a bad list is allowed": (
        request(deployment(BAD), old=deployment(BAD)),
        Hook.MUTATE,
        DEFAULTS,
        "allow",
    ),
    "an update to a bad list is denied": (
        request(deployment(BAD), old=deployment()),
        Hook.MUTATE,
        DEFAULTS,
        "deny",
    ),
    "an update of a custom kind that leaves a bad list is allowed": (
        custom(deployment(BAD), old=deployment(BAD)),
        Hook.VALIDATE,
        DEFAULTS,
        "allow",
    ),
    "recommend mode would deny": (
        request(pod(BAD)),
        Hook.MUTATE,
        policy(mode=Mode.RECOMMEND),
        "would_deny",
    ),
    "recommend mode would patch": (
        request(pod()),
        Hook.MUTATE,
        policy(profile(), mode=Mode.RECOMMEND),
        "would_patch",
    ),
    "recommend mode has nothing to recommend": (
        request(pod(spread())),
        Hook.MUTATE,
        policy(profile(), mode=Mode.RECOMMEND),
        "allow",
    ),
    "a key that the pod carries is judged as merged": (
        request(pod(spread(matchLabelKeys=["app"]))),
        Hook.MUTATE,
        DEFAULTS,
        "deny",
    ),
    "merged keys pass the validating hook": (
        request(
            pod(
                spread(
                    matchLabelKeys=["app"],
                    labelSelector={
                        "matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]
                    },
                )
            )
        ),
        Hook.VALIDATE,
        DEFAULTS,
        "allow",
    ),
}


@pytest.mark.parametrize(
    ("decoded", "hook", "in_force", "outcome"), OUTCOMES.values(), ids=OUTCOMES.keys()
)
def test_the_outcome_is(
    decoded: AdmissionRequest, hook: Hook, in_force: Policy, outcome: str
) -> None:
    verdict = judge(decoded, hook, in_force, WEB)

    assert verdict.outcome == outcome
    assert verdict.allowed == (outcome != "deny")
    assert bool(verdict.patch) == (outcome == "patch")
    assert bool(verdict.message) == (outcome == "deny")


def test_what_does_not_concern_us_is_one_verdict() -> None:
    assert judge(request(pod(), sub_resource="x"), Hook.MUTATE, DEFAULTS, WEB) is UNTOUCHED
    assert judge(request(pod(spread())), Hook.VALIDATE, DEFAULTS, WEB) is UNTOUCHED


def test_a_denial_is_worded_as_by_kube_apiserver_and_names_its_rules() -> None:
    verdict = mutate(deployment(BAD, BAD))

    at = "spec.template.spec.topologySpreadConstraints"
    assert verdict.code == 422
    assert verdict.message == (
        f'Deployment.apps "web" is invalid: [{at}[0].maxSkew: Invalid value: 0: must be greater '
        f"than zero, {at}[0].{{topologyKey, whenUnsatisfiable}}: Duplicate value: "
        f'"{{{ZONE}, DoNotSchedule}}", {at}[1].maxSkew: Invalid value: 0: must be greater than '
        "zero] (TSC001,TSC004; to read more: evenspread validate --explain TSC001,TSC004)"
    )


def test_a_list_that_is_too_long_is_denied_before_it_is_judged() -> None:
    long = [spread(topologyKey=f"k{n}") for n in range(MAX_CONSTRAINTS + 1)]

    verdict = mutate(pod(*long))

    assert [violation.rule for violation in verdict.findings] == ["TSC010"]
    assert mutate(pod(*long[1:])).allowed
    assert mutate(pod(*long), old=pod(*long)).allowed


UNREADABLE: dict[str, tuple[dict[str, Any], bool]] = {
    "a create is denied": ({}, False),
    "an update from a readable object is denied": ({"operation": "UPDATE"}, False),
    "an update from an unreadable object is allowed": (
        {"operation": "UPDATE", "old_unreadable": True},
        True,
    ),
}


@pytest.mark.parametrize(("changes", "allowed"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_of_what_cannot_be_read(changes: dict[str, Any], allowed: bool) -> None:
    decoded = custom(deployment(), template=None, unreadable="Expected int", **changes)

    verdict = judge(decoded, Hook.MUTATE, DEFAULTS, WEB)

    assert verdict.allowed is allowed
    if allowed:
        assert verdict.warnings == ("Expected int",)
    else:
        assert verdict.code == 400
        assert verdict.message == 'Rollout.argoproj.io "web" cannot be read: Expected int'


def test_a_finding_that_does_not_deny_is_a_warning_and_stops_the_patch() -> None:
    """What is bad already is not made half good: the patch makes an object valid, or is none."""
    stored = deployment(spread(maxSkew=0, whenUnsatisfiable=""))

    verdict = judge(custom(stored, old=stored), Hook.MUTATE, DEFAULTS, WEB)

    at = "spec.template.spec.topologySpreadConstraints[0]"
    assert verdict.warnings == (
        f"{at}.maxSkew: Invalid value: 0: must be greater than zero [TSC001]",
    )
    assert verdict.patch == ()


RECOMMENDING = policy(
    profile(),
    mode=Mode.RECOMMEND,
    gates=gates(MinDomainsInPodTopologySpread=False),
)

RECOMMENDED: dict[str, tuple[Json, list[str]]] = {
    "a denial": (
        pod(BAD),
        [
            (
                'evenspread would deny this: Pod "web-1" is invalid: '
                "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater "
                "than zero (TSC001; to read more: evenspread validate --explain TSC001)"
            )
        ],
    ),
    "defaults": (
        pod(),
        [f"evenspread would add the defaults of profile cluster: {ZONE}, {HOSTNAME}"],
    ),
    "what would be dropped": (
        pod(spread(minDomains=1)),
        [
            (
                "TSC111 topologySpreadConstraints[0].minDomains: would go, "
                "MinDomainsInPodTopologySpread is off"
            )
        ],
    ),
    "what the pods of a workload would get": (
        deployment(),
        [
            (
                "evenspread would give its pods the defaults of profile cluster: "
                f"{ZONE} (maxSkew 1, ScheduleAnyway), {HOSTNAME} (maxSkew 2, ScheduleAnyway)"
            )
        ],
    ),
}


@pytest.mark.parametrize(("obj", "warnings"), RECOMMENDED.values(), ids=RECOMMENDED.keys())
def test_recommend_mode_warns(obj: Json, warnings: list[str]) -> None:
    verdict = mutate(obj, RECOMMENDING)

    assert verdict.allowed
    assert verdict.patch == ()
    assert list(verdict.warnings) == warnings


def test_recommend_mode_reports_the_pods_of_a_workload_that_it_would_patch() -> None:
    adding = policy(profile(merge=Merge.PER_TOPOLOGY_KEY), mode=Mode.RECOMMEND)

    verdict = mutate(deployment(spread(whenUnsatisfiable="")), adding)

    path = "/spec/template/spec/topologySpreadConstraints/0/whenUnsatisfiable"
    assert verdict.warnings == (
        f"evenspread would fill in {path}",
        (
            "evenspread would give its pods the defaults of profile cluster: "
            f"{HOSTNAME} (maxSkew 2, ScheduleAnyway)"
        ),
    )


def test_recommend_mode_does_not_recommend_what_is_there_already() -> None:
    stored = applied(pod(), mutate(pod()))

    verdict = mutate(stored, policy(profile(), mode=Mode.RECOMMEND))

    assert verdict.outcome == "allow"
    assert verdict.warnings == ()


def test_long_and_unprintable_warnings_are_made_to_fit() -> None:
    name = "größe\n" * 60
    verdict = mutate(pod(), policy(profile(name=name), mode=Mode.RECOMMEND))

    (warning,) = verdict.warnings
    assert len(warning) == 256
    assert warning.endswith("...")
    assert r"größe\ngröße" in warning


HELD_BACK = pod(spread(minDomains=2))
DENYING_DROPS = policy(
    gates=gates(MinDomainsInPodTopologySpread=False),
    actions={**DEFAULT_ACTIONS, "TSC111": Action.DENY},
)


def test_a_field_that_a_gate_holds_back_is_denied_where_configured() -> None:
    verdict = mutate(HELD_BACK, DENYING_DROPS)

    assert not verdict.allowed
    assert not verdict.patch
    assert [violation.error.field for violation in verdict.findings] == [
        "spec.topologySpreadConstraints[0].minDomains"
    ]
    assert "TSC111" in verdict.message


def test_what_a_gate_holds_back_is_not_denied_in_recommend_mode() -> None:
    verdict = mutate(HELD_BACK, replace(DENYING_DROPS, mode=Mode.RECOMMEND))

    assert verdict.allowed
    assert verdict.outcome == "would_deny"


def test_an_unknown_field_of_a_custom_kind_is_warned_of_before_the_advice() -> None:
    obj = deployment({**spread(labelSelector={"matchLabels": {"app": "shop"}}), "minDomain": 3})
    rollout = custom(obj, body=review_body(obj))

    verdict = judge(rollout, Hook.VALIDATE, DEFAULTS, WEB)

    assert (verdict.allowed, verdict.recurs) == (True, False)
    assert verdict.advice is not None
    unknown, *advice = verdict.warnings
    assert unknown.startswith('TSC011 unknown field "spec.template.spec.topologySpread')
    assert advice == [*verdict.advice.lines()] != []


def test_a_workload_whose_pods_are_refused_is_allowed_with_a_warning() -> None:
    requested = request(deployment(spread(matchLabelKeys=["app"])))

    verdict = judge(requested, Hook.VALIDATE, DEFAULTS, WEB)

    assert (verdict.outcome, verdict.recurs) == ("allow", False)
    assert [finding.rule for finding in verdict.findings] == ["TSC008"]
    (warning,) = (line for line in verdict.warnings if "TSC008" in line)
    assert warning.startswith("TSC008 spec.template.spec.topologySpreadConstraints[0].matchLabelK")
    assert len(warning) <= WARNING_CHARACTERS
    assert judge(requested, Hook.MUTATE, DEFAULTS, WEB).warnings == ()
