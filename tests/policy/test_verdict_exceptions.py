"""Exceptions of a namespace: from the defaults of a profile, and from rules."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.build import (
    NAMESPACE,
    FakeFacts,
    Json,
    deployment,
    gates,
    owned_by,
    pod,
    policy,
    profile,
    request,
    review_body,
    selector,
    spread,
)
from tests.policy.situations import WEB
from webhook.admission import decode
from webhook.policy.catalogue import DEFAULT_ACTIONS
from webhook.policy.defaulting.inject import SkipReason
from webhook.policy.defaulting.profiles import Policy, Profile, ScaleDown
from webhook.policy.policyexceptions import PolicyException
from webhook.policy.request import Hook
from webhook.policy.rule_entry import Action
from webhook.policy.verdict import Verdict, judge

NULL_SELECTOR = spread(labelSelector=None)
ELSEWHERE = spread(labelSelector={"matchLabels": {"app": "shop"}})


def excepted(namespace: str = NAMESPACE, **changes: Any) -> FakeFacts:
    """Build a cluster with one exception in a namespace."""
    made = PolicyException(namespace=namespace, name="legacy", reason="old", **changes)
    return FakeFacts(services_of=WEB.services_of, excepted={namespace: [made]})


DEFAULTS = excepted(defaults=True)

# facts, profile, whether the pod stays without defaults
EXEMPT: dict[str, tuple[FakeFacts, Profile, bool]] = {
    "no exception": (WEB, profile(), False),
    "its pods": (DEFAULTS, profile(), True),
    "pods of its application": (
        excepted(defaults=True, selector=selector(app="web")),
        profile(),
        True,
    ),
    "other pods": (excepted(defaults=True, selector=selector(app="api")), profile(), False),
    "another namespace": (excepted("other", defaults=True), profile(), False),
    "rules": (excepted(rules=("TSC101",)), profile(), False),
    "a profile that allows none": (DEFAULTS, profile(allows_exceptions=False), False),
}


@pytest.mark.parametrize(("known", "one", "exempt"), EXEMPT.values(), ids=EXEMPT.keys())
def test_an_exempt_pod_gets_no_defaults(known: FakeFacts, one: Profile, exempt: bool) -> None:
    verdict = judge(request(pod()), Hook.MUTATE, policy(one), known)

    assert verdict.outcome == ("allow" if exempt else "patch")
    assert verdict.injection is not None
    assert verdict.injection.skip is (SkipReason.EXCEPTION if exempt else SkipReason.NONE)
    assert verdict.injection.profile == "cluster"
    assert verdict.injection.exception == ("legacy" if exempt else "")


# object, change of the profile
CHANGES: dict[str, tuple[Json, dict[str, Any]]] = {
    "a selector": (pod(NULL_SELECTOR), {"complete_selectors": True}),
    "a label": (
        pod(spread(), owner=owned_by()),
        {"scale_down": ScaleDown.KEEP_SPREAD},
    ),
}


@pytest.mark.parametrize(("obj", "changes"), CHANGES.values(), ids=CHANGES.keys())
def test_an_exempt_pod_gets_nothing_else_from_its_profile(
    obj: Json, changes: dict[str, Any]
) -> None:
    in_force = policy(profile(**changes))

    assert judge(request(obj), Hook.MUTATE, in_force, WEB).patch
    assert not judge(request(obj), Hook.MUTATE, in_force, DEFAULTS).patch


DENYING = policy(actions={**DEFAULT_ACTIONS, "TSC101": Action.DENY})


def validate(known: FakeFacts, in_force: Policy = DENYING) -> Verdict:
    decoded = decode(review_body(deployment(ELSEWHERE), name="web"))
    return judge(decoded, Hook.VALIDATE, in_force, known)


def test_an_exempt_workload_is_not_denied() -> None:
    verdict = validate(excepted(rules=("TSC101",)))

    assert not validate(WEB).allowed
    assert verdict.allowed
    assert verdict.advice is not None
    (exempted,) = verdict.advice.exempted
    assert (exempted.finding.rule, exempted.reason, exempted.exception) == (
        "TSC101", "old", "legacy"
    )  # fmt: skip


@pytest.mark.parametrize(
    "known",
    [
        excepted(rules=("TSC102",)),
        excepted(rules=("TSC101",), selector=selector(app="api")),
        excepted("other", rules=("TSC101",)),
        DEFAULTS,
    ],
)
def test_other_workloads_and_rules_are_not_exempt(known: FakeFacts) -> None:
    assert not validate(known).allowed


def test_a_rule_may_allow_no_exception() -> None:
    known = excepted(rules=("TSC101",))
    forbidding = replace(DENYING, not_exemptible=frozenset({"TSC101"}))
    of_profile = replace(DENYING, profiles=(profile(exemptible={"TSC101": False}),))

    assert not validate(known, forbidding).allowed
    assert not validate(known, of_profile).allowed


def test_a_field_that_a_gate_drops_is_exempt() -> None:
    off = gates(MinDomainsInPodTopologySpread=False)
    denying = policy(gates=off, actions={**DEFAULT_ACTIONS, "TSC111": Action.DENY})
    dropped = request(pod(spread(minDomains=2)))

    assert not judge(dropped, Hook.MUTATE, denying, WEB).allowed
    assert judge(dropped, Hook.MUTATE, denying, excepted(rules=("TSC111",))).allowed
