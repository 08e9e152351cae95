"""The ranks that pods get when they are bound."""

import pytest

from tests.cluster.objects import cached_pod, node
from tests.cluster.zones import Zones
from webhook.cluster.rankledger import LEDGERS, RESERVED_S
from webhook.policy.model import ZONE


def test_ranks_are_counted_in_each_domain() -> None:
    zones = Zones()

    assert [zones.bind(f"w{number}", "aab"[number]) for number in range(3)] == [1, 2, 1]


def test_the_lowest_rank_that_no_live_pod_of_the_domain_holds_is_given() -> None:
    zones = Zones()
    zones.put(
        cached_pod("w1", "a1", rank=1),
        cached_pod("w2", "a2", rank=3),
        cached_pod("w3", "b1", rank=2),
        cached_pod("w4", "a1"),
        cached_pod("w5", "x", rank=2),
        cached_pod("w6", rank=2),
        cached_pod("w7", "a1", rank=2, phase="Succeeded"),
    )

    assert [zones.bind("new"), zones.bind("newer")] == [2, 4]


def test_other_controllers_and_namespaces_do_not_count() -> None:
    zones = Zones()
    zones.put(
        cached_pod("w1", "a1", rank=1, controller="u2"),
        cached_pod("w2", "a1", rank=1, namespace="else"),
    )

    assert zones.bind("new") == 1


def test_a_pod_that_is_bound_again_to_its_domain_has_the_same_rank() -> None:
    zones = Zones()

    assert [zones.bind("w1"), zones.bind("w2"), zones.bind("w1"), zones.bind("w1")] == [1, 2, 1, 1]


def test_a_pod_that_is_bound_to_another_domain_frees_its_rank() -> None:
    zones = Zones()

    assert [zones.bind("w1"), zones.bind("w1", "b"), zones.bind("w2")] == [1, 1, 1]


def test_the_watch_shows_the_rank_that_was_reserved() -> None:
    zones = Zones()
    zones.bind("w1")
    zones.put(cached_pod("w1", "a1", rank=1))

    zones.now += RESERVED_S
    assert zones.bind("w2") == 2


def test_a_change_of_an_unbound_pod_does_not_end_its_reservation() -> None:
    zones = Zones()
    zones.bind("w1")
    zones.put(cached_pod("w1", key="rack"), cached_pod("w1"))

    assert zones.bind("w2") == 2


def test_a_reservation_ends_with_its_pod() -> None:
    zones = Zones()
    zones.bind("w1")
    zones.pods.remove("shop", "w1")

    assert zones.bind("w2") == 1


@pytest.mark.parametrize(("passed", "rank"), [(RESERVED_S - 1, 2), (RESERVED_S, 1)])
def test_a_reservation_ends_after_some_time(passed: float, rank: int) -> None:
    zones = Zones()
    zones.bind("w1")
    zones.now += passed

    assert zones.bind("w2") == rank


def test_a_repeated_binding_is_reserved_for_longer() -> None:
    zones = Zones()
    zones.bind("w1")
    zones.now += RESERVED_S - 1
    zones.bind("w1")
    zones.now += RESERVED_S - 1

    assert zones.bind("w2") == 2


def test_the_rank_of_a_removed_pod_is_free() -> None:
    zones = Zones()
    zones.put(cached_pod("w1", "a1", rank=1), cached_pod("w2", "a1", rank=2))
    first = zones.bind("w3")
    zones.pods.remove("shop", "w1")

    assert (first, zones.bind("w4")) == (3, 1)


def test_a_rank_that_two_pods_hold_is_free_when_both_are_gone() -> None:
    zones = Zones()
    zones.put(cached_pod("w1", "a1", rank=1), cached_pod("w2", "a2", rank=1))
    zones.bind("w3")
    zones.pods.remove("shop", "w1")
    held = zones.bind("w4")
    zones.pods.remove("shop", "w2")

    assert (held, zones.bind("w5")) == (3, 1)


def test_other_labels_of_a_node_move_its_pods() -> None:
    zones = Zones()
    zones.put(cached_pod("w1", "a1", rank=1))
    first = zones.bind("w2", "b")
    zones.nodes.put(node("a1", {ZONE: "b"}))

    assert (first, zones.bind("w3", "b"), zones.bind("w4", "a")) == (1, 2, 1)


def test_pods_on_a_node_that_appears_late_count() -> None:
    zones = Zones()
    zones.put(cached_pod("w1", "c1", rank=1))
    zones.bind("w2")
    zones.nodes.put(node("c1", {ZONE: "c"}))

    assert zones.bind("w3", "c") == 2


def test_pods_of_one_controller_may_have_different_keys() -> None:
    zones = Zones()
    zones.nodes.put(node("a1", {ZONE: "a", "rack": "r"}))
    zones.put(cached_pod("w1", "a1", rank=1))

    assert [zones.bind("w2", "r", key="rack"), zones.bind("w3", "a")] == [2, 2]
    assert [zones.bind("w4", "r", key="rack"), zones.bind("w5", "a")] == [3, 3]


def test_a_pod_of_another_controller_leaves_the_first_one() -> None:
    zones = Zones()
    zones.put(cached_pod("w1", "a1", rank=1))
    zones.bind("w2")
    zones.put(cached_pod("w1", "a1", rank=1, controller="u2"))

    assert [zones.bind("w3"), zones.bind("w4", controller="u2")] == [1, 2]


def test_a_pod_that_is_adopted_frees_its_reservation() -> None:
    zones = Zones()
    zones.bind("w1")
    zones.put(cached_pod("w1", controller="u2"))

    assert zones.bind("w2") == 1


def test_labels_that_change_while_pods_are_bound_keep_what_is_reserved() -> None:
    zones = Zones()
    zones.nodes.put(node("b1", {ZONE: "b", "rack": "r"}))
    zones.bind("w1")
    zones.bind("w2", "r", key="rack")
    zones.nodes.put(node("a1", {ZONE: "b"}))
    zones.pods.remove("shop", "w2")

    assert [zones.bind("w3"), zones.bind("w4", "r", key="rack")] == [2, 1]


def test_more_controllers_than_are_counted_at_a_time_are_bound_in_turns() -> None:
    zones = Zones()
    for turn in (1, 2, 3):
        for controller in range(LEDGERS + 1):
            assert zones.bind(f"w-{controller}-{turn}", controller=f"{controller}") == turn
