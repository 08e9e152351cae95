"""
The scenario to explain: a pod to place, and the cluster to place it in.

Also the short names of well-known topology keys, which sentences and the command line use.
"""

import msgspec

from webhook.policy.defaulting.profiles import HOSTNAME, ZONE
from webhook.policy.placement.census import Census
from webhook.policy.placement.place import (
    PodPlacement,
    find_rejections,
    place_pod,
    tally_constraints,
)
from webhook.policy.placement.spreads import SpreadConstraints
from webhook.policy.placement.tallies import IncomingPod
from webhook.policy.placement.topology import Topology

NOT_MODELLED = ("resources", "ports", "volumes", "pod affinity")
"""Other reasons that can keep a pod off a node, which placement ignores."""


class Scenario(msgspec.Struct, frozen=True):
    """
    A pod with its constraints, and a cluster; edits return another scenario.

    The census has the other pods, without the pod itself.
    """

    pod: IncomingPod
    spreads: SpreadConstraints
    topology: Topology
    census: Census

    def placement(self) -> PodPlacement:
        """Place the pod, by all filters that are modelled; O(nodes x constraints)."""
        return place_pod(
            tally_constraints(self.pod, self.spreads, self.topology, self.census),
            self.topology,
            find_rejections(self.topology, self.pod.demands),
        )


REGION = "topology.kubernetes.io/region"  # Source: k8s.io/api core/v1 well_known_labels.go

SHORT = {"zone": ZONE, "region": REGION, "hostname": HOSTNAME}
"""Short name -> label key; other keys have no short name."""

_NAMES = {key: name for name, key in SHORT.items()}


def full_key(name: str) -> str:
    """Return the label key of a short name; any other text is a label key itself."""
    return SHORT.get(name, name)


def short_key(key: str) -> str:
    """Return the short name of a label key, or the key if it has none."""
    return _NAMES.get(key, key)
