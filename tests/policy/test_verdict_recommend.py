"""A profile in recommend mode, in a policy that applies the others."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests import strategies
from tests.build import (
    FakeFacts,
    Json,
    default,
    deployment,
    facts,
    owned_by,
    pod,
    policy,
    profile,
    request,
    review_body,
    spread,
)
from tests.policy.mutated import BAD, applied, mutate
from tests.policy.situations import DEFAULTS, WEB
from webhook.admission import audit_annotations, decode
from webhook.policy.defaulting.profiles import Merge, Mode, Policy, ScaleDown
from webhook.policy.model import HOSTNAME, ZONE
from webhook.policy.request import Hook
from webhook.policy.verdict import judge

OWNER = owned_by()
OWN = spread(topologyKey="rack")
OMITTED = spread(whenUnsatisfiable="", labelSelector=None)
LABEL = "evenspread.io/scale-down: keep-spread"


def recommending(**changes: Any) -> Policy:
    """Build a policy that applies, with a profile that recommends one default over zones."""
    changes = {"constraints": (default(),), "mode": Mode.RECOMMEND, **changes}
    return policy(profile(**changes))


ADDED = f"evenspread would add the defaults of profile cluster: {ZONE}"
GIVEN = (
    f"evenspread would give its pods the defaults of profile cluster: {ZONE} (maxSkew 1, "
    "ScheduleAnyway)"
)
COMPLETING = recommending(complete_selectors=True)
SELECTOR = "/spec/topologySpreadConstraints/0/labelSelector"

RECOMMENDED: dict[str, tuple[Json, Policy, str, list[str]]] = {
    "defaults": (pod(), recommending(), "would_patch", [ADDED]),
    "defaults of a pod with annotations": (
        pod(annotations={"a": "b"}),
        recommending(),
        "would_patch",
        [ADDED],
    ),
    "defaults beside its own": (
        pod(OWN),
        recommending(merge=Merge.PER_TOPOLOGY_KEY),
        "would_patch",
        [ADDED],
    ),
    "nothing, if it has its own": (pod(OWN), recommending(), "allow", []),
    "nothing, if nothing selects it": (pod(labels={}), recommending(), "allow", []),
    "the label of a scale-down": (
        pod(OWN, owner=OWNER),
        recommending(scale_down=ScaleDown.KEEP_SPREAD),
        "would_patch",
        [f"evenspread would label it {LABEL}"],
    ),
    "a selector": (
        pod(spread(labelSelector=None)),
        COMPLETING,
        "would_patch",
        [f"evenspread would fill in {SELECTOR}"],
    ),
    "a selector, and another field that is filled in": (
        pod(OMITTED),
        COMPLETING,
        "patch",
        [f"evenspread would fill in {SELECTOR}"],
    ),
    "the defaults of a workload's pods": (deployment(), recommending(), "allow", [GIVEN]),
    "the label of a workload's pods": (
        deployment(OWN),
        recommending(scale_down=ScaleDown.KEEP_SPREAD),
        "allow",
        [f"evenspread would label its pods {LABEL}"],
    ),
    "nothing, if an earlier profile applies": (
        pod(),
        policy(profile(), profile(name="later", mode=Mode.RECOMMEND)),
        "patch",
        [],
    ),
}


@pytest.mark.parametrize(
    ("obj", "in_force", "outcome", "warnings"), RECOMMENDED.values(), ids=RECOMMENDED.keys()
)
def test_a_profile_in_recommend_mode_recommends(
    obj: Json, in_force: Policy, outcome: str, warnings: list[str]
) -> None:
    verdict = mutate(obj, in_force)

    assert (verdict.outcome, list(verdict.warnings)) == (outcome, warnings)
    assert bool(verdict.patch) == (outcome == "patch")


def test_only_what_the_policy_itself_fills_in_is_patched() -> None:
    patched = applied(pod(OMITTED), mutate(pod(OMITTED), COMPLETING))

    (constraint,) = patched["spec"]["topologySpreadConstraints"]
    assert constraint["whenUnsatisfiable"] == "DoNotSchedule"
    assert constraint["labelSelector"] is None


def test_a_pod_is_judged_without_the_selector_that_it_does_not_get() -> None:
    keyed = pod(spread(labelSelector=None, matchLabelKeys=["revision"]))

    assert not mutate(keyed, COMPLETING).allowed
    assert mutate(keyed, recommending(complete_selectors=True, mode=Mode.APPLY)).allowed


def test_violations_of_the_api_are_denied() -> None:
    assert not mutate(pod(BAD), recommending()).allowed


def test_the_pods_of_a_profile_share_a_verdict() -> None:
    first, second = (mutate(pod(owner=OWNER), recommending()) for _ in range(2))

    assert first is second
    assert first.recurs


def test_what_was_injected_before_stays() -> None:
    """The profile was in apply mode when the first call injected its default."""
    stored = applied(pod(), mutate(pod(), recommending(mode=Mode.APPLY)))

    assert mutate(stored, recommending()).outcome == "allow"
    other = facts(app="web", tier="front")
    stored["metadata"]["labels"]["tier"] = "front"
    changed = judge(request(stored), Hook.MUTATE, recommending(), other)
    assert (changed.outcome, changed.patch) == ("would_patch", ())
    assert changed.warnings == (ADDED,)


def test_the_mutating_hook_advises_on_the_pod_as_it_stays() -> None:
    zoned = recommending(constraints=(default(topology_key="nowhere"),))
    null = pod(spread(labelSelector=None))

    decoded = decode(review_body(null))
    advised = judge(decoded, Hook.MUTATE, COMPLETING, WEB)
    assert any(line.startswith("TSC102") for line in advised.warnings)
    assert len(judge(decode(review_body(pod())), Hook.MUTATE, zoned, WEB).warnings) == 1


def test_the_audit_log_of_the_cluster_says_that_it_is_recommended() -> None:
    verdict = mutate(pod(), recommending())

    assert audit_annotations(verdict) == {
        "profile": "cluster",
        "injected": ZONE,
        "mode": "recommend",
    }
    assert "mode" not in audit_annotations(mutate(pod()))


def test_recommend_mode_of_the_policy_overrides_the_mode_of_a_profile() -> None:
    verdict = mutate(pod(), replace(DEFAULTS, mode=Mode.RECOMMEND))

    assert verdict.outcome == "would_patch"
    assert verdict.warnings == (f"{ADDED}, {HOSTNAME}",)


@given(strategies.situations, st.sampled_from(Hook))
def test_profiles_in_recommend_mode_change_nothing_but_what_no_profile_changes(
    situation: tuple[Json, Policy, FakeFacts], hook: Hook
) -> None:
    obj, in_force, known = situation
    # No earlier call injected what the profiles only recommend now.
    (obj["metadata"] or {}).pop("annotations", None)
    recommended = tuple(replace(one, mode=Mode.RECOMMEND) for one in in_force.profiles)
    without = judge(request(obj), hook, replace(in_force, profiles=()), known)
    with_them = judge(request(obj), hook, in_force, known)

    verdict = judge(request(obj), hook, replace(in_force, profiles=recommended), known)

    assert (verdict.allowed, verdict.patch) == (without.allowed, without.patch)
    differs = with_them.allowed and with_them.patch != without.patch
    assert verdict.held == ("patch" if differs and verdict.allowed else "")
