"""matchLabelKeys of profiles that no pod of theirs carries."""

import pytest

from tests.build import default, policy, profile
from webhook.config.defaultkeys import find_absent_keys
from webhook.policy.defaulting.profiles import Profile
from webhook.policy.model import LabelSelector

HASH, REVISION = "pod-template-hash", "controller-revision-hash"
START = "profile 'cluster': matchLabelKeys of the default on topology.kubernetes.io/zone: "
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
