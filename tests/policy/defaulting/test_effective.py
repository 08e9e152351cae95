from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests import strategies
from tests.build import (
    NAMESPACE,
    FakeFacts,
    owned_by,
    pod,
    policy,
    requirement,
    selector,
    template,
)
from webhook.policy.defaulting.effective import (
    IneffectiveProfile,
    describe_ineffective,
    find_ineffective,
)
from webhook.policy.defaulting.inject import profile_of
from webhook.policy.defaulting.profiles import Mode, Profile
from webhook.policy.model import NAME_LABEL

ALL = Profile(name="all")
PROD = Profile(name="prod", namespace_selector=selector(tier="prod"))
WEB = Profile(name="web", object_selector=selector(app="web"))
WEB_IN_PROD = replace(PROD, name="web-in-prod", object_selector=selector(app="web"))
SETS = Profile(name="sets", owner_kinds=frozenset({"StatefulSet"}))
REPLICAS = Profile(name="replicas", owner_kinds=frozenset({"ReplicaSet"}))
BOTH = Profile(name="both", owner_kinds=frozenset({"ReplicaSet", "StatefulSet"}))
BATCH = Profile(name="batch", scheduler_names=frozenset({"batch"}))
SCHEDULERS = Profile(name="schedulers", scheduler_names=frozenset({"batch", "default-scheduler"}))
NOWHERE = Profile(name="nowhere", object_selector=selector(requirement("a", "DoesNotExist"), a="b"))
NAMED = Profile(name="named", namespace_selector=selector(requirement(NAME_LABEL, "Exists")))

ORDERS: dict[str, tuple[list[Profile], list[IneffectiveProfile]]] = {
    "none": ([], []),
    "one": ([ALL], []),
    "the narrow one first": ([PROD, ALL], []),
    "the wide one first": ([ALL, PROD], [IneffectiveProfile("prod", ("all",))]),
    "an equal one": ([WEB, replace(WEB, name="w")], [IneffectiveProfile("w", ("web",))]),
    "different ones": ([WEB, PROD], []),
    "fewer conditions first": ([WEB, WEB_IN_PROD], [IneffectiveProfile("web-in-prod", ("web",))]),
    "of several, the first": (
        [PROD, WEB, WEB_IN_PROD],
        [IneffectiveProfile("web-in-prod", ("prod",))],
    ),
    "another scheduler": ([ALL, BATCH], []),
    "one of its schedulers": ([ALL, SCHEDULERS], []),
    "all its schedulers": (
        [ALL, BATCH, SCHEDULERS],
        [IneffectiveProfile("schedulers", ("all", "batch"))],
    ),
    "one of its owners": ([SETS, BOTH], []),
    "all its owners": (
        [SETS, REPLICAS, BOTH],
        [IneffectiveProfile("both", ("sets", "replicas"))],
    ),
    "pods of any owner or none": ([SETS, REPLICAS, ALL], []),
    "one that recommends": (
        [replace(ALL, mode=Mode.RECOMMEND), WEB],
        [IneffectiveProfile("web", ("all",))],
    ),
    "contradictions": ([NOWHERE, ALL], [IneffectiveProfile("nowhere", (), "objectSelector")]),
    "a contradiction after one for all": (
        [ALL, replace(NOWHERE, namespace_selector=NOWHERE.object_selector)],
        [IneffectiveProfile("nowhere", (), "namespaceSelector")],
    ),
    "some values of several": (
        [replace(WEB, object_selector=selector(requirement("app", "In", "web", "api"))), WEB],
        [IneffectiveProfile("web", ("web",))],
    ),
    "each of two that are equal to the first": (
        [WEB, replace(WEB, name="w"), replace(WEB, name="x")],
        [IneffectiveProfile("w", ("web",)), IneffectiveProfile("x", ("web",))],
    ),
    "every namespace by its name": ([NAMED, ALL], [IneffectiveProfile("all", ("named",))]),
}


@pytest.mark.parametrize(("profiles", "found"), ORDERS.values(), ids=ORDERS.keys())
def test_profiles_without_effect_are_found(
    profiles: list[Profile], found: list[IneffectiveProfile]
) -> None:
    assert list(find_ineffective(profiles)) == found


REASONS = {
    IneffectiveProfile("a", ("b",)): (
        "applies to no pod, as profile 'b' before it fits every pod that it fits"
    ),
    IneffectiveProfile("a", ("b", "c")): (
        "applies to no pod, as profiles 'b' and 'c' before it fit every pod that it fits"
    ),
    IneffectiveProfile("a", (), "objectSelector"): (
        "applies to no pod, as no labels satisfy match.objectSelector"
    ),
}


@pytest.mark.parametrize(("ineffective", "reason"), REASONS.items(), ids=REASONS.values())
def test_the_reason_names_the_earlier_profiles(
    ineffective: IneffectiveProfile, reason: str
) -> None:
    assert ineffective.reason == reason


def test_each_sentence_says_what_to_write_instead() -> None:
    assert describe_ineffective([WEB, WEB_IN_PROD, NOWHERE]) == [
        (
            "profile 'web-in-prod' applies to no pod, as profile 'web' before it fits every pod "
            "that it fits: move it before, or remove it"
        ),
        (
            "profile 'nowhere' applies to no pod, as no labels satisfy match.objectSelector: "
            "correct the selector, or remove the profile"
        ),
    ]


owners = st.none() | st.sets(st.sampled_from(["ReplicaSet", "StatefulSet"]), min_size=1)
some_profiles = st.lists(
    st.builds(
        Profile,
        name=st.just(""),
        namespace_selector=st.none() | strategies.selectors,
        object_selector=st.none() | strategies.selectors,
        owner_kinds=owners.map(lambda kinds: None if kinds is None else frozenset(kinds)),
        scheduler_names=st.sets(st.sampled_from(["default-scheduler", "batch"]), min_size=1).map(
            frozenset[str]
        ),
    ),
    max_size=4,
).map(lambda found: [replace(one, name=str(i)) for i, one in enumerate(found)])


@given(
    some_profiles,
    strategies.labels,
    st.none() | strategies.labels,
    st.sampled_from(["", "ReplicaSet", "StatefulSet"]),
    st.sampled_from(["default-scheduler", "batch"]),
)
def test_no_pod_has_a_profile_without_effect(
    profiles: list[Profile],
    labels: Mapping[str, str],
    namespace: Mapping[str, str] | None,
    owner: str,
    scheduler: str,
) -> None:
    created = template(
        pod(labels=dict(labels), owner=owned_by(owner) if owner else None, schedulerName=scheduler)
    )
    known = FakeFacts(namespaces={} if namespace is None else {NAMESPACE: namespace})

    found = profile_of(created, NAMESPACE, policy(*profiles), known)

    assert found is None or found.name not in {one.name for one in find_ineffective(profiles)}
