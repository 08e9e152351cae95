"""
Whether pods of a workload may run on a node that counts for a constraint of another one.

``SharedNodes`` is the entry point. kube-scheduler counts no pods on the nodes that a constraint
leaves out by its node inclusion policies, so that workloads of other node pools do not matter.

Source: kube-scheduler plugins/podtopologyspread/common.go ``matchNodeInclusionPolicies``.
"""

from collections.abc import Mapping
from functools import lru_cache

from webhook.policy.placement.allowedvalues import admits_no_node
from webhook.policy.placement.nodes import Demands
from webhook.policy.placement.topology import CACHED_DOMAINS, Topology

EVERYWHERE = Demands((), None, None)
"""What a node must satisfy for a constraint that leaves out none."""


class SharedNodes:
    """
    The nodes that pods of workloads can go to.

    Attributes:
        demands: Namespace and name of a workload, as ``("shop", "Deployment/web")`` -> what its
            pods require of a node; absent if that is not known.
    """

    def __init__(
        self, topology: Topology, demands: Mapping[tuple[str, str], Demands] | None = None
    ) -> None:
        """Take all nodes, and what the pods of the workloads require."""
        self._topology = topology
        self.demands: Mapping[tuple[str, str], Demands] = demands or {}
        self._share = lru_cache(CACHED_DOMAINS)(self._find_shared)

    def may_count(self, namespace: str, workload: str, counting: Demands) -> bool:
        """
        Whether pods of a workload may be on a node that counts.

        Args:
            workload: As ``Deployment/web``.
            counting: What a node must satisfy to count.
        """
        known = self.demands.get((namespace, workload)) if counting != EVERYWHERE else None
        return known is None or self._share(counting, known)

    def _find_shared(self, counting: Demands, known: Demands) -> bool:
        if admits_no_node(counting.joined(known)):
            return False  # also a node to come
        reached = self._topology.domains("", (), known.lasting).values.keys()
        counted = self._topology.domains("", (), counting.lasting).values.keys()
        # Without a node for the one or the other, both may share those to come.
        return not (reached and counted) or not reached.isdisjoint(counted)
