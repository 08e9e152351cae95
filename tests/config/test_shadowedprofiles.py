from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.build import policy
from webhook.config.shadowedprofiles import find_shadowed
from webhook.policy.defaulting.inject import profile_of
from webhook.policy.defaulting.profiles import Profile
from webhook.policy.facts import NoFacts
from webhook.policy.model import LabelSelector, ObjectMeta, OwnerReference, PodSpec, PodTemplate

PROD = LabelSelector({"tier": "prod"})
WEB = LabelSelector({"app": "web"})
SETS = frozenset({"ReplicaSet", "StatefulSet"})

# members of the first profile, members of the second, whether the second never applies
PAIRS: dict[str, tuple[dict[str, Any], dict[str, Any], bool]] = {
    "two without conditions": ({}, {}, True),
    "one for all pods before a narrow one": (
        {},
        {"namespace_selector": PROD, "object_selector": WEB, "owner_kinds": SETS},
        True,
    ),
    "a narrow one first": ({"object_selector": WEB}, {}, False),
    "other schedulers": ({}, {"scheduler_names": frozenset({"other"})}, False),
    "fewer schedulers": (
        {"scheduler_names": frozenset({"default-scheduler", "other"})},
        {"scheduler_names": frozenset({"other"})},
        True,
    ),
    "the same selector": ({"object_selector": WEB}, {"object_selector": WEB}, True),
    "another selector": ({"namespace_selector": PROD}, {"namespace_selector": WEB}, False),
    "fewer owners": ({"owner_kinds": SETS}, {"owner_kinds": frozenset({"ReplicaSet"})}, True),
    "more owners": ({"owner_kinds": SETS}, {"owner_kinds": SETS | {"Job"}}, False),
    "any owner": ({"owner_kinds": SETS}, {}, False),
}


@pytest.mark.parametrize(("first", "second", "shadowed"), PAIRS.values(), ids=PAIRS)
def test_a_profile_is_shadowed(
    first: Mapping[str, Any], second: Mapping[str, Any], *, shadowed: bool
) -> None:
    found = find_shadowed(policy(Profile(name="a", **first), Profile(name="b", **second)))

    sentence = (
        "profile 'b': applies to no pod, since profile 'a' before it fits all of its pods: put it "
        "before that one, or narrow the match of that one"
    )
    assert found == [sentence] * shadowed


def test_the_first_profile_that_shadows_is_named() -> None:
    narrow = Profile(name="narrow", object_selector=WEB)

    found = find_shadowed(policy(narrow, Profile(name="all"), Profile(name="c"), Profile(name="d")))

    assert [sentence.split(":")[0] for sentence in found] == ["profile 'c'", "profile 'd'"]
    assert all("since profile 'all' " in sentence for sentence in found)


LABELS = st.dictionaries(st.sampled_from(["app", "tier"]), st.sampled_from(["web", "prod"]))
PROFILES = st.builds(
    Profile,
    name=st.just("any"),
    object_selector=st.none() | st.sampled_from([WEB, PROD]),
    owner_kinds=st.none() | st.frozensets(st.sampled_from(sorted(SETS)), min_size=1),
    scheduler_names=st.frozensets(st.sampled_from(["default-scheduler", "other"]), min_size=1),
)


@given(
    st.lists(PROFILES, max_size=5),
    LABELS,
    st.sampled_from(["", *SETS]),
    st.sampled_from(["", "other"]),
)
def test_no_pod_gets_a_shadowed_profile(
    profiles: list[Profile], labels: dict[str, str], kind: str, scheduler: str
) -> None:
    named = [Profile(**_members(one), name=f"p{number}") for number, one in enumerate(profiles)]
    owner = OwnerReference(kind=kind, name="web", controller=True)
    metadata = ObjectMeta(labels=labels, owner_references=(owner,) if kind else ())
    pod = PodTemplate(metadata, PodSpec(scheduler_name=scheduler))

    fitting = profile_of(pod, "shop", policy(*named), NoFacts())

    shadowed = {sentence.split("'")[1] for sentence in find_shadowed(policy(*named))}
    assert fitting is None or fitting.name not in shadowed


def _members(profile: Profile) -> dict[str, Any]:
    names = ("object_selector", "owner_kinds", "scheduler_names")
    return {name: getattr(profile, name) for name in names}
