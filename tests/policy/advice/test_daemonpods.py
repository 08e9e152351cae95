"""Pods of DaemonSets without a place, compared with kube-scheduler's filter in every order."""

from collections.abc import Sequence
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.build import NAMESPACE, Json, gates, spread
from tests.policy.advice.subjects import (
    GPU,
    THREE,
    admission,
    audit,
    check_rule,
    node,
    subject,
    suggestions,
    workload,
    zones,
)
from tests.policy.placement.clusters import reject_others
from webhook.policy.advice.context import resolve_valid
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import DAEMON_SET
from webhook.policy.model import HOSTNAME, ZONE, Node
from webhook.policy.placement.census import Census
from webhook.policy.placement.daemondemands import daemon_demands
from webhook.policy.placement.nodes import UNSCHEDULABLE
from webhook.policy.placement.place import place_pod, tally_constraints
from webhook.policy.placement.topology import Topology

IGNORING = spread(nodeAffinityPolicy="Ignore")
IN_A: Json = {"nodeSelector": {ZONE: "zone-a"}}
UNEVEN = zones("a1", "a2", "a3", "b1")
HONOR_AFFINITY, HONOR_TAINTS = "nodeAffinityPolicy: Honor", "nodeTaintsPolicy: Honor"
CORDONED = replace(node("c1", "zone-c", UNSCHEDULABLE), unschedulable=True)

SURGE: Json = {
    "updateStrategy": {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
    }
}
TAINTED = [*zones("a1", "b1"), node("c1", "zone-c", GPU)]


def daemon(*constraints: Json, **changes: Any) -> Subject:
    return subject(workload(*constraints, kind=DAEMON_SET, replicas=None, **changes))


# DaemonSet, nodes, what TSC105 suggests, what TSC116 suggests
PENDING: dict[str, tuple[Subject, list[Node], list[str], list[str]]] = {
    "a zone of more nodes than another": (daemon(IGNORING), UNEVEN, [], [HONOR_AFFINITY]),
    "a zone of more nodes, within maxSkew": (
        daemon(spread(nodeAffinityPolicy="Ignore", maxSkew=2)), UNEVEN, [], []
    ),
    "zones of as many nodes": (daemon(IGNORING), THREE, [], []),
    "each pod counts its own node": (daemon(spread()), UNEVEN, [], []),
    "zones that it does not go to": (daemon(IGNORING, template_spec=IN_A), THREE, [],
                                     [HONOR_AFFINITY]),
    "a tainted zone": (
        daemon(IGNORING), [*zones("a1", "a2", "b1", "b2"), node("c1", "zone-c", GPU)],
        [HONOR_TAINTS], [],
    ),
    "a tainted zone, and zones of different sizes": (
        daemon(IGNORING), [*UNEVEN, node("c1", "zone-c", GPU)], [], [HONOR_AFFINITY]
    ),
    "taints are honored": (
        daemon(spread(nodeAffinityPolicy="Ignore", nodeTaintsPolicy="Honor")),
        [*zones("a1", "b1"), node("c1", "zone-c", GPU)], [], [],
    ),
    "a cordoned zone, where its pods go": (
        daemon(IGNORING), [*zones("a1", "b1"), CORDONED], [], []
    ),
    "fewer domains than minDomains": (
        daemon(spread(nodeAffinityPolicy="Ignore", minDomains=9)), THREE, [], [HONOR_AFFINITY]
    ),
    "one pod in each domain": (
        daemon(spread(nodeAffinityPolicy="Ignore", topologyKey=HOSTNAME)), UNEVEN, [], []
    ),
    "a selector that counts none of its pods": (
        daemon({**IGNORING, "labelSelector": {"matchLabels": {"app": "shop"}}}), UNEVEN, [], []
    ),
    "a soft constraint": (
        daemon({**IGNORING, "whenUnsatisfiable": "ScheduleAnyway"}), UNEVEN, [], []
    ),
    "no node that it can go to": (
        daemon(IGNORING, template_spec={"nodeSelector": {"disk": "ssd"}}), UNEVEN, [], []
    ),
    "no nodes": (daemon(IGNORING), [], [], []),
    "a new pod beside the old one, and a tainted zone": (
        daemon(IGNORING, **SURGE), TAINTED, [HONOR_TAINTS], []
    ),
    "a new pod beside the old one, and zones that it does not go to": (
        daemon(IGNORING, template_spec=IN_A, **SURGE), zones("a1", "b1"), [], [HONOR_AFFINITY]
    ),
    "the same on each node": (
        daemon(spread(nodeAffinityPolicy="Ignore", topologyKey=HOSTNAME), **SURGE), TAINTED,
        [HONOR_TAINTS], [],
    ),
    "a new pod beside the old one, and zones of different sizes without the tainted one": (
        daemon(spread(nodeAffinityPolicy="Ignore", maxSkew=2), **SURGE),
        [*zones("a1", "a2", "b1", "b2", "b3", "b4"), node("c1", "zone-c", GPU)], [],
        [HONOR_AFFINITY],
    ),
    "a new pod beside the old one in every zone": (daemon(IGNORING, **SURGE), THREE, [], []),
    "a new pod beside the old one, within maxSkew": (
        daemon(spread(nodeAffinityPolicy="Ignore", maxSkew=2), **SURGE), TAINTED, [], []
    ),
    "a new pod beside the old one, and fewer domains than minDomains": (
        daemon(spread(nodeAffinityPolicy="Ignore", minDomains=4), **SURGE), THREE, [],
        [f"{HONOR_AFFINITY}\nminDomains: null"],
    ),
    "new pods that count apart": (
        daemon({**IGNORING, "matchLabelKeys": ["controller-revision-hash"]}, **SURGE), TAINTED,
        [], [],
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("judged", "nodes", "taints", "affinity"), PENDING.values(), ids=PENDING.keys()
)
def test_pods_of_a_daemon_set_without_a_place(
    judged: Subject, nodes: list[Node], taints: list[str], affinity: list[str]
) -> None:
    assert suggestions("TSC105", judged, audit(nodes)) == taints
    assert suggestions("TSC116", judged, audit(nodes)) == affinity
    assert check_rule("TSC116", judged, admission(nodes)) == []


def test_the_domain_that_is_too_full_is_named() -> None:
    (violation,) = check_rule("TSC116", daemon(IGNORING), audit(UNEVEN))

    assert violation.field == "spec.template.spec.topologySpreadConstraints[0].nodeAffinityPolicy"
    assert violation.problem == (
        "each of its pods can go to one node only, and nodeAffinityPolicy Ignore counts those of "
        f'all domains of "{ZONE}": zone-a has 3 of its nodes and takes 2 pods, zone-b has 1: '
        "1 of 4 pods stays Pending"
    )
    assert violation.brief == "nodeAffinityPolicy Ignore keeps 1 of 4 pods Pending"


def test_an_old_pod_that_waits_for_the_new_one_beside_it_is_named() -> None:
    judged = daemon(IGNORING, template_spec=IN_A, **SURGE)

    (violation,) = check_rule("TSC116", judged, audit(zones("a1", "b1")))

    assert violation.problem.endswith(
        "zone-a has 1 of its nodes and takes 1 pod, zone-b has 0: by maxSurge, the new pod of a "
        "node waits there for the old one, which waits for the new one"
    )
    assert violation.brief == "nodeAffinityPolicy Ignore keeps new pods beside old ones Pending"


def test_too_few_domains_for_new_pods_beside_old_ones_are_named() -> None:
    judged = daemon(spread(nodeAffinityPolicy="Ignore", minDomains=4), **SURGE)

    (violation,) = check_rule("TSC116", judged, audit(zones("a1", "b1", "c1")))

    assert "takes 1 pod, since minDomains is 4 and 3 domains count: by max" in violation.problem


@st.composite
def some_nodes(draw: st.DrawFn) -> list[Node]:
    """Draw nodes of three zones, some of which are tainted, or belong to another pool."""
    return [
        node(
            f"n{number}",
            f"zone-{draw(st.sampled_from('abc'))}",
            *draw(st.sampled_from([(), (), (GPU,)])),
            pool=draw(st.sampled_from(["", "", "gpu"])),
        )
        for number in range(draw(st.integers(1, 5)))
    ]


def count_placed(judged: Subject, nodes: Sequence[Node]) -> set[int]:
    """Count the pods that have a place in every order: one for each node that takes one alone."""
    topology = Topology(nodes)
    demands = daemon_demands(judged.demands, host_network=False)
    refused = reject_others(topology, demands).rejections
    states, ends = {frozenset[str]()}, set[int]()
    while states:
        following: set[frozenset[str]] = set()
        for state in states:
            census = Census()
            for name in state:
                census.add(NAMESPACE, judged.labels, name)
            added = {
                one.name
                for one in nodes
                if one.name not in state
                and one.name not in refused
                and _fits(judged, one.name, topology, census)
            }
            following |= {state | {name} for name in added}
            if not added:
                ends.add(len(state))
        states = following
    return ends


def _fits(judged: Subject, name: str, topology: Topology, census: Census) -> bool:
    """Whether the pod for one node has a place there."""
    demands = daemon_demands(judged.demands, host_network=False)
    pinned = replace(demands, pairs=(*demands.pairs, (HOSTNAME, name)))
    pod = replace(judged.next_pod, demands=pinned)
    spreads = resolve_valid(judged.constraints, pod.labels, gates())
    tallies = tally_constraints(pod, spreads, topology, census)
    return name in place_pod(tallies, topology, reject_others(topology, pinned)).passing


CHANGES = st.fixed_dictionaries(
    {
        "maxSkew": st.integers(1, 2),
        "nodeAffinityPolicy": st.sampled_from(["Honor", "Ignore", "Ignore"]),
        "nodeTaintsPolicy": st.sampled_from(["Honor", "Ignore"]),
    },
    optional={"minDomains": st.integers(1, 4)},
)


@given(some_nodes(), CHANGES, st.booleans())
def test_pods_without_a_place_are_those_of_placement(
    nodes: list[Node], changes: Json, selects: bool
) -> None:
    pool: Json = {"nodeSelector": {"pool": ""}} if selects else {}
    judged = daemon(spread(**changes), template_spec=pool)
    found = [
        violation
        for rule in ("TSC105", "TSC116")
        for violation in check_rule(rule, judged, audit(nodes))
    ]
    demands = daemon_demands(judged.demands, host_network=False)
    needed = len(nodes) - len(reject_others(Topology(nodes), demands).rejections)

    (placed,) = count_placed(judged, nodes)

    assert len(found) == (placed < needed)
    for violation in found:
        name, _, value = violation.instead.partition(": ")
        fixed = daemon(spread(**{**changes, name: value}), template_spec=pool)
        assert count_placed(fixed, nodes) == {needed}


def find_waiting(judged: Subject, nodes: Sequence[Node]) -> tuple[list[str], list[str]]:
    """Find the nodes whose new pod has no place beside the old pods of all, and the others."""
    topology, census = Topology(nodes), Census()
    demands = daemon_demands(judged.demands, host_network=False)
    refused = reject_others(topology, demands).rejections
    needing = [one.name for one in nodes if one.name not in refused]
    for name in needing:
        census.add(NAMESPACE, judged.labels, name)
    fits = {name: _fits(judged, name, topology, census) for name in needing}
    return [name for name in needing if not fits[name]], [name for name in needing if fits[name]]


@given(some_nodes(), CHANGES, st.booleans())
def test_a_rollout_beside_old_pods_hangs_where_no_new_pod_has_a_place(
    nodes: list[Node], changes: Json, selects: bool
) -> None:
    pool: Json = {"nodeSelector": {"pool": ""}} if selects else {}
    for _ in range(4):  # some findings are left until others are corrected
        judged = daemon(spread(**changes), template_spec=pool, **SURGE)
        found = [
            violation
            for rule in ("TSC104", "TSC105", "TSC116")
            for violation in check_rule(rule, judged, audit(nodes))
        ]
        waiting, placed = find_waiting(judged, nodes)
        is_lacking = count_placed(judged, nodes) != {len(waiting) + len(placed)}
        assert found or not waiting or placed
        assert waiting or is_lacking or not placed or not found
        changes = {**changes, **yaml.safe_load("\n".join(one.instead for one in found) or "{}")}

    assert not found
