"""The labels that bound volumes require of a new node."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.explain.filterscenarios import TWO, filter_scenario, storage_scenario
from tests.policy.placement.filters.objects import Json, node_object
from tests.policy.placement.filters.volumes import in_zones, uses, volume_object
from webhook.explain.volumelabels import MOST_CHOICES, list_volume_labels
from webhook.policy.model import BETA_ZONE, HOSTNAME, REGION, ZONE

DRIVER_ZONE = "topology.ebs.csi.aws.com/zone"


def volume(name: str = "pv", **spec: Any) -> Json:
    return volume_object(name, **spec)


def terms(*expressions: Json) -> Json:
    """A node affinity with one term for each expression."""
    written = [{"matchExpressions": [one]} for one in expressions]
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": written}}}


# volumes, the labels
REQUIRED: dict[str, tuple[list[Json], list[dict[str, str]]]] = {
    "no volume": ([], [{}]),
    "a volume that all nodes can access": ([volume()], [{}]),
    "one zone": ([volume(**in_zones("c", key=ZONE))], [{ZONE: "c"}]),
    "one of two zones": ([volume(**in_zones("c", "d"))], [{"zone": "c"}, {"zone": "d"}]),
    "two volumes in one zone": (
        [volume("one", **in_zones("c", "d")), volume("two", **in_zones("d", "e"))], [{"zone": "d"}]
    ),
    "two volumes in two zones": (
        [volume("one", **in_zones("c")), volume("two", **in_zones("d"))], []
    ),
    "two volumes with two keys": (
        [volume("one", **in_zones("c")), volume("two", **in_zones("x", key="rack"))],
        [{"zone": "c", "rack": "x"}],
    ),
    "one of two terms": (
        [volume(**terms({"key": "zone", "operator": "In", "values": ["c"]},
                        {"key": "rack", "operator": "In", "values": ["x"]}))],
        [{"zone": "c"}, {"rack": "x"}],
    ),
    "another operator": ([volume(**terms({"key": "zone", "operator": "Exists"}))], [{}]),
    "no node can access it": ([volume(**terms())], []),
    "a local volume": ([volume(**in_zones("n9", key=HOSTNAME))], []),
    "labels of the volume": (
        [volume(labels={BETA_ZONE: "d__c", REGION: "r"})],
        [{ZONE: "c", REGION: "r"}, {ZONE: "d", REGION: "r"}],
    ),
    "labels that contradict the affinity": (
        [volume(labels={ZONE: "c"}, **in_zones("d", key=ZONE))], []
    ),
    "many zones": (
        [volume(**in_zones(*"abcdefghijk"))],
        [{"zone": zone} for zone in "abcdefghijk"[:MOST_CHOICES]],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("volumes", "labels"), REQUIRED.values(), ids=REQUIRED.keys())
def test_required_labels(volumes: list[Json], labels: list[dict[str, str]]) -> None:
    assert list(list_volume_labels(storage_scenario(TWO, *volumes))) == labels


def test_a_claim_without_a_volume_requires_nothing() -> None:
    missing = filter_scenario(TWO, volumes=[uses("data"), {"name": "e", "emptyDir": {}}])

    assert list(list_volume_labels(missing)) == [{}]


def driver_node(name: str, zone: str, named: str) -> Json:
    return node_object(name, labels={ZONE: zone, DRIVER_ZONE: named})


# nodes, the labels of a volume that its driver puts in zone c
ZONES: dict[str, tuple[Sequence[Json], dict[str, str]]] = {
    "the zones of the driver are those of the nodes": (
        [driver_node("n1", "a", "a"), driver_node("n2", "b", "b"), node_object("n3")],
        {DRIVER_ZONE: "c", ZONE: "c"},
    ),
    "the driver has zones of its own": (
        [driver_node("n1", "a", "a"), driver_node("n2", "b", "x")], {DRIVER_ZONE: "c"}
    ),
    "no node has both": (TWO, {DRIVER_ZONE: "c", ZONE: "c"}),
}  # fmt: skip


@pytest.mark.parametrize(("nodes", "labels"), ZONES.values(), ids=ZONES.keys())
def test_zones_of_a_driver(nodes: Sequence[Json], labels: dict[str, str]) -> None:
    found = storage_scenario(nodes, volume(**in_zones("c", key=DRIVER_ZONE)))

    assert list(list_volume_labels(found)) == [labels]


def test_a_zone_of_a_driver_is_no_other_zone() -> None:
    nodes = [driver_node("n1", "a", "a"), driver_node("n2", "b", "b")]
    volumes = [
        volume("one", **in_zones("c", "d", key=DRIVER_ZONE)),
        volume("two", **in_zones("b", "d", key=ZONE)),
    ]

    found = list(list_volume_labels(storage_scenario(nodes, *volumes)))

    assert found == [{DRIVER_ZONE: "d", ZONE: "d"}]
