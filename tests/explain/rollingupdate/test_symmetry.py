"""Nodes that kube-scheduler does not distinguish are tried once."""

import pytest

from tests.policy.placement.clusters import node
from webhook.explain.rollingupdate.state import OpenRemoval, RolloutState
from webhook.explain.rollingupdate.symmetry import NodeSymmetry
from webhook.policy.model import HOSTNAME, ZONE

NODES = (
    node("a1", "a"), node("a2", "a"), node("b1", "b"), node("b2", "b"), node("c1", "c"),
    node("x1"),
)  # fmt: skip
NAMES = tuple(one.name for one in NODES)
ALIKE = dict.fromkeys(NAMES, "")


def state(**placed: tuple[int, ...]) -> RolloutState:
    return RolloutState((1, 1), 0, tuple(sorted(placed.items())), (), ())


# topology keys, what distinguishes nodes, the pods, and the nodes to try
CHOICES: dict[str, tuple[tuple[str, ...], dict[str, str], RolloutState, list[str]]] = {
    "a zone of each size, and none": ((ZONE,), ALIKE, state(), ["a1", "c1", "x1"]),
    "nodes by their names": ((HOSTNAME, ZONE), ALIKE, state(), ["a1", "c1", "x1"]),
    "another node of a zone with a pod": (
        (ZONE,), ALIKE, state(a1=(0,)), ["a1", "a2", "b1", "c1", "x1"]
    ),
    "other pods": (
        (ZONE,), ALIKE, state(a1=(0,), b1=(1,)), ["a1", "a2", "b1", "b2", "c1", "x1"]
    ),
    "the same pods": ((ZONE,), ALIKE, state(a1=(0,), b1=(0,)), ["a1", "a2", "c1", "x1"]),
    "a taint": ((ZONE,), {**ALIKE, "b2": "taint"}, state(), ["a1", "b1", "b2", "c1", "x1"]),
    "two keys": (("rack", ZONE), ALIKE, state(), ["a1", "c1", "x1"]),
    "pods elsewhere": ((ZONE,), ALIKE, state(gone=(0,)), ["a1", "c1", "x1"]),
    "no key": ((), ALIKE, state(), ["a1"]),
}  # fmt: skip


@pytest.mark.parametrize(
    ("keys", "signatures", "pods", "expected"), CHOICES.values(), ids=CHOICES.keys()
)
def test_choices(
    keys: tuple[str, ...], signatures: dict[str, str], pods: RolloutState, expected: list[str]
) -> None:
    symmetry = NodeSymmetry(NODES, keys, signatures)

    assert symmetry.choose_different(pods, NAMES) == expected


def test_nodes_that_are_not_known_are_told_apart_by_their_pods() -> None:
    symmetry = NodeSymmetry(NODES, [ZONE], ALIKE)

    found = symmetry.choose_different(state(g1=(0,), g2=(0,), g3=(1,)), ["a1", "g1", "g2", "g3"])

    assert found == ["a1", "g1", "g3"]


def test_domains_of_two_shared_keys_are_not_swapped() -> None:
    nodes = [node(f"{zone}{rack}", zone, rack=rack) for zone in "ab" for rack in "rs"]
    symmetry = NodeSymmetry(nodes, ["rack", ZONE], {one.name: "" for one in nodes})

    assert len(symmetry.choose_different(state(), [one.name for one in nodes])) == 4


def test_states_that_differ_by_like_nodes_are_one() -> None:
    symmetry = NodeSymmetry(NODES, [ZONE], ALIKE)

    assert symmetry.key(state(a1=(0,), a2=(1,))) == symmetry.key(state(b1=(1,), b2=(0,)))
    assert symmetry.key(state(a1=(0, 1))) != symmetry.key(state(a1=(0,), a2=(1,)))
    assert symmetry.key(state(a1=(0,))) != symmetry.key(state(c1=(0,)))
    assert symmetry.key(state(a1=(0,))) != symmetry.key(state(a1=(0,), gone=(1,)))


def test_pods_to_delete_are_told_apart() -> None:
    symmetry = NodeSymmetry(NODES, [ZONE], ALIKE)
    removal = OpenRemoval(1, 0, (), ("a1",))
    open_state = RolloutState((1, 1), 0, (("a1", (0,)), ("a2", (0,))), (), (), removal)

    assert symmetry.choose_different(open_state, ["a1", "a2"]) == ["a1", "a2"]
    assert symmetry.key(open_state) != symmetry.key(state(a1=(0,), a2=(0,)))


def test_the_nodes_of_a_domain_can_be_merged() -> None:
    exact = NodeSymmetry(NODES, [ZONE], ALIKE)
    merged = NodeSymmetry(NODES, [ZONE], ALIKE, merges_nodes=True)

    assert exact.can_merge
    assert not NodeSymmetry(NODES, [HOSTNAME, ZONE], ALIKE).can_merge
    assert merged.key(state(a1=(0, 1))) == merged.key(state(a1=(0,), a2=(1,)))
    assert merged.choose_different(state(a1=(0,)), NAMES) == ["a1", "b1", "c1", "x1"]
