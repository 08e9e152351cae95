"""
What TSC114 suggests makes pods even, whatever pods are deleted first and wherever new ones go.

New pods go to any zone that kube-scheduler's filter allows. Old pods may be deleted in any order.
"""

from collections.abc import Callable, Iterator

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.build import Json, policy, spread
from tests.policy.advice.subjects import (
    NO_MATCH_LABEL_KEYS,
    audit,
    check_rule,
    deployed,
    running,
    subject,
    workload,
    zones,
)
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import REPLICA_SET, STATEFUL_SET

NODES = zones("a1", "b1", "c1")
Pods = tuple[int, ...]
State = tuple[Pods, Pods]
"""Old and new pods in each zone."""


def add(pods: Pods, zone: int, number: int = 1) -> Pods:
    return (*pods[:zone], pods[zone] + number, *pods[zone + 1 :])


def allowed(counted: Pods, max_skew: int) -> Iterator[int]:
    """List the zones that the filter allows."""
    return (zone for zone, pods in enumerate(counted) if pods + 1 - min(counted) <= max_skew)


def total(old: Pods, new: Pods) -> Pods:
    return tuple(map(sum, zip(old, new, strict=True)))


def roll_out(state: State, replicas: int, max_skew: int, *, apart: bool) -> Iterator[State]:
    """Add a new pod beside the old ones, or delete an old one of more pods than replicas."""
    old, new = state
    number = sum(old) + sum(new)
    if sum(new) < replicas and number <= replicas:
        counted = new if apart else total(old, new)
        yield from ((old, add(new, zone)) for zone in allowed(counted, max_skew))
    if number > replicas:
        yield from ((add(old, zone, -1), new) for zone, pods in enumerate(old) if pods)


def replace_old(state: State, replicas: int, max_skew: int, *, apart: bool) -> Iterator[State]:
    """Delete an old pod, and create a new one in its place, as StatefulSets do."""
    del replicas
    old, new = state
    for zone, pods in enumerate(old):
        left = add(old, zone, -1)
        counted = new if apart else total(left, new)
        if pods:
            yield from ((left, add(new, to)) for to in allowed(counted, max_skew))


def delete_in_full(state: State, replicas: int, max_skew: int) -> Iterator[State]:
    """Delete a pod of a zone that is too full, and create another in its place."""
    del replicas
    pods, none = state
    for zone, number in enumerate(pods):
        if number > min(pods) + max_skew:
            left = add(pods, zone, -1)
            yield from ((add(left, to), none) for to in allowed(left, max_skew))


def find_ends(start: State, step: Callable[[State], Iterator[State]]) -> set[Pods]:
    """Find every distribution of the pods from which no step is left."""
    found, ends, todo = {start}, set[Pods](), [start]
    while todo:
        state = todo.pop()
        following = set(step(state))
        if not following:
            ends.add(total(*state))
        todo += following - found
        found |= following
    return ends


KINDS = (None, REPLICA_SET, STATEFUL_SET)


@given(
    st.tuples(*[st.integers(0, 3)] * 3),
    st.sampled_from(KINDS),
    st.integers(1, 2),
    st.booleans(),
    st.booleans(),
)
def test_the_suggestion_makes_pods_even(
    pods: Pods, kind: object, max_skew: int, by_hash: bool, has_gate: bool
) -> None:
    key = "controller-revision-hash" if kind == STATEFUL_SET else "pod-template-hash"
    keys: Json = {"matchLabelKeys": [key]} if by_hash and has_gate else {}
    constraint = spread(maxSkew=max_skew, **keys)
    judged = build(constraint, kind, sum(pods))
    nodes = [node.name for node, n in zip(NODES, pods, strict=True) for _ in range(n)]
    group = running(*nodes, constraints=(constraint,))
    known = policy() if has_gate else policy(gates=NO_MATCH_LABEL_KEYS)

    found = check_rule(
        "TSC114", replace(judged, running=(group,)), audit(NODES, [group], config=known)
    )

    assert bool(found) is (max(pods) - min(pods) > max_skew and sum(pods) > 1)
    for violation in found:
        # a rebalancing is proven by its own tests; here, what stands beside it
        _, found_beside, action = violation.instead.partition(
            "moves the fewest pods, if PodDisruptionBudgets allow it; "
        )
        assert found_beside
        apart = bool(keys) or action.startswith("or add ")

        def step(state: State, action: str = action, *, apart: bool = apart) -> Iterator[State]:
            if action.startswith("or delete pods in "):
                return delete_in_full(state, sum(pods), max_skew)
            steps = replace_old if kind == STATEFUL_SET else roll_out
            return steps(state, sum(pods), max_skew, apart=apart)

        ends = find_ends((pods, (0, 0, 0)), step)
        assert all(max(end) - min(end) <= max_skew for end in ends)
        assert {sum(end) for end in ends} == {sum(pods)}


def build(constraint: Json, kind: object, replicas: int) -> Subject:
    if kind is None:
        return deployed(constraint, replicas=replicas)
    chosen = STATEFUL_SET if kind == STATEFUL_SET else REPLICA_SET
    return subject(workload(constraint, kind=chosen, replicas=replicas))
