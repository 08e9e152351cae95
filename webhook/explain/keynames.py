"""
Short names of well-known label keys, which sentences and the command line use.

``KeyNames`` is the entry point. A cluster may have a label whose key is literally ``zone``: then
this word means that label there, and the well-known key is written in full.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import msgspec

from webhook.policy.model import HOSTNAME, ZONE, Node

REGION = "topology.kubernetes.io/region"  # Source: k8s.io/api core/v1 well_known_labels.go

SHORT: Mapping[str, str] = MappingProxyType({"zone": ZONE, "region": REGION, "hostname": HOSTNAME})
"""Short name -> label key; other keys have no short name."""

_NAMES: Mapping[str, str] = MappingProxyType({key: name for name, key in SHORT.items()})


class KeyNames(msgspec.Struct, frozen=True):
    """
    The names of label keys in one cluster.

    Attributes:
        literal: The short names that are label keys themselves.
    """

    literal: frozenset[str] = frozenset()

    def full(self, name: str) -> str:
        """Return the label key of a short name; any other text is a label key itself."""
        return name if name in self.literal else SHORT.get(name, name)

    def short(self, key: str) -> str:
        """Return the short name of a label key, or the key if it has none."""
        name = _NAMES.get(key, key)
        return key if name in self.literal else name


SHORT_NAMES = KeyNames()


def find_key_names(nodes: Iterable[Node], keys: Iterable[str]) -> KeyNames:
    """Find the names in a cluster; ``keys`` are the label keys that the pod uses."""
    used = {*keys}
    used.update(*(SHORT.keys() & node.labels.keys() for node in nodes))
    return KeyNames(frozenset(SHORT.keys() & used))
