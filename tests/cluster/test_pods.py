"""Live pods by name and by controller."""

import pytest

from tests.cluster.objects import cached_pod, node
from tests.cluster.zones import Zones
from webhook.cluster.quota import OBJECT_BYTES, NamespaceQuota, NamespaceSizeError
from webhook.cluster.rankledger import Controller
from webhook.cluster.wire import PodObject
from webhook.policy.model import ZONE
from webhook.policy.scaledown.binding import RankedPod

KEY = len("u1") + len(ZONE)


def test_a_pod_is_found_by_its_name() -> None:
    zones = Zones()
    zones.put(cached_pod("w1"), cached_pod("w2", "a1", rank=3))

    assert zones.pods.find("shop", "w1") == RankedPod(ZONE)
    assert zones.pods.find("shop", "w2") == RankedPod(ZONE, "a1", 3)
    assert zones.pods.find("shop", "w3") is None
    assert zones.pods.find("else", "w1") is None
    assert len(zones.pods) == 2
    assert set(zones.pods.iterate_keys()) == {("shop", "w1"), ("shop", "w2")}


@pytest.mark.parametrize(
    "changed", [cached_pod("w1", phase="Failed"), cached_pod("w1", controller="")]
)
def test_a_pod_that_is_not_live_or_has_no_controller_is_absent(changed: PodObject) -> None:
    zones = Zones()
    zones.put(cached_pod("w1"), changed)

    assert len(zones.pods) == 0
    assert list(zones.pods.iterate_keys()) == []


def test_removing_an_unknown_pod_does_nothing() -> None:
    zones = Zones()
    zones.put(cached_pod("w1"))

    zones.pods.remove("shop", "w2")
    zones.pods.remove("else", "w1")

    assert len(zones.pods) == 1


def test_the_domain_is_the_label_of_the_node_now() -> None:
    zones = Zones()
    before = zones.pods.domain("a1", ZONE)
    zones.nodes.put(node("a1", {ZONE: "c"}))

    assert (before, zones.pods.domain("a1", ZONE)) == ("a", "c")
    assert zones.pods.domain("x", ZONE) is None


def test_a_pod_that_is_not_stored_gets_no_rank() -> None:
    with pytest.raises(KeyError):
        Zones().pods.reserve("shop", "w1", "a")


def test_a_namespace_takes_no_more_than_its_quota() -> None:
    zones = Zones(NamespaceQuota(2 * (OBJECT_BYTES + KEY)))
    zones.put(cached_pod("w1"), cached_pod("w2"), cached_pod("w1"), cached_pod("w3", controller=""))

    with pytest.raises(NamespaceSizeError):
        zones.put(cached_pod("w3"))
    with pytest.raises(NamespaceSizeError):
        zones.put(cached_pod("w1", "a1"))
    zones.put(cached_pod("w3"), cached_pod("w4", namespace="else"))

    assert set(zones.pods.iterate_keys()) == {("shop", "w2"), ("shop", "w3"), ("else", "w4")}


def test_a_pod_with_its_node_needs_no_reservation_any_more() -> None:
    zones = Zones()
    zones.bind("w1")
    zones.put(cached_pod("w1", "b1"))  # another replica answered, or none

    assert zones.bind("w2") == 1


def test_controllers_with_changed_pods_are_taken_once() -> None:
    zones = Zones()
    zones.put(cached_pod("w1"), cached_pod("w2"), cached_pod("v1", controller="u2"))

    assert zones.pods.take_changed() == {Controller("shop", "u1"), Controller("shop", "u2")}
    assert not zones.pods.take_changed()

    zones.put(cached_pod("w1"), cached_pod("v1", "a1", controller="u2"))
    assert zones.pods.take_changed() == {Controller("shop", "u2")}

    zones.pods.remove("shop", "w1")
    zones.pods.remove("shop", "v1")
    assert zones.pods.take_changed() == {Controller("shop", "u1")}  # of u2 there is no pod left


def test_pods_of_a_controller_are_a_copy() -> None:
    zones = Zones()
    zones.put(cached_pod("w1", "a1", rank=1))

    pods = zones.pods.pods_of(Controller("shop", "u1"))
    zones.pods.remove("shop", "w1")

    assert pods == {"w1": RankedPod(ZONE, "a1", 1)}
    assert zones.pods.pods_of(Controller("shop", "u1")) == {}
