import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.cluster.spreadpolicies import PolicyMetadata, SpreadPolicyStore, decode_policy
from webhook.config.spreadpolicies import SpreadPolicy
from webhook.policy.defaulting.policystatus import PolicyStatus, StatusCondition
from webhook.policy.defaulting.profiles import Profile
from webhook.policy.nesting import decode_nested

CONSTRAINT = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}


def policy(name: str = "web", order: Any = 0, **members: Any) -> bytes:
    return json.dumps(
        {
            "apiVersion": "evenspread.io/v1alpha1",
            "kind": "SpreadPolicy",
            "metadata": {"name": name, "namespace": None, "generation": 3},
            "spec": {"order": order, "defaultConstraints": []},
            **members,
        }
    ).encode()


BROKEN = policy(spec={"defaultConstraints": [{**CONSTRAINT, "maxSkew": 0}], "order": "x"})


class Changes:
    """A store of policies, and the number of changes that it reported."""

    def __init__(self) -> None:
        self.number = 0
        self.store = SpreadPolicyStore(self.count)

    def count(self) -> None:
        self.number += 1

    def put(self, data: bytes) -> None:
        self.store.put(decode_policy(data))

    @property
    def orders(self) -> dict[str, int]:
        return {found.name: found.order for found in self.store.policies}


def test_a_policy_is_decoded() -> None:
    found = decode_policy(policy(order=5))

    assert found.found == SpreadPolicy(5, Profile(name="web"))
    assert (found.name, found.namespace, found.problem) == ("web", "", "")


STATUS = {
    "observedGeneration": 2,
    "conditions": [{"type": "Accepted", "status": "True"}],
    "pendingPods": 1,
}


def test_what_a_change_of_the_status_depends_on_is_decoded() -> None:
    metadata = {"name": "web", "uid": "u1", "resourceVersion": "7", "generation": 3}

    found = decode_policy(policy(metadata=metadata, status=STATUS))

    assert found.metadata == PolicyMetadata("web", uid="u1", resource_version="7", generation=3)
    assert found.status == PolicyStatus(
        observed_generation=2,
        conditions=(StatusCondition("Accepted", "True"),),
        pending_pods=1,
    )


@pytest.mark.parametrize("status", [None, "ready", {"conditions": [{}]}, {"pendingPods": "1"}])
def test_a_status_that_cannot_be_read_is_none(status: Any) -> None:
    assert decode_policy(policy(status=status)).status is None


def test_a_broken_policy_has_a_status_too() -> None:
    assert decode_policy(policy(spec=7, status=STATUS)).status is not None


def test_the_store_keeps_the_status_and_does_not_report_its_changes() -> None:
    changes = Changes()
    changes.put(policy())
    changes.put(policy(status=STATUS))

    (kept,) = changes.store.objects
    assert kept.status is not None
    assert kept.status.pending_pods == 1
    assert changes.number == 1

    changes.put(policy(spec=7))
    (kept,) = changes.store.objects
    assert kept.status is None
    assert kept.found is not None
    assert kept.problem


def test_a_policy_that_cannot_be_read_is_decoded_with_its_problems() -> None:
    found = decode_policy(BROKEN)

    assert (found.name, found.found) == ("web", None)
    assert [line.partition(":")[0] for line in found.problem.splitlines()] == [
        "spec.order",
        "spec.defaultConstraints[0].maxSkew",
    ]


def test_what_is_no_object_is_not_decoded() -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_policy(b"7")


def test_a_policy_that_is_nested_too_deeply_has_a_problem() -> None:
    deep = b"[" * 5000 + b"]" * 5000
    data = policy(spec=0).replace(b'"spec": 0', b'"spec": {"x": %s}' % deep)

    found = decode_nested(decode_policy, data)

    assert "spec.x: no such key" in found.problem


def test_policies_come_change_and_go() -> None:
    changes = Changes()
    for data in (policy("a", 1), policy("b", 2), policy("a", 3)):
        changes.put(data)
    changes.store.remove("", "b")
    changes.store.remove("", "b")

    assert changes.orders == {"a": 3}
    assert list(changes.store.iterate_keys()) == [("", "a")]
    assert (changes.number, len(changes.store)) == (4, 1)


def test_the_last_version_that_could_be_read_stays() -> None:
    changes = Changes()
    changes.put(policy(order=1))
    changes.put(BROKEN)
    changes.put(BROKEN)

    assert changes.orders == {"web": 1}
    assert list(changes.store.problems) == ["web"]
    assert changes.number == 2

    changes.put(policy(order=1))
    assert (changes.orders, changes.store.problems, changes.number) == ({"web": 1}, {}, 3)


def test_a_policy_that_could_never_be_read_is_known_until_it_is_deleted() -> None:
    changes = Changes()
    changes.put(BROKEN)
    assert (changes.orders, len(changes.store), list(changes.store.problems)) == ({}, 1, ["web"])

    changes.store.remove("", "web")
    assert (len(changes.store), changes.store.problems, changes.number) == (0, {}, 2)


def test_a_change_that_concerns_no_policy_is_none() -> None:
    changes = Changes()
    changes.put(policy())
    changes.put(policy(status={"conditions": []}))

    assert changes.number == 1


STEPS = st.tuples(st.sampled_from("abc"), st.sampled_from(["broken", "gone", 1, 2]))


@given(st.lists(STEPS))
def test_the_store_has_of_each_policy_the_last_good_version(
    steps: list[tuple[str, str | int]],
) -> None:
    changes, expected, broken = Changes(), dict[str, int](), set[str]()
    for name, step in steps:
        broken.discard(name)
        if step == "gone":
            changes.store.remove("", name)
            expected.pop(name, None)
        elif step == "broken":
            changes.put(policy(name, "x"))
            broken.add(name)
        else:
            changes.put(policy(name, step))
            expected[name] = int(step)

    assert changes.orders == expected
    assert set(changes.store.problems) == broken
