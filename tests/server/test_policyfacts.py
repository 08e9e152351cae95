"""Facts for the status of SpreadPolicies."""

from typing import Any

import pytest

from tests.build import policy, selector
from webhook.cluster.spreadpolicies import PolicyMetadata, SpreadPolicyObject
from webhook.config.spreadpolicies import MergedProfiles, SpreadPolicy
from webhook.policy.defaulting.effective import IneffectiveProfile
from webhook.policy.defaulting.policystatus import PolicyCounts, PolicyFacts
from webhook.policy.defaulting.profiles import Mode, Profile
from webhook.policy.model import NAME_LABEL
from webhook.server.policyfacts import ProfileFacts, gather_facts, judge_profiles

ALL = Profile(name="all")
PROD = Profile(name="prod", namespace_selector=selector(tier="prod"))
SHOP = Profile(name="shop", namespace_selector=selector(**{NAME_LABEL: "shop"}))
CAREFUL = Profile(name="careful", mode=Mode.RECOMMEND, object_selector=selector(app="web"))
NAMESPACES: dict[str, dict[str, str]] = {
    "shop": {"tier": "prod"},
    "test": {},
    "kube-system": {"tier": "prod"},
}


def merged(*profiles: Profile, unused: tuple[str, ...] = ()) -> MergedProfiles:
    return MergedProfiles((), profiles, unused)


def test_namespaces_are_counted_without_exempt_ones() -> None:
    found = judge_profiles(merged(PROD, SHOP, ALL), policy(), NAMESPACES)

    assert found.namespaces == {"prod": 1, "shop": 1, "all": 2}


def test_namespaces_that_are_not_known_are_not_counted() -> None:
    assert judge_profiles(merged(PROD), policy(), None).namespaces is None
    assert judge_profiles(merged(PROD), policy(), {}).namespaces == {"prod": 0}


def test_ineffective_and_unused_policies_are_found() -> None:
    found = judge_profiles(merged(ALL, PROD, unused=("of-file",)), policy(), {})

    assert found.unused == {"of-file"}
    assert found.ineffective == {"prod": IneffectiveProfile("prod", ("all",))}


@pytest.mark.parametrize(
    ("mode", "recommending"),
    [(Mode.APPLY, {"careful"}), (Mode.RECOMMEND, {"careful", "prod"})],
)
def test_profiles_recommend_alone_or_together(mode: Mode, recommending: set[str]) -> None:
    found = judge_profiles(merged(CAREFUL, PROD), policy(mode=mode), {})

    assert found.recommending == recommending


BAD = IneffectiveProfile("web", ("all",))
JUDGED = ProfileFacts(
    unused=frozenset({"taken"}),
    ineffective={"web": BAD, "taken": IneffectiveProfile("taken", ("all",))},
    recommending=frozenset({"web"}),
    namespaces={"web": 3},
)
COUNTS = {"web": PolicyCounts(1, 2, 3)}


def thing(name: str = "web", **members: Any) -> SpreadPolicyObject:
    found = SpreadPolicy(0, Profile(name=name))
    metadata = PolicyMetadata(name, uid="u1", resource_version="7", generation=5)
    values: dict[str, Any] = {"found": found, **members}
    return SpreadPolicyObject(metadata, **values)


def test_the_facts_of_a_policy() -> None:
    assert gather_facts(thing(), JUDGED, COUNTS, audits=True) == PolicyFacts(
        generation=5,
        ineffective=BAD,
        recommends=True,
        namespaces=3,
        counts=PolicyCounts(1, 2, 3),
    )


def test_a_policy_whose_name_is_taken() -> None:
    facts = gather_facts(thing("taken"), JUDGED, COUNTS, audits=True)

    assert facts.conflict == (
        "SpreadPolicy 'taken' is not used: a profile of the configuration has its name; rename one "
        "of the two"
    )
    assert (facts.in_force, facts.ineffective, facts.namespaces) == (True, None, None)


def test_a_policy_of_which_no_version_can_be_read() -> None:
    facts = gather_facts(thing(found=None, problem="spec: bad"), JUDGED, COUNTS, audits=True)

    assert (facts.in_force, facts.problem, facts.ineffective) == (False, "spec: bad", None)


@pytest.mark.parametrize(
    ("counts", "audits", "keeps"),
    [(COUNTS, True, False), (COUNTS, False, False), ({}, True, True), ({}, False, False)],
)
def test_counts_stay_until_the_first_audit(
    counts: dict[str, PolicyCounts], audits: bool, keeps: bool
) -> None:
    assert gather_facts(thing(), JUDGED, counts, audits=audits).keeps_counts is keeps


def test_an_object_without_metadata_has_no_generation() -> None:
    facts = gather_facts(SpreadPolicyObject(), JUDGED, COUNTS, audits=False)

    assert (facts.generation, facts.namespaces) == (0, None)
