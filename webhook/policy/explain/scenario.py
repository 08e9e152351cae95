"""The question: a pod that is to be placed, and the cluster that it is to be placed in."""

import msgspec

from webhook.policy.defaulting.profiles import HOSTNAME, ZONE
from webhook.policy.placement.census import Census
from webhook.policy.placement.place import Placement, find_rejections, place_pod, tally_constraints
from webhook.policy.placement.spreads import SpreadConstraints
from webhook.policy.placement.tallies import IncomingPod
from webhook.policy.placement.topology import Topology

NOT_MODELLED = ("resources", "ports", "volumes", "pod affinity")
"""What else could keep a pod off a node, and is never looked at."""


class Scenario(msgspec.Struct, frozen=True):
    """
    A pod and its surroundings; whatever changes makes another one.

    Attributes:
        pod: The pod that is to be placed.
        spreads: What it asks for.
        topology: The nodes.
        census: The other pods; the pod itself is not among them.
    """

    pod: IncomingPod
    spreads: SpreadConstraints
    topology: Topology
    census: Census

    def placement(self) -> Placement:
        """Where the pod can go, by all filters that are modelled; O(nodes x constraints)."""
        return place_pod(
            tally_constraints(self.pod, self.spreads, self.topology, self.census),
            self.topology,
            find_rejections(self.topology, self.pod.demands),
        )


REGION = "topology.kubernetes.io/region"  # Source: k8s.io/api core/v1 well_known_labels.go

SHORT = {"zone": ZONE, "region": REGION, "hostname": HOSTNAME}
"""Short name -> label; any other key is written in full."""

_NAMES = {key: name for name, key in SHORT.items()}


def full_key(name: str) -> str:
    """The label that a short name stands for; any other text is a label already."""
    return SHORT.get(name, name)


def short_key(key: str) -> str:
    """The short name of a label, if it has one."""
    return _NAMES.get(key, key)


def listed(names: tuple[str, ...], most: int = 3) -> str:
    """The first names, and how many there are besides."""
    more = len(names) - most
    return f"{', '.join(names[:most])} and {more} more" if more > 0 else ", ".join(names)


def counted(number: int, thing: str) -> str:
    """A number of things: ``1 node``, ``2 nodes``."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
