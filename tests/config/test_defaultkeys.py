"""matchLabelKeys of profiles that no pod of theirs carries."""

from time import process_time

import pytest

from tests.build import default, policy, profile
from webhook.config.defaultkeys import find_absent_keys
from webhook.policy.defaulting.profiles import Profile
from webhook.policy.model import ZONE, LabelSelector

HASH, REVISION = "pod-template-hash", "controller-revision-hash"
START = "profile 'cluster': matchLabelKeys of the default on topology.kubernetes.io/zone: "
JUDGED_S = 1.0  # of CPU time; it takes a fifth of that
SETS = frozenset({"StatefulSet"})
RANKED = LabelSelector({"pod-template-hsh": "a"})


def keyed(*keys: str, owners: frozenset[str] | None = None, **changes: object) -> Profile:
    constraints = (default(match_label_keys=keys),)
    return profile(constraints=constraints, owner_kinds=owners, **changes)


CASES: dict[str, tuple[Profile, str]] = {
    "no keys": (keyed(), ""),
    "the key of some pods": (keyed(HASH), ""),
    "a label of the pods": (keyed("app"), ""),
    "a typing error": (
        keyed("pod-template-hsh"),
        "no controller adds pod-template-hsh to pods: did you mean pod-template-hash?",
    ),
    "a label that the profile selects by": (keyed("pod-template-hsh", object_selector=RANKED), ""),
    "the key of another owner": (
        keyed(HASH, owners=SETS),
        (
            "pods of a StatefulSet never carry pod-template-hash, so kube-scheduler ignores it: "
            "write controller-revision-hash"
        ),
    ),
    "the key of the owner": (keyed(REVISION, owners=SETS), ""),
    "the key of one of the owners": (keyed(HASH, owners=SETS | {"ReplicaSet"}), ""),
    "an owner without revisions": (
        keyed(HASH, owners=frozenset({"Job"})),
        "pods of a Job never carry pod-template-hash, so kube-scheduler ignores it: leave it out",
    ),
    "an owner with revisions in OpenShift only": (
        keyed(HASH, owners=frozenset({"ReplicationController", "Job"})),
        (
            "pods of a Job or ReplicationController never carry pod-template-hash, so "
            "kube-scheduler ignores it: leave it out"
        ),
    ),
    "an owner of an unknown kind": (keyed(HASH, owners=SETS | {"Shards"}), ""),
}


@pytest.mark.parametrize(("judged", "sentence"), CASES.values(), ids=CASES.keys())
def test_keys_that_no_pod_carries(judged: Profile, sentence: str) -> None:
    assert find_absent_keys(policy(judged)) == ([f"{START}{sentence}"] if sentence else [])


def test_a_key_is_reported_for_each_default_that_has_it() -> None:
    zones, racks = (
        default(topology_key=key, match_label_keys=(HASH, "app")) for key in (ZONE, "rack")
    )
    judged = profile(constraints=(zones, racks), owner_kinds=SETS)

    found = find_absent_keys(policy(judged, keyed()))

    assert [sentence.split(": ")[1] for sentence in found] == [
        "matchLabelKeys of the default on topology.kubernetes.io/zone",
        "matchLabelKeys of the default on rack",
    ]


def test_many_large_profiles_are_judged_in_little_time() -> None:
    """Servers judge them at each change of a SpreadPolicy, between two reviews."""
    keys = tuple(f"example.com/key-{number}" for number in range(32))
    selector = LabelSelector(dict.fromkeys((f"label-{number}" for number in range(32)), "a"))
    constraints = tuple(
        default(topology_key=f"key-{number}", match_label_keys=keys) for number in range(32)
    )
    large = profile(constraints=constraints, object_selector=selector)
    began = process_time()

    assert find_absent_keys(policy(*[large] * 100)) == []

    assert process_time() - began < JUDGED_S
