"""The label that a misspelled topology key resembles."""

import pytest

from webhook.policy.advice.nearestkey import list_siblings, nearest_key
from webhook.policy.model import BETA_ZONE, HOSTNAME, ZONE

OS, NODE = "kubernetes.io/os", "example.io/node"
CLOUD = [HOSTNAME, "topology.ebs.csi.aws.com/zone", ZONE, "example.io/rack"]
NEAREST: dict[str, tuple[str, list[str], str]] = {
    "the name alone": ("zone", CLOUD, ZONE),
    "a letter too much": ("topology.kubernetes.io/zones", CLOUD, ZONE),
    "a typing error in the prefix": ("topolgy.kubernetes.io/zone", CLOUD, ZONE),
    "the key of another": ("topology.ebs.csi.aws.com/zones", CLOUD, CLOUD[1]),
    "a name of the user's own": ("rak", CLOUD, "example.io/rack"),
    "nothing like it": ("shelf", CLOUD, ""),
    "nothing like it, with a prefix": ("example.io/shelf", CLOUD, ""),
    "no keys": ("zone", [], ""),
    "a dot instead of the slash": ("kubernetes.io.hostname", CLOUD, HOSTNAME),
    "a dot instead of the slash of a well-known key": ("topology.kubernetes.io.zone", CLOUD, ZONE),
    "a dot and a letter too much": ("topology.kubernetes.io.zones", CLOUD, ZONE),
    "a slash at the end": ("topology.kubernetes.io/zone/", CLOUD, ZONE),
    "a slash at the start": ("/zone", CLOUD, ZONE),
    "a slash instead of a dot": ("topology/kubernetes.io/zone", CLOUD, ZONE),
    "another name with the same prefix": ("topology.kubernetes.io.rack", CLOUD[:3], ""),
    "another key with most of the same letters": ("kubernetes.io/arhc", [*CLOUD, OS], ""),
    "the word for nodes": ("topology.kubernetes.io/node", [*CLOUD, OS], HOSTNAME),
    "the word for nodes, alone": ("host", [*CLOUD, OS], HOSTNAME),
    "the word for nodes, as a label of the nodes": ("nodes", [*CLOUD, NODE], NODE),
    "a part of the name of a node": ("kubernetes.io/hosts", [*CLOUD, OS], HOSTNAME),
    "the word for zones": ("AZ", CLOUD, ZONE),
    "a word, and no such label": ("az", [HOSTNAME], ""),
    "a deprecated label": ("failure-domain.kubernetes.io/zone", [BETA_ZONE, ZONE], ZONE),
    "a deprecated label without a successor": ("failure-domain/zone", [BETA_ZONE], BETA_ZONE),
    "a key that is too long for one": ("zone" * 100, CLOUD, ""),
}  # fmt: skip


@pytest.mark.parametrize(("key", "keys", "meant"), NEAREST.values(), ids=NEAREST.keys())
def test_nearest(key: str, keys: list[str], meant: str) -> None:
    assert nearest_key(key, keys) == meant


ROOM, CELL = "dc.example/room", "dc.example/cell"


@pytest.mark.parametrize(
    ("key", "siblings"),
    [
        ("dc.example/raum", [CELL, ROOM]),
        ("example/raum", []),
        ("dc.example", []),
        ("topology.kubernetes.io/rack", []),
        ("kubernetes.io/rack", []),
    ],
)
def test_labels_with_the_same_prefix(key: str, siblings: list[str]) -> None:
    assert list_siblings(key, [HOSTNAME, ZONE, ROOM, CELL, "dc.example.com/row"]) == siblings
