import pytest

from tests.build import profile, requirement, selector
from webhook.export.precedence import (
    Precedence,
    controlled_by,
    controller_rows,
    find_precedence,
    scheduled_by,
)
from webhook.policy.defaulting.profiles import Profile

PROD = selector(tier="prod")
FRONT = selector(requirement("front", "Exists"))
SETS = frozenset({"StatefulSet"})
TIER = "namespaceObject.metadata.?labels.orValue({})"
ALL = {"ReplicationController", "ReplicaSet", "StatefulSet"}


def named(**changes: object) -> Profile:
    return profile(name="earlier", **changes)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (named(scheduler_names=frozenset({"other"})), profile()),
        (named(owner_kinds=frozenset({"Job"})), profile()),
        (named(owner_kinds=SETS), profile(owner_kinds=frozenset({"ReplicaSet"}))),
    ],
)
def test_profiles_without_common_pods_are_independent(earlier: Profile, later: Profile) -> None:
    assert find_precedence(later, [earlier]) == Precedence()


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (named(), profile()),
        (named(object_selector=selector(), namespace_selector=selector()), profile()),
        (named(), profile(namespace_selector=PROD, owner_kinds=SETS)),
        (named(namespace_selector=PROD), profile(namespace_selector=PROD)),
        (named(owner_kinds=frozenset(ALL)), profile()),
        (named(owner_kinds=SETS | {"Job"}), profile(owner_kinds=SETS)),
    ],
)
def test_an_earlier_profile_may_hide_a_later_one(earlier: Profile, later: Profile) -> None:
    assert find_precedence(later, [earlier]) == Precedence(hidden_by="earlier")


def test_an_earlier_profile_takes_some_pods() -> None:
    schedulers = frozenset({"default-scheduler", "other"})
    earlier = [
        named(namespace_selector=PROD, object_selector=FRONT),
        named(owner_kinds=SETS),
        named(),
    ]

    found = find_precedence(profile(scheduler_names=schedulers), earlier)

    front = '"front" in object.metadata.?labels.orValue({})'
    scheduler = 'object.spec.?schedulerName.orValue("default-scheduler") in ["default-scheduler"]'
    sets = controlled_by(controller_rows(earlier[1]))
    assert found.hidden_by == ""
    assert found.conditions == (
        f'{scheduler} && ("tier" in {TIER} && {TIER}["tier"] == "prod") && {front}',
        f"{scheduler} && {sets}",
        scheduler,
    )


def test_controllers_with_selectors_are_listed() -> None:
    assert {row.kind for row in controller_rows(profile())} == ALL
    assert [row.kind for row in controller_rows(profile(owner_kinds=SETS | {"Job"}))] == [*SETS]
    assert controller_rows(profile(owner_kinds=frozenset({"Job"}))) == ()


def test_conditions_name_versions_and_schedulers() -> None:
    assert scheduled_by({"b", "a"}) == (
        'object.spec.?schedulerName.orValue("default-scheduler") in ["a", "b"]'
    )
    assert controlled_by(controller_rows(profile())) == (
        "object.metadata.?ownerReferences.orValue([]).exists(owner, "
        'owner.?controller.orValue(false) && owner.apiVersion + "/" + owner.kind in '
        '["apps/v1/ReplicaSet", "apps/v1/StatefulSet", "v1/ReplicationController"])'
    )
