"""Small clusters and pods in short-hand, and Hypothesis strategies for random ones."""

from collections.abc import Iterable, Mapping
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from webhook.policy.api.gates import Gate, Gates, resolve
from webhook.policy.api.versions import Version
from webhook.policy.model import (
    DO_NOT_SCHEDULE,
    HOSTNAME,
    SCHEDULE_ANYWAY,
    ZONE,
    Constraint,
    LabelSelector,
    LabelSelectorRequirement,
    Node,
    Taint,
)
from webhook.policy.placement.census import Census
from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.filters.filterpods import FilterPod
from webhook.policy.placement.filters.run import FilterResult, filter_nodes
from webhook.policy.placement.nodes import Demands, Toleration
from webhook.policy.placement.scoring import FilterStatus
from webhook.policy.placement.tallies import IncomingPod
from webhook.policy.placement.topology import Topology

WEB = {"app": "web"}
SELECTS_WEB = LabelSelector(match_labels=WEB)
WEB_POD = IncomingPod("shop", WEB)

GPU = Taint(key="gpu", effect="NoSchedule")


def gates(**requested: bool) -> Gates:
    """Make those of 1.36, with some switched by their names in the enumeration."""
    chosen = {Gate[name].value: on for name, on in requested.items()}
    return resolve(Version(1, 36), chosen, allow_locked=True)


def node(
    name: str, zone: str | None = None, *, taints: Iterable[Taint] = (), **labels: str
) -> Node:
    """Make a node that carries its name as hostname and, unless it is None, a zone."""
    zoned = {} if zone is None else {ZONE: zone}
    return Node(name, {HOSTNAME: name, **zoned, **labels}, tuple(taints))


def cluster(pods: Mapping[str, int]) -> tuple[Topology, Census]:
    """Make a zone of one node, named as the zone, for each number of web pods."""
    return Topology(node(zone, zone) for zone in pods), running(pods)


def running(pods: Mapping[str, int], labels: Mapping[str, str] | None = None) -> Census:
    """Count web pods on each node."""
    census = Census()
    for name, number in pods.items():
        if number:
            census.add("shop", labels or WEB, name, number)
    return census


def reject_others(topology: Topology, demands: Demands) -> FilterResult:
    """Run the filters besides PodTopologySpread for a pod with nothing but demands."""
    return filter_nodes(FilterPod("", {}, demands), (), SchedulingCluster(topology))


def spread_over(key: str = ZONE, **changed: Any) -> Constraint:
    """Make a hard constraint of maxSkew 1 on web pods."""
    hard = Constraint(
        max_skew=1, topology_key=key, when_unsatisfiable=DO_NOT_SCHEDULE, label_selector=SELECTS_WEB
    )
    return replace(hard, **changed)


def write_status(status: FilterStatus) -> str:
    """Write the result of a filter with hard constraints in kube-scheduler's words."""
    reason = "node(s) didn't match pod topology spread constraints"
    if status.passes:
        return "Success"
    if status.skew is None:
        return f"UnschedulableAndUnresolvable: {reason} (missing required label)"
    return f"Unschedulable: {reason}"


KEYS = (ZONE, HOSTNAME, "rack")
VALUES = ("", "a", "b", "c")

labels = st.dictionaries(st.sampled_from(("app", "tier")), st.sampled_from(("x", "y")))
taints = st.builds(
    Taint,
    key=st.sampled_from(("gpu", "spot")),
    effect=st.sampled_from(("NoSchedule", "NoExecute", "PreferNoSchedule")),
)
selectors = st.builds(
    LabelSelector,
    match_labels=labels,
    match_expressions=st.lists(
        st.builds(
            LabelSelectorRequirement,
            key=st.sampled_from(("app", "tier")),
            operator=st.sampled_from(("In", "NotIn")),
            values=st.sampled_from((("x",), ("y",), ("x", "y"))),
        ),
        max_size=2,
    ).map(tuple),
)
policies = st.sampled_from((None, "Honor", "Ignore"))
constraints = st.builds(
    Constraint,
    max_skew=st.integers(1, 3),
    topology_key=st.sampled_from(KEYS),
    when_unsatisfiable=st.sampled_from((DO_NOT_SCHEDULE, SCHEDULE_ANYWAY)),
    label_selector=st.none() | selectors,
    min_domains=st.none() | st.integers(1, 4),
    node_affinity_policy=policies,
    node_taints_policy=policies,
    match_label_keys=st.lists(st.sampled_from(("app", "tier")), max_size=2).map(tuple),
)
demands = st.builds(
    Demands,
    pairs=st.sampled_from(((), (("rack", "a"),))),
    tolerations=st.sampled_from(((), (Toleration(key="gpu", operator="Exists"),))),
)
incoming = st.builds(IncomingPod, namespace=st.just("shop"), labels=labels, demands=demands)


@st.composite
def node_lists(draw: st.DrawFn) -> list[Node]:
    """Up to eight nodes, some of which lack keys, are tainted, or carry an odd hostname."""
    names = [f"n{number}" for number in range(draw(st.integers(0, 8)))]
    some = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES))
    few = st.lists(taints, max_size=2).map(tuple)
    return [Node(name, {HOSTNAME: name, **draw(some)}, draw(few)) for name in names]


placed_pods = st.lists(
    st.tuples(
        st.sampled_from(("shop", "shop", "bank")),
        labels,
        st.sampled_from([f"n{number}" for number in range(10)]),
    ),
    max_size=30,
)
"""Namespace, labels and node of pods; the last nodes do not exist."""
