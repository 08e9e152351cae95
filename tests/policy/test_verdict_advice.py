"""Advice: which hook gives it on what, and when it denies."""

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.build import (
    FakeFacts,
    Json,
    deployment,
    facts,
    gates,
    owned_by,
    pod,
    policy,
    profile,
    review_body,
    spread,
    template,
)
from tests.policy.advice import realistic
from tests.policy.mutated import BAD, applied, listed, mutate
from tests.policy.situations import ADDING, DEFAULTS, WEB
from webhook.admission import decode
from webhook.policy import render
from webhook.policy.catalogue import DEFAULT_ACTIONS
from webhook.policy.defaulting.profiles import FieldDefaults, Merge, Mode, Profile
from webhook.policy.model import HOSTNAME, ZONE, Node
from webhook.policy.request import Hook
from webhook.policy.rule_entry import Action
from webhook.policy.selectors import merge_match_label_keys
from webhook.policy.verdict import UNTOUCHED, Verdict, judge

ELSEWHERE = deployment(spread(labelSelector={"matchLabels": {"app": "shop"}}))
"""Its constraint counts other pods than its own: TSC101."""


def advised(hook: Hook, **changes: Any) -> Verdict:
    decoded = decode(review_body(ELSEWHERE, name="web"))
    return judge(decoded, hook, policy(**changes), facts())


def test_advice_warns_in_the_validating_hook() -> None:
    verdict = advised(Hook.VALIDATE)

    assert verdict.allowed
    assert any("TSC101" in line for line in verdict.warnings)
    assert verdict.advice is not None
    assert advised(Hook.MUTATE).advice is None


def test_advice_denies_where_configured() -> None:
    verdict = advised(Hook.VALIDATE, actions={**DEFAULT_ACTIONS, "TSC101": Action.DENY})

    assert not verdict.allowed
    assert [finding.rule for finding in verdict.findings] == ["TSC101"]
    assert "TSC101" in verdict.message


MISSING_ITSELF = pod(spread(labelSelector={"matchLabels": {"app": "shop"}}))
NULL_SELECTOR = pod(spread(labelSelector=None))
TSC101_DENIES = {**DEFAULT_ACTIONS, "TSC101": Action.DENY}


def created(obj: Json, hook: Hook, **changes: Any) -> Verdict:
    """The verdict on the creation of a pod, whose body can be read again."""
    in_force = replace(DEFAULTS, **changes)
    return judge(decode(review_body(obj)), hook, in_force, with_a_node(WEB))


def with_a_node(known: FakeFacts) -> FakeFacts:
    """The same cluster with one node that has a zone, so that no topology key is unknown."""
    return FakeFacts(services_of=known.services_of, nodes=[Node("n", {ZONE: "a", HOSTNAME: "n"})])


def rules_warned_of(verdict: Verdict) -> list[str]:
    return [finding.rule for finding in verdict.advice.warned] if verdict.advice else []


@pytest.mark.parametrize("validates_pods", [False, True])
@pytest.mark.parametrize("mode", Mode)
def test_one_hook_alone_advises_on_a_pod(mode: Mode, validates_pods: bool) -> None:
    verdicts = {
        hook: created(MISSING_ITSELF, hook, mode=mode, validates_pods=validates_pods)
        for hook in Hook
    }

    advising, silent = (
        (Hook.VALIDATE, Hook.MUTATE) if validates_pods else (Hook.MUTATE, Hook.VALIDATE)
    )
    assert rules_warned_of(verdicts[advising]) == ["TSC101"]
    assert len(verdicts[advising].warnings) == 1
    assert verdicts[silent].advice is None
    assert verdicts[silent].warnings == ()


def test_the_mutating_hook_denies_nothing_by_advice() -> None:
    verdict = created(MISSING_ITSELF, Hook.MUTATE, actions=TSC101_DENIES)

    assert verdict.allowed
    assert rules_warned_of(verdict) == ["TSC101"]


def test_the_validating_hook_denies_by_advice_where_it_is_sent_pods() -> None:
    changes = {"actions": TSC101_DENIES, "validates_pods": True}

    assert not created(MISSING_ITSELF, Hook.VALIDATE, **changes).allowed
    assert created(MISSING_ITSELF, Hook.MUTATE, **changes).warnings == ()


def test_a_pod_of_a_controller_is_not_advised_on_by_the_mutating_hook() -> None:
    owned = pod(*listed(MISSING_ITSELF), owner=owned_by())

    assert created(owned, Hook.MUTATE).warnings == ()


COMPLETING = (profile(complete_selectors=True),)


def test_a_selector_that_is_completed_is_not_warned_of() -> None:
    assert rules_warned_of(created(NULL_SELECTOR, Hook.MUTATE)) == ["TSC102"]
    completed = created(NULL_SELECTOR, Hook.MUTATE, profiles=COMPLETING)
    assert completed.patch
    assert completed.warnings == ()


def test_in_recommend_mode_a_selector_that_stays_null_is_warned_of() -> None:
    changes = {"profiles": COMPLETING, "mode": Mode.RECOMMEND}

    assert "TSC102" in rules_warned_of(created(NULL_SELECTOR, Hook.MUTATE, **changes))


def test_a_field_that_is_dropped_is_advised_on_no_more() -> None:
    off = gates(
        MatchLabelKeysInPodTopologySpread=False,
        MatchLabelKeysInPodTopologySpreadSelectorMerge=False,
    )
    manifest = pod(spread(matchLabelKeys=["revision"]))

    assert "TSC117" in rules_warned_of(created(manifest, Hook.MUTATE))
    dropped = created(manifest, Hook.MUTATE, gates=off)
    assert [drop.field for drop in dropped.drops] == ["matchLabelKeys"]
    assert rules_warned_of(dropped) == []


def test_injected_defaults_are_advised_on_as_they_will_be_stored() -> None:
    zoneless = FakeFacts(services_of=WEB.services_of, nodes=[Node("n", {HOSTNAME: "n"})])
    decoded = decode(review_body(pod()))

    first = judge(decoded, Hook.MUTATE, DEFAULTS, zoneless)
    assert rules_warned_of(first) == ["TSC103"]
    again = judge(decode(review_body(applied(pod(), first))), Hook.MUTATE, DEFAULTS, zoneless)
    assert (again.patch, again.warnings) == ((), first.warnings)


def as_stored(obj: Json) -> Json:
    """A pod as kube-apiserver stores it: matchLabelKeys are merged into the selectors."""
    made = template(obj)
    merged = merge_match_label_keys(made.constraints, made.labels)
    constraints = [render.constraint(entry) for entry in merged]
    return {**obj, "spec": {**obj["spec"], "topologySpreadConstraints": constraints}}


@given(realistic.objects(pods=True), realistic.node_lists(), st.sampled_from(FieldDefaults))
def test_the_mutating_hook_reports_what_the_validating_one_would(
    obj: Json, nodes: list[Node], field_defaults: FieldDefaults
) -> None:
    known = FakeFacts(services_of=WEB.services_of, nodes=nodes)
    in_force = replace(
        ADDING,
        profiles=(profile(merge=Merge.PER_TOPOLOGY_KEY, complete_selectors=True),),
        actions=dict.fromkeys(DEFAULT_ACTIONS, Action.WARN),
        field_defaults=field_defaults,
    )

    obj = json.loads(json.dumps(obj, sort_keys=True))  # as Go writes maps
    mutated = judge(decode(review_body(obj)), Hook.MUTATE, in_force, known)
    assume(mutated.allowed)
    stored = decode(review_body(as_stored(applied(obj, mutated))))
    validated = judge(stored, Hook.VALIDATE, replace(in_force, validates_pods=True), known)

    assert mutated.warnings == validated.warnings
    assert mutated.advice == validated.advice


MIRROR = pod(BAD, annotations={"kubernetes.io/config.mirror": "x"}, nodeName="n")


@pytest.mark.parametrize("validates_pods", [False, True])
@pytest.mark.parametrize("hook", Hook)
def test_a_mirror_pod_is_left_alone(hook: Hook, validates_pods: bool) -> None:
    verdict = created(MIRROR, hook, validates_pods=validates_pods, actions=TSC101_DENIES)

    assert verdict.allowed
    assert (verdict.patch, verdict.warnings, verdict.findings) == ((), (), ())


def test_the_annotation_of_mirror_pods_means_nothing_on_a_workload() -> None:
    marked = deployment(BAD)
    marked["metadata"]["annotations"] = MIRROR["metadata"]["annotations"]
    marked["spec"]["template"]["metadata"]["annotations"] = MIRROR["metadata"]["annotations"]

    assert not mutate(marked).allowed


SPREAD_BY_NOTHING = {**deployment(), "spec": {**deployment()["spec"], "replicas": 3}}
ABOUT_NOTHING = {
    Action.DENY: (False, 0, []),
    Action.WARN: (True, 1, []),
    Action.AUDIT: (True, 0, ["TSC110"]),
}


@pytest.mark.parametrize(("action", "outcome"), ABOUT_NOTHING.items())
def test_a_workload_without_constraints_is_advised_on(
    action: Action, outcome: tuple[bool, int, list[str]]
) -> None:
    decoded = decode(review_body(SPREAD_BY_NOTHING, name="web"))
    in_force = policy(actions={**DEFAULT_ACTIONS, "TSC110": action})

    verdict = judge(decoded, Hook.VALIDATE, in_force, facts())

    assert verdict.advice is not None
    recorded = [finding.rule for finding in verdict.advice.audited]
    assert (verdict.allowed, len(verdict.warnings), recorded) == outcome


def test_a_pod_of_a_controller_without_constraints_is_left_alone() -> None:
    decoded = decode(review_body(pod(owner=owned_by())))

    assert judge(decoded, Hook.VALIDATE, policy(), facts()) is UNTOUCHED


def test_advice_does_not_deny_in_recommend_mode() -> None:
    actions = {**DEFAULT_ACTIONS, "TSC101": Action.DENY}
    verdict = advised(Hook.VALIDATE, actions=actions, mode=Mode.RECOMMEND)

    assert verdict.allowed
    assert verdict.outcome == "would_deny"


RULED = profile(actions={"TSC101": Action.DENY})


def test_the_rules_of_a_profile_deny_for_its_workloads() -> None:
    verdict = advised(Hook.VALIDATE, profiles=(RULED,))

    assert not verdict.allowed
    assert "TSC101" in verdict.message
    other = replace(RULED, owner_kinds=frozenset({"StatefulSet"}))
    assert advised(Hook.VALIDATE, profiles=(other,)).allowed


def test_the_rules_of_a_profile_deny_for_its_pods_with_their_own_constraints() -> None:
    changes = {"profiles": (RULED,), "validates_pods": True}

    assert not created(MISSING_ITSELF, Hook.VALIDATE, **changes).allowed
    assert created(MISSING_ITSELF, Hook.MUTATE, **changes).allowed


def test_a_profile_may_switch_a_rule_off() -> None:
    denying = {"actions": TSC101_DENIES}
    off = profile(actions={"TSC101": Action.OFF})

    assert not advised(Hook.VALIDATE, **denying).allowed
    assert advised(Hook.VALIDATE, **denying, profiles=(off,)) is UNTOUCHED


def test_the_rules_of_a_profile_in_recommend_mode_only_warn() -> None:
    recommending = replace(RULED, mode=Mode.RECOMMEND)

    verdict = advised(Hook.VALIDATE, profiles=(recommending,))

    assert (verdict.allowed, verdict.outcome) == (True, "would_deny")
    (warning,) = verdict.warnings
    assert warning.startswith("evenspread would deny this: ")
    assert [finding.rule for finding in verdict.findings] == ["TSC101"]


def test_the_rules_of_the_policy_deny_beside_a_profile_in_recommend_mode() -> None:
    recommending = replace(RULED, mode=Mode.RECOMMEND, actions={"TSC103": Action.DENY})
    zoneless = FakeFacts(nodes=[Node("n", {HOSTNAME: "n"})])
    decoded = decode(review_body(ELSEWHERE, name="web"))

    verdict = judge(decoded, Hook.VALIDATE, policy(recommending, actions=TSC101_DENIES), zoneless)

    assert not verdict.allowed
    assert [finding.rule for finding in verdict.findings] == ["TSC101"]
    assert verdict.advice is not None
    assert {finding.rule for finding in verdict.advice.denied} == {"TSC101", "TSC103"}


def test_a_profile_may_forbid_and_allow_exemptions() -> None:
    exempted = pod(
        spread(labelSelector={"matchLabels": {"app": "shop"}}),
        annotations={"evenspread.io/exempt": "TSC101=counted elsewhere"},
    )

    def warned(forbidden: frozenset[str], *profiles: Profile) -> list[str]:
        changes = {"not_exemptible": forbidden, "profiles": profiles}
        return [line[:6] for line in created(exempted, Hook.MUTATE, **changes).warnings]

    everywhere = frozenset({"TSC101"})
    assert warned(frozenset()) == []
    assert warned(everywhere) == ["exempt", "TSC101"]  # the refused exemption, and the finding
    assert warned(frozenset(), profile(exemptible={"TSC101": False})) == ["exempt", "TSC101"]
    assert warned(everywhere, profile(exemptible={"TSC101": True})) == []
