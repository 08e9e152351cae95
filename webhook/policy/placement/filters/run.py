"""
Run all filters for one pod, in kube-scheduler's order.

``filter_nodes`` is the entry point. ``prepare_filters`` is its first part, for callers that check
few nodes.

Source: pkg/scheduler/schedule_one.go ``findNodesThatFitPod``; framework/runtime/framework.go
``RunPreFilterPlugins``, ``RunFilterPlugins``; apis/config/v1/default_plugins.go.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TypeAlias

import msgspec

from webhook.policy.api.versions import Version
from webhook.policy.model import Node
from webhook.policy.placement.filters import nodefilters, volumefilters
from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.filters.filterpods import FilterPod
from webhook.policy.placement.filters.nominated import add_nominated
from webhook.policy.placement.filters.podaffinity import prepare_pod_affinity
from webhook.policy.placement.filters.rejections import Check, FilterRejection
from webhook.policy.placement.filters.volumebinding import prepare_binding
from webhook.policy.placement.scoring import FilterStatus, filter_node
from webhook.policy.placement.spreads import SpreadConstraint
from webhook.policy.placement.tallies import tally_pods

EXCEEDED_SKEW = FilterRejection(
    "PodTopologySpread", ("node(s) didn't match pod topology spread constraints",)
)
MISSING_KEY = FilterRejection(
    "PodTopologySpread",
    ("node(s) didn't match pod topology spread constraints (missing required label)",),
    is_resolvable=False,
)

LAST = "InterPodAffinity"
"""The filter that runs after PodTopologySpread; all others run before it."""

Preparation: TypeAlias = Callable[[FilterPod, SchedulingCluster], Check | FilterRejection | None]
"""
Prepares a filter for a pod.

Returns:
    The check of one node; why the pod fits no node; or None if the filter has nothing to check.
"""

FILTERS: Mapping[str, Preparation] = MappingProxyType(
    {
        "NodeUnschedulable": nodefilters.prepare_cordon,
        "NodeName": nodefilters.prepare_name,
        "TaintToleration": nodefilters.prepare_taints,
        "NodeAffinity": nodefilters.prepare_affinity,
        "NodePorts": nodefilters.prepare_ports,
        "NodeResourcesFit": nodefilters.prepare_resources,
        "VolumeRestrictions": volumefilters.prepare_restrictions,
        "NodeVolumeLimits": volumefilters.prepare_limits,
        "VolumeBinding": prepare_binding,
        "VolumeZone": volumefilters.prepare_zones,
    }
)
"""The filters before those that look at other pods, in the order of Kubernetes 1.36."""

NAME_FIRST = Version(1, 37)
"""The first version that runs NodeName before NodeUnschedulable."""


def order_filters(version: Version) -> tuple[Preparation, ...]:
    """
    Return the filters before those that look at other pods, in the order of a version.

    Source: default_plugins.go ``getDefaultPlugins``.
    """
    first, second, *others = FILTERS.values()
    swapped = version >= NAME_FIRST
    return (second, first, *others) if swapped else (first, second, *others)


class PodFilters(msgspec.Struct, frozen=True):
    """
    All filters, prepared for one pod.

    Attributes:
        rejection: Why the pod fits no node, whatever the node; None if it may fit one.
        checks: In order; those that have nothing to check are left out.
        names: The nodes that the pod's affinity names; None if it names none.
    """

    rejection: FilterRejection | None
    checks: tuple[Check, ...] = ()
    names: frozenset[str] | None = None

    def reject(self, node: Node) -> FilterRejection | None:
        """Return why the first filter that rejects a node does so; None if the pod fits."""
        if self.rejection is not None:
            return self.rejection
        if self.names is not None and node.name not in self.names:
            return nodefilters.OTHER_NODE
        for check in self.checks:
            rejection = check(node)
            if rejection is not None:
                return rejection
        return None


def prepare_filters(
    pod: FilterPod,
    hard: tuple[SpreadConstraint, ...],
    cluster: SchedulingCluster,
    without_nominated: SchedulingCluster | None = None,
) -> PodFilters:
    """
    Prepare the filters for a pod, which is not among the placed ones.

    The filters that look at other pods count them when the first node comes to them. The result
    is valid until a pod is added or removed.

    Args:
        hard: The pod's constraints with DoNotSchedule, from ``resolve_constraints``.
        without_nominated: The cluster without nominated pods, if these are among the placed ones:
            it decides which filters have something to check.
    """
    base, checks = without_nominated or cluster, list[Check]()
    for prepare in order_filters(cluster.version):
        prepared = prepare(pod, cluster)
        if isinstance(prepared, FilterRejection):
            return PodFilters(prepared)
        if prepared is not None and (base is cluster or prepare(pod, base) is not None):
            checks.append(prepared)
    if hard:
        checks.append(_Late(lambda: _prepare_spread(pod, hard, cluster)).check)
    checks.append(_Late(lambda: _prepare_affinity(pod, cluster, base)).check)
    return PodFilters(None, tuple(checks), pod.required_names)


def _prepare_affinity(
    pod: FilterPod, cluster: SchedulingCluster, base: SchedulingCluster
) -> Check | None:
    has_terms = bool(pod.affinity or pod.anti_affinity)
    if base is not cluster and not has_terms and prepare_pod_affinity(pod, base) is None:
        return None
    return prepare_pod_affinity(pod, cluster)


class _Late:
    """A filter that is prepared when the first node comes to it; most nodes may not get so far."""

    def __init__(self, prepare: Callable[[], Check | None]) -> None:
        self._prepare = prepare
        self._check: Check | None = self._begin

    def check(self, node: Node) -> FilterRejection | None:
        """Check a node."""
        return self._check(node) if self._check else None

    def _begin(self, node: Node) -> FilterRejection | None:
        self._check = self._prepare()
        return self.check(node)


def _prepare_spread(
    pod: FilterPod, hard: tuple[SpreadConstraint, ...], cluster: SchedulingCluster
) -> Check:
    tallies = tally_pods(pod, hard, cluster.topology, cluster.placed.census)

    return lambda node: reject_status(filter_node(node, tallies))


def reject_status(status: FilterStatus) -> FilterRejection | None:
    """Return why PodTopologySpread rejects a node; None if it does not."""
    if status.passes:
        return None
    return MISSING_KEY if status.skew is None else EXCEEDED_SKEW


class FilterResult(msgspec.Struct, frozen=True):
    """
    The nodes that a pod fits, and why it does not fit the others.

    Attributes:
        passing: Names of the nodes that pass all filters, in order.
        rejections: Name of each other node -> why the first filter that rejects it does so.
        pod_rejection: Why the pod fits no node, whatever the node; then it is that of every node.
    """

    passing: tuple[str, ...]
    rejections: Mapping[str, FilterRejection]
    pod_rejection: FilterRejection | None = None


NodeResults: TypeAlias = Mapping[str, FilterRejection | None]
"""Name of a node -> why it is rejected; None if it passes."""

NOTHING_KNOWN: NodeResults = MappingProxyType({})


def filter_nodes(
    pod: FilterPod,
    hard: tuple[SpreadConstraint, ...],
    cluster: SchedulingCluster,
    known: NodeResults = NOTHING_KNOWN,
) -> FilterResult:
    """
    Filter all nodes of a cluster for a pod, which is not among the placed ones; O(nodes).

    Args:
        hard: The pod's constraints with DoNotSchedule, from ``resolve_constraints``.
        known: Results of nodes that need not be filtered again.
    """
    filters = prepare_filters(pod, hard, cluster)
    known = NOTHING_KNOWN if filters.rejection else known
    reject = _reject_beside_nominated(filters, pod, hard, cluster)
    results = {
        node.name: known[node.name] if node.name in known else reject(node)
        for node in cluster.topology.nodes
    }
    return FilterResult(
        tuple(name for name, rejection in results.items() if rejection is None),
        {name: rejection for name, rejection in results.items() if rejection is not None},
        filters.rejection,
    )


def filter_some(
    pod: FilterPod,
    hard: tuple[SpreadConstraint, ...],
    cluster: SchedulingCluster,
    nodes: Iterable[Node],
) -> NodeResults:
    """Filter some nodes of a cluster, as ``filter_nodes`` filters all."""
    filters = prepare_filters(pod, hard, cluster)
    reject = _reject_beside_nominated(filters, pod, hard, cluster)
    return {node.name: reject(node) for node in nodes}


def _reject_beside_nominated(
    filters: PodFilters,
    pod: FilterPod,
    hard: tuple[SpreadConstraint, ...],
    cluster: SchedulingCluster,
) -> Check:
    """Let a node be filtered with the pods that are nominated for it, and without them."""
    if not cluster.nominated or filters.rejection:
        return filters.reject

    def reject(node: Node) -> FilterRejection | None:
        if node.name not in cluster.nominated:
            return filters.reject(node)
        beside_nominated = add_nominated(cluster, node.name)
        fuller = prepare_filters(pod, hard, beside_nominated, cluster)
        return fuller.reject(node) or filters.reject(node)

    return reject
