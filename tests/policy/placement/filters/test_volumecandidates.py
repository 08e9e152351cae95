from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from webhook.policy.model import LabelSelector, LabelSelectorRequirement, Node
from webhook.policy.placement.filters.storage import (
    Claim,
    ClaimReference,
    Volume,
    VolumeTraits,
)
from webhook.policy.placement.filters.volumecandidates import VolumeCandidates, can_access
from webhook.policy.placement.nodeaffinity import NodeSelectorTerm

RWO = frozenset({"ReadWriteOnce"})
TRAITS = VolumeTraits(class_name="fast", size=5, access_modes=RWO)
CLAIM = Claim(namespace="shop", name="data", uid="u1", traits=TRAITS)
FREE = Volume(name="pv", traits=TRAITS, is_available=True)
OWN = ClaimReference("shop", "data", "u1")


def requires(key: str, *values: str, operator: str = "In") -> LabelSelectorRequirement:
    return LabelSelectorRequirement(key=key, operator=operator, values=values)


def in_term(*requirements: LabelSelectorRequirement) -> NodeSelectorTerm:
    return NodeSelectorTerm(requirements)


N1 = Node("n1", {"zone": "a", "host": "n1"})


def find(claim: Claim, *volumes: Volume, node: Node = N1) -> list[str]:
    return list(VolumeCandidates(claim, volumes).find(node))


# changes of the claim, changes of the volume, whether the claim may get the volume
MATCHES: dict[str, tuple[dict[str, Any], dict[str, Any], bool]] = {
    "a volume that is just large enough": ({}, {}, True),
    "a smaller volume": ({}, {"traits": replace(TRAITS, size=4)}, False),
    "another class": ({}, {"traits": replace(TRAITS, class_name="slow")}, False),
    "another mode": ({}, {"traits": replace(TRAITS, mode="Block")}, False),
    "other attributes": ({}, {"traits": replace(TRAITS, attributes_class="gold")}, False),
    "more access modes": ({}, {"traits": replace(TRAITS, access_modes=RWO | {"x"})}, True),
    "no access modes": ({}, {"traits": replace(TRAITS, access_modes=frozenset())}, False),
    "a volume that is not available": ({}, {"is_available": False}, False),
    "a volume that is being deleted": ({}, {"is_terminating": True}, False),
    "selected labels": (
        {"selector": LabelSelector(match_labels={"a": "b"})}, {"labels": {"a": "b"}}, True
    ),
    "other labels": ({"selector": LabelSelector(match_labels={"a": "b"})}, {}, False),
    "reserved for another claim": ({}, {"claim": ClaimReference("shop", "other")}, False),
    "reserved in another namespace": ({}, {"claim": ClaimReference("bank", "data")}, False),
    "reserved for another uid": ({}, {"claim": ClaimReference("shop", "data", "u2")}, False),
    "reserved for the claim": ({}, {"claim": OWN}, True),
    "reserved for any claim of the name": ({}, {"claim": ClaimReference("shop", "data")}, True),
    "reserved and not available": ({}, {"claim": OWN, "is_available": False}, True),
    "reserved and too small": (
        {}, {"claim": OWN, "traits": replace(TRAITS, size=4)}, False
    ),
}  # fmt: skip


@pytest.mark.parametrize(("claim", "volume", "fits"), MATCHES.values(), ids=MATCHES.keys())
def test_which_volumes_a_claim_may_get(
    claim: dict[str, Any], volume: dict[str, Any], fits: bool
) -> None:
    assert find(replace(CLAIM, **claim), replace(FREE, **volume)) == (["pv"] if fits else [])


def test_the_smallest_volume_comes_first() -> None:
    large, small = (
        replace(FREE, name=name, traits=replace(TRAITS, size=size))
        for name, size in (("large", 9), ("small", 6))
    )

    assert find(CLAIM, large, small, FREE) == ["pv", "small", "large"]


def test_a_reserved_volume_is_the_only_one() -> None:
    reserved = replace(FREE, name="own", claim=OWN)
    elsewhere = replace(reserved, terms=(in_term(requires("zone", "b")),))

    assert find(CLAIM, FREE, reserved) == ["own"]
    assert find(CLAIM, FREE, elsewhere) == []


# terms, whether the node can access the volume
ACCESS: dict[str, tuple[tuple[NodeSelectorTerm, ...] | None, bool]] = {
    "any node": (None, True),
    "no node": ((), False),
    "the node": ((in_term(requires("host", "n1")),), True),
    "another node": ((in_term(requires("host", "n2")),), False),
    "one of several zones": ((in_term(requires("zone", "b", "a")),), True),
    "a label that the node lacks": ((in_term(requires("rack", "1")),), False),
    "a second expression": ((in_term(requires("zone", "a"), requires("host", "n2")),), False),
    "another operator": ((in_term(requires("zone", "b", operator="NotIn")),), True),
    "several terms": ((in_term(requires("zone", "b")), in_term(requires("host", "n1"))), True),
}


@pytest.mark.parametrize(("terms", "accessible"), ACCESS.values(), ids=ACCESS.keys())
def test_the_nodes_that_can_access_a_volume(
    terms: tuple[NodeSelectorTerm, ...] | None, accessible: bool
) -> None:
    assert can_access(terms, N1) is accessible
    assert find(CLAIM, replace(FREE, terms=terms)) == (["pv"] if accessible else [])


some_terms = st.lists(
    st.lists(
        st.builds(
            requires,
            st.sampled_from(("zone", "host")),
            st.sampled_from(("a", "b", "n1")),
            operator=st.sampled_from(("In", "NotIn")),
        ),
        min_size=1,
        max_size=2,
    ).map(lambda requirements: in_term(*requirements)),
    max_size=2,
).map(tuple)
volumes = st.lists(st.tuples(st.none() | some_terms, st.integers(5, 8)), max_size=6)


@given(volumes, st.sampled_from(("a", "b")))
def test_the_index_finds_what_a_search_of_all_volumes_finds(
    written: list[tuple[tuple[NodeSelectorTerm, ...] | None, int]], zone: str
) -> None:
    node = Node("n1", {"zone": zone, "host": "n1"})
    candidates = [
        Volume(name=f"pv{i}", traits=replace(TRAITS, size=size), terms=terms, is_available=True)
        for i, (terms, size) in enumerate(written)
    ]
    ordered = sorted(candidates, key=lambda volume: volume.traits.size)

    assert find(CLAIM, *candidates, node=node) == [
        volume.name for volume in ordered if can_access(volume.terms, node)
    ]
