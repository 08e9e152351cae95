"""The question: a pod that is to be placed, and the cluster that it is to be placed in."""

import msgspec

from webhook.policy.placement.census import Census
from webhook.policy.placement.place import Placement, measure, place, refusals
from webhook.policy.placement.spreads import Spreads
from webhook.policy.placement.tallies import Incoming
from webhook.policy.placement.topology import Topology

NOT_MODELLED = ("resources", "ports", "volumes", "pod affinity")
"""What else could keep a pod off a node, and is never looked at."""


class Situation(msgspec.Struct, frozen=True):
    """
    A pod and its surroundings; whatever changes makes another one.

    Attributes:
        pod: The pod that is to be placed.
        spreads: What it asks for.
        topology: The nodes.
        census: The other pods; the pod itself is not among them.
    """

    pod: Incoming
    spreads: Spreads
    topology: Topology
    census: Census

    def placement(self) -> Placement:
        """Where the pod can go, by all filters that are modelled; O(nodes x constraints)."""
        return place(
            measure(self.pod, self.spreads, self.topology, self.census),
            self.topology,
            refusals(self.topology, self.pod.demands),
        )
