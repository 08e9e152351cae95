"""New pods are placed one after another, those of a StatefulSet by their ordinals."""

from collections.abc import Callable, Sequence
from dataclasses import replace as replace_fields
from itertools import islice

import pytest
from msgspec.structs import replace

from tests.explain.scenarios import scenario
from tests.policy.placement.clusters import node, spread_over
from tests.policy.placement.filters.objects import cluster
from tests.policy.placement.filters.volumes import bound_claim, volume_object
from webhook.explain.newpods import (
    ALIKE,
    TRIED_TWICE,
    NewPod,
    PodSuccession,
    count_placed,
    describe_choice,
    describe_succession,
    place_pods,
)
from webhook.explain.nodeedits import Cordon
from webhook.explain.scenario import RaiseMaxSkew, Scenario, Tolerate
from webhook.policy.model import HOSTNAME, SCHEDULE_ANYWAY, ZONE, LabelSelector, Node
from webhook.policy.placement.filters.filterpods import CLAIM, PodVolume
from webhook.policy.placement.nodes import UNSCHEDULABLE

TWO = (node("n1", "a"), node("n2", "b"))
EMPTY = scenario((*TWO, node("n3", "c")), spread_over())


def count_even_ordinals(ordinal: int) -> NewPod:
    """Build a pod whose label is the parity of its ordinal, and which counts its like."""
    labels = {"odd": str(ordinal % 2)}
    spreads = scenario((), spread_over(label_selector=LabelSelector(labels))).spreads
    return NewPod(replace(EMPTY.pod, labels=labels), spreads)


def cordoned() -> Scenario:
    """Build a cluster in which an empty zone takes no pods, so that one pod fits in each other."""
    return scenario((*TWO, replace(node("n3", "c"), unschedulable=True)), spread_over())


SUCCESSION = PodSuccession(count_even_ordinals)


def test_alike_pods_are_placed_until_one_has_no_node() -> None:
    end, placed, _ = place_pods(cordoned(), 5)

    assert placed == {"n1": 1, "n2": 1}
    assert not end.placement().passing


@pytest.mark.parametrize(("max_skew", "placed"), {1: [0, 0], 2: [3, 2], 3: [3, 3]}.items())
def test_another_choice_may_place_fewer_pods(max_skew: int, placed: list[int]) -> None:
    """If two pods of zone b share a node, its empty one keeps a third pod from the node of a."""
    nodes = [node("a1", "a"), *(node(name, "b") for name in ("b1", "b2", "b3"))]
    pods = {"a1": 1, "b1": 1, "b2": 1}
    question = scenario(nodes, spread_over(), spread_over(HOSTNAME), pods=pods)

    edits = (RaiseMaxSkew(1, HOSTNAME, 1, max_skew),)

    assert list(count_placed(question, 3, ALIKE, edits)) == placed


def test_ordinals_that_are_taken_are_left_out() -> None:
    end, placed, _ = place_pods(cordoned(), 2, replace(SUCCESSION, taken=frozenset({1, 3})))

    assert placed == {"n1": 1, "n2": 1}  # ordinals 0 and 2
    assert (end.pod.labels, end.spreads) == ({"odd": "0"}, count_even_ordinals(0).spreads)


def test_in_order_a_pending_pod_keeps_the_others_from_being_created() -> None:
    succession = replace(SUCCESSION, taken=frozenset({1, 3}))

    end, placed, _ = place_pods(cordoned(), 4, succession)

    assert (end.pod.labels, placed.total()) == ({"odd": "0"}, 2)


def test_in_order_pods_that_exist_are_placed_beside_a_pending_one() -> None:
    # Ordinals 0 and 2 are placed, 4 has no place, 5 exists, and 6 and 7 are not created.
    succession = replace(SUCCESSION, taken=frozenset({1, 3}), waiting=frozenset({5}))

    end, placed, awaiting = place_pods(cordoned(), 5, succession)

    assert (end.pod.labels, placed.total()) == ({"odd": "0"}, 3)
    assert awaiting.taken == {0, 1, 2, 3, 5}


def test_in_parallel_the_others_are_created() -> None:
    succession = replace(SUCCESSION, taken=frozenset({1, 3}), is_parallel=True)

    end, placed, _ = place_pods(cordoned(), 4, succession)  # of the ordinals 0, 2, 4 and 5

    assert (end.pod.labels, placed.total()) == ({"odd": "0"}, 3)


def test_the_pods_without_a_node_await_one_in_the_order_of_their_ordinals() -> None:
    succession = replace(SUCCESSION, taken=frozenset({1, 3}), is_parallel=True)

    end, _, awaiting = place_pods(cordoned(), 4, succession)

    following = islice(awaiting.follow(end), 2)
    assert awaiting.taken == {0, 1, 2, 3, 5}
    assert [ordinal for ordinal, _ in following] == [4, 6]


def test_edits_change_the_cluster_once_and_each_pod() -> None:
    raised = RaiseMaxSkew(0, ZONE, 1, 2)
    other = RaiseMaxSkew(0, HOSTNAME, 1, 9)  # of another revision
    succession = replace(SUCCESSION, is_parallel=True)

    placed = place_pods(cordoned(), 8, succession, (raised, other, Cordon("n1"))).placed

    assert placed == {"n2": 4}
    toleration = Tolerate(UNSCHEDULABLE)
    assert place_pods(cordoned(), 6, succession, (toleration,)).placed.total() == 6


def test_different_constraints_are_noted() -> None:
    assert list(describe_succession(EMPTY, 2, ALIKE)) == []
    assert list(describe_succession(EMPTY, 0, SUCCESSION)) == []
    (note,) = describe_succession(EMPTY, 2, SUCCESSION)
    assert "their labels differ" in note


def test_another_choice_is_noted_if_it_matters_or_takes_too_long() -> None:
    for number, notes in ((3, 0), (1, 1), (TRIED_TWICE + 1, 1)):
        placed = place_pods(EMPTY, number).placed
        assert len(list(describe_choice(EMPTY, number, ALIKE, placed))) == notes


RACKS = [node("a1", "a", rack="r"), node("a2", "a", rack="s"), node("b1", "b", rack="s")]

CLOSED_RACK = [
    node("n0", "a", rack="r2"), node("n2", "a", rack="r3"), node("n3", "b", rack="r3"),
    replace(node("n4", "a", rack="r1"), unschedulable=True),
]  # fmt: skip

# nodes, replicas, the end of the note; the constraints are on zones and on racks
CHOICES: dict[str, tuple[Sequence[Node], int, str]] = {
    "every order places all": (RACKS, 1, "on other nodes"),
    "an order leaves one": (RACKS, 2, "and then perhaps leave some Pending"),
    "more are Pending": (RACKS, 9, "and then perhaps leave more of them Pending"),
    "an order leaves more, though both choices place as many": (
        CLOSED_RACK,
        3,
        "and then perhaps leave more of them Pending",
    ),
}


@pytest.mark.parametrize(("nodes", "number", "end"), CHOICES.values(), ids=CHOICES)
def test_another_choice_may_leave_pods_if_some_order_does(
    nodes: Sequence[Node], number: int, end: str
) -> None:
    crossing = scenario(nodes, spread_over(), spread_over("rack"))
    placed = place_pods(crossing, number).placed

    (note,) = describe_choice(crossing, number, ALIKE, placed)

    assert note.endswith(end)


# what builds the labels of a pod from its ordinal, and the end of the note
DIFFERING: dict[str, tuple[Callable[[int], dict[str, str]], str]] = {
    "by a label that is not read": (lambda ordinal: {"app": "web", "index": str(ordinal)}, "nodes"),
    "by a label that is selected": (lambda ordinal: {"app": "web" * ordinal}, "some Pending"),
}


@pytest.mark.parametrize(("build", "end"), DIFFERING.values(), ids=DIFFERING.keys())
def test_whether_pods_that_differ_fit_in_every_order_is_known_if_they_are_counted_alike(
    build: Callable[[int], dict[str, str]], end: str
) -> None:
    nodes = [node(f"{zone}{number}", zone) for zone in "abc" for number in (1, 2)]
    crossing = scenario(nodes, spread_over(), spread_over(HOSTNAME))
    succession = PodSuccession(
        lambda ordinal: NewPod(replace(crossing.pod, labels=build(ordinal)), crossing.spreads)
    )
    placed = place_pods(crossing, 3, succession).placed

    (note,) = describe_choice(crossing, 3, succession, placed)

    assert placed.total() == 3
    assert note.endswith(end)


# the zone of the volume of each ordinal, or none; the node of each new pod that has one
VOLUMES: dict[str, tuple[list[str], list[str]]] = {
    "each zone": (["a", "b", "c"], ["n1", "n2", "n3"]),
    "one zone": (["b", "b", "b"], ["n2", "n2", "n2"]),
    "no volume": (["a", "", ""], ["n1", "n2", "n3"]),
    "a zone without nodes": (["a", "x", "c"], ["n1"]),
}


@pytest.mark.parametrize(("zones", "nodes"), VOLUMES.values(), ids=VOLUMES)
def test_new_pods_go_to_the_volumes_of_their_ordinals(zones: list[str], nodes: list[str]) -> None:
    names = [f"data-{ordinal}" for ordinal in range(3)]
    claims = [bound_claim(name, name) for name in names]
    volumes = [
        volume_object(name, labels={ZONE: zone}) for name, zone in zip(names, zones, strict=True)
    ]
    storage = cluster([], persistentVolumeClaims=claims, persistentVolumes=volumes).storage
    soft = scenario(EMPTY.topology.nodes, spread_over(when_unsatisfiable=SCHEDULE_ANYWAY))
    known = replace(soft, cluster=replace_fields(soft.cluster, storage=storage))

    def build(ordinal: int) -> NewPod:
        has_volume = ordinal < len(zones) and zones[ordinal]
        used = (PodVolume(CLAIM, names[ordinal], "shop"),) if has_volume else ()
        return NewPod(replace(known.pod, volumes=used), known.spreads)

    found = place_pods(known, 3, PodSuccession(build))

    assert sorted(found.placed.elements()) == nodes
    assert bool(found.end.placement().passing) is (len(nodes) == len(zones))
