"""Kinds in ownerKinds of profiles that control no pod."""

from time import process_time

import pytest
from msgspec.structs import replace

from tests.build import policy, profile
from webhook.config.ownerkinds import find_absent_owners
from webhook.policy.model import GroupKind
from webhook.policy.places import TemplatePlaces

JUDGED_S = 1.0  # of CPU time; it takes a fiftieth of that

START = "profile 'cluster': match.ownerKinds: "

CASES: dict[str, tuple[frozenset[str] | None, list[str]]] = {
    "pods of any owner": (None, []),
    "kinds of controllers": (frozenset({"ReplicaSet", "StatefulSet", "Job"}), []),
    "the owner of static pods": (frozenset({"Node"}), []),
    "a shipped custom kind": (frozenset({"CloneSet"}), []),
    "an unknown custom kind": (frozenset({"Shard"}), []),
    "the case": (
        frozenset({"Replicaset"}),
        ["no controller of kind Replicaset is known: did you mean ReplicaSet?"],
    ),
    "letters": (
        frozenset({"ReplicaSet", "StatfulSets"}),
        ["no controller of kind StatfulSets is known: did you mean StatefulSet?"],
    ),
    "a workload above the controller": (
        frozenset({"Deployment"}),
        ["a Deployment does not control its pods: write ReplicaSet, the kind that it creates"],
    ),
    "several": (
        frozenset({"CronJob", "deployment"}),
        [
            "a CronJob does not control its pods: write Job, the kind that it creates",
            "no controller of kind deployment is known: did you mean ReplicaSet?",
        ],
    ),
}


@pytest.mark.parametrize(("owners", "problems"), CASES.values(), ids=CASES.keys())
def test_kinds_that_control_no_pod(owners: frozenset[str] | None, problems: list[str]) -> None:
    found = find_absent_owners(policy(profile(owner_kinds=owners)))

    assert found == [f"{START}{problem}" for problem in problems]


def test_a_configured_kind_may_control_pods() -> None:
    templates: dict[GroupKind, TemplatePlaces] = {
        GroupKind("example.io", "Replicaset"): ("spec", "template")
    }
    written = policy(profile(owner_kinds=frozenset({"Replicaset"})))

    assert find_absent_owners(replace(written, pod_templates=templates)) == []


def test_a_kind_is_reported_for_each_profile_that_has_it() -> None:
    first, second = (
        profile(name=name, owner_kinds=frozenset({"Deployment", "Shard"})) for name in "ab"
    )

    found = find_absent_owners(policy(first, second))

    assert [sentence.split(":")[0] for sentence in found] == ["profile 'a'", "profile 'b'"]


def test_many_large_profiles_are_judged_in_little_time() -> None:
    """Servers judge them at each change of a SpreadPolicy, between two reviews."""
    owners = frozenset(f"{'Shard' * 12}{number}" for number in range(64))
    began = process_time()

    assert find_absent_owners(policy(*[profile(owner_kinds=owners)] * 1000)) == []

    assert process_time() - began < JUDGED_S
