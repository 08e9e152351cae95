"""All orders of placement, compared with kube-scheduler's filter for pods in every order."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.build import NAMESPACE, Json, gates, pod, spread
from tests.policy.advice.orders import count_placed
from tests.policy.advice.subjects import (
    GPU,
    THREE,
    admission,
    audit,
    deployed,
    job_set,
    judged,
    node,
    subject,
    workload,
    zones,
)
from tests.policy.placement.clusters import reject_others
from webhook.policy.advice.context import AdviceContext, resolve_valid
from webhook.policy.advice.everyorder import find_skew, read_advised_orders, read_orders
from webhook.policy.advice.scaling import ReplicaRange
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import DAEMON_SET, STATEFUL_SET
from webhook.policy.model import HOSTNAME, ZONE, Node
from webhook.policy.placement.census import Census
from webhook.policy.placement.nodes import UNSCHEDULABLE
from webhook.policy.placement.place import place_pod, tally_constraints
from webhook.policy.placement.topology import Topology
from webhook.policy.podlabels import JOB_NAME

HOST = spread(topologyKey=HOSTNAME)
TWO_ON_A_NODE = spread(topologyKey=HOSTNAME, maxSkew=2)
RACK = spread(topologyKey="rack")
UNEVEN = zones("a1", "b1", "b2", "b3")
TAINTED_C = [*zones("a1", "b1"), node("c1", "zone-c", GPU)]
OTHERS = {"Deployment/cache": {"app": "web"}}
CROSSING = [
    node("b0", "b", rack="1"), node("b1", "b", rack="2"), node("c0", "c", rack="1"), node("x"),
]  # fmt: skip
BY_JOB = spread(matchLabelKeys=[JOB_NAME])
RECREATE: Json = {"strategy": {"type": "Recreate"}}
SURGE: Json = {"rollingUpdate": {"maxUnavailable": 0}}
APART = spread(matchLabelKeys=["statefulset.kubernetes.io/pod-name"])
KEYS = (ZONE, HOSTNAME, "rack")
SHOP = {"Deployment/shop": {"app": "shop"}}
ELSEWHERE = spread(labelSelector={"matchLabels": SHOP["Deployment/shop"]})


def follow(key: str) -> Json:
    """Make the affinity of web pods to each other in a domain of a key."""
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "web"}}}
    among = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return {"affinity": {"podAffinity": among}}


def cordon(one: Node) -> Node:
    return replace(one, unschedulable=True, taints=(*one.taints, UNSCHEDULABLE))


def fit(judged: Subject, context: AdviceContext, **supposed: bool) -> bool | None:
    orders = read_orders(judged, context, **supposed)
    return orders.all_fit() if orders else None


# subject, its cluster, whether all replicas fit in every order
FITS: dict[str, tuple[Subject, AdviceContext, bool | None]] = {
    "no constraint": (deployed(), audit(), True),
    "one constraint": (deployed(spread()), audit(UNEVEN), True),
    "one constraint, and pods of others": (deployed(spread()), audit(members=OTHERS), True),
    "even zones": (deployed(spread(), HOST), audit(), True),
    "uneven zones": (deployed(spread(), HOST), audit(UNEVEN), False),
    "uneven zones, in some order": (deployed(spread(), TWO_ON_A_NODE), audit(UNEVEN), False),
    "uneven zones with few replicas": (
        deployed(spread(), TWO_ON_A_NODE, replicas=5), audit(UNEVEN), True
    ),
    "the other way round": (deployed(TWO_ON_A_NODE, spread()), audit(UNEVEN), False),
    "uneven zones, and one that keeps no pod from any domain": (
        deployed(spread(), spread(topologyKey=HOSTNAME, maxSkew=6)), audit(UNEVEN), True
    ),
    "uneven zones, and pods of others": (
        deployed(spread(), HOST), audit(members=OTHERS), None
    ),
    "uneven zones, and pods of others in each revision": (
        deployed(*(spread(topologyKey=key, matchLabelKeys=["pod-template-hash"])
                   for key in (ZONE, HOSTNAME))), audit(UNEVEN, members=OTHERS), False,
    ),
    "keys that cross": (deployed(spread(), RACK, replicas=2), audit(CROSSING), False),
    "keys that cross, of one domain more": (
        deployed(spread(), RACK, replicas=2), audit([*CROSSING, node("c1", "c", rack="2")]), True
    ),
    "too many replicas to search": (
        deployed(spread(maxSkew=9), spread(topologyKey="rack", maxSkew=9), replicas=60),
        audit([node(f"n{i}", f"z{i % 5}", rack=str(i % 7)) for i in range(35)]), None,
    ),
    "an unknown number of replicas": (deployed(spread(), replicas=None), audit(), True),
    "an unknown number of replicas and two constraints": (
        deployed(spread(), HOST, replicas=None), audit(), None
    ),
    "the most replicas of an autoscaler": (
        replace(deployed(spread(), HOST, replicas=2), scaling=ReplicaRange(2, 6, "HPA/web")),
        audit(UNEVEN), False,
    ),
    "a closed domain": (deployed(spread()), audit(TAINTED_C), False),
    "a closed domain with enough places": (
        deployed(spread(maxSkew=3), **RECREATE), audit(TAINTED_C), True
    ),
    "a closed domain without a place for a rollout": (
        deployed(spread(maxSkew=3), strategy=SURGE), audit(TAINTED_C), False
    ),
    "a closed domain with a place for each pod that a rollout replaces": (
        deployed(spread(maxSkew=3)), audit(TAINTED_C), True
    ),
    "a closed domain, and pods of others": (
        deployed(spread(maxSkew=3), **RECREATE), audit(TAINTED_C, members=OTHERS), False
    ),
    "a closed domain, and an unknown number of replicas": (
        deployed(spread(), replicas=None), audit(TAINTED_C), False
    ),
    "too few domains": (deployed(spread(minDomains=9)), audit(), False),
    "pods that count only themselves": (
        subject(workload(APART, kind=STATEFUL_SET)), audit(TAINTED_C), True
    ),
    "the pods of each Job of a JobSet": (
        job_set(JOB_NAME, maxSkew=2), audit(TAINTED_C), True
    ),
    "the pods of each Job of a JobSet, beside another constraint": (
        job_set(JOB_NAME, parallelism=3).with_constraints(deployed(BY_JOB, HOST).constraints),
        audit(UNEVEN), None,
    ),
    "pods that do not count": (deployed(ELSEWHERE), audit(TAINTED_C), True),
    "pods of others alone that count": (deployed(ELSEWHERE), audit(members=SHOP), True),
    "pods of others alone that count, and a closed domain": (
        deployed(ELSEWHERE), audit(TAINTED_C, members=SHOP), False
    ),
    "pods of others alone that count, and too few domains": (
        deployed(ELSEWHERE | {"minDomains": 9}), audit(members=SHOP), False
    ),
    "pods of others alone that count, beside another constraint": (
        deployed(ELSEWHERE, HOST), audit(members=SHOP), None
    ),
    "pods of others alone that count, for two constraints": (
        deployed(ELSEWHERE, ELSEWHERE | {"topologyKey": HOSTNAME}), audit(members=SHOP), None
    ),
    "a selector that counts no pod": (deployed(spread(labelSelector={})), audit(TAINTED_C), True),
    "a key of no node beside it": (deployed(spread(), RACK), audit(), True),
    "a Pod": (subject(pod(spread())), audit(), True),
    "no node that the pods can go to": (judged(spread(), nodeSelector={"a": "b"}), audit(), None),
    "no nodes": (deployed(spread()), audit([]), None),
    "an admission": (deployed(spread()), admission(), None),
    "one replica": (deployed(spread(), replicas=1), audit(), None),
    "pods that are written for one node": (judged(spread(), nodeName="a1"), audit(), None),
    "a DaemonSet": (subject(workload(spread(), kind=DAEMON_SET)), audit(), None),
}  # fmt: skip


@pytest.mark.parametrize(("advised", "context", "fits"), FITS.values(), ids=FITS.keys())
def test_whether_all_replicas_fit_in_every_order(
    advised: Subject, context: AdviceContext, fits: bool | None
) -> None:
    assert fit(advised, context) is fits


def test_closed_domains_can_be_left_out() -> None:
    assert fit(deployed(spread()), audit(TAINTED_C), leaves_out_closed=True) is True
    closed_node = [*zones("a1", "b1"), node("b2", "zone-b", GPU)]
    assert fit(deployed(spread(), HOST), audit(closed_node)) is False
    assert fit(deployed(spread(), HOST), audit(closed_node), leaves_out_closed=True) is True


def test_the_state_of_nodes_can_be_left_out() -> None:
    cordoned = audit([cordon(one) if one.name > "b1" else one for one in UNEVEN])
    advised = deployed(spread(), TWO_ON_A_NODE)
    few = deployed(spread(), TWO_ON_A_NODE, replicas=4)

    assert fit(few, cordoned) is True
    assert fit(advised, cordoned, leaves_out_closed=True) is True
    assert fit(advised, cordoned, whatever_state=True) is False


def test_cordoned_nodes_are_closed_and_count() -> None:
    drained = audit([*zones("a1", "b1"), cordon(*zones("c1"))])

    assert fit(deployed(spread()), drained) is False
    assert fit(deployed(spread()), drained, whatever_state=True) is True
    assert fit(deployed(spread(), HOST), drained) is False
    assert fit(deployed(spread(), HOST, replicas=2), drained) is True


def test_where_pods_follow_each_other_each_group_of_nodes_has_to_have_room() -> None:
    four = deployed(TWO_ON_A_NODE, replicas=4, template_spec=follow(ZONE), **RECREATE)
    two = deployed(TWO_ON_A_NODE, replicas=2, template_spec=follow(ZONE), **RECREATE)

    assert fit(four, audit(zones("a1", "a2", "b1", "b2"))) is True
    assert fit(four, audit(UNEVEN)) is False, "the first pod may choose zone-a"
    assert fit(two, audit(UNEVEN)) is True
    many = [node(f"n{number}", "zone-a") for number in range(101)]
    apart = deployed(spread(), template_spec=follow(HOSTNAME))
    assert fit(apart, audit(many)) is None, "too many groups"


# subject, values to try, the first that fits
SKEWS: dict[str, tuple[Subject, range, int | None]] = {
    "the example of TSC109": (deployed(spread(), HOST), range(2, 6), 3),
    "none of them": (deployed(spread(), HOST), range(1, 3), None),
    "an unknown number of replicas": (
        deployed(spread(), HOST, replicas=None), range(1, 9), None
    ),
}  # fmt: skip


@pytest.mark.parametrize(("advised", "skews", "found"), SKEWS.values(), ids=SKEWS.keys())
def test_the_smallest_skew_with_which_all_fit(
    advised: Subject, skews: range, found: int | None
) -> None:
    assert find_skew(read_advised_orders(advised, audit(UNEVEN)), 1, skews) == found


def test_no_skew_is_found_without_nodes() -> None:
    assert find_skew([], 0, range(1, 9)) is None
    assert read_advised_orders(deployed(spread()), audit([])) == []


def test_advice_holds_now_and_once_all_nodes_return() -> None:
    drained = audit([*zones("a1", "b1"), cordon(*zones("c1"))])

    now, later = read_advised_orders(deployed(spread()), drained)

    assert (now.all_fit(), later.all_fit()) == (False, True)
    (later,) = read_advised_orders(deployed(spread()), audit([cordon(one) for one in THREE]))
    assert later.all_fit() is True


@st.composite
def some_nodes(draw: st.DrawFn) -> list[Node]:
    """Draw nodes, some of which lack keys, are tainted or cordoned, or belong to another pool."""
    made: list[Node] = []
    for number in range(draw(st.integers(2, 5))):
        labels = {ZONE: draw(st.sampled_from("ab")), "rack": draw(st.sampled_from("123"))}
        kept = {key: value for key, value in labels.items() if draw(st.integers(0, 6))}
        pool = draw(st.sampled_from(["", "", "", "gpu"]))
        taints = draw(st.sampled_from([(), (), (), (GPU,)]))
        name = f"n{number}"
        drawn = Node(name, {HOSTNAME: name, "pool": pool, **kept}, taints)
        made.append(drawn if draw(st.integers(0, 4)) else cordon(drawn))
    return made


@st.composite
def some_constraints(draw: st.DrawFn) -> list[Json]:
    """Draw hard constraints on different keys, with any node inclusion policies."""
    made: list[Json] = []
    for key in draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=3, unique=True)):
        more: dict[str, Any] = {"topologyKey": key, "maxSkew": draw(st.sampled_from([1, 1, 2, 3]))}
        for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            more[policy] = draw(st.sampled_from(["Honor", "Ignore"]))
        if draw(st.integers(0, 5)) == 0:
            more["minDomains"] = draw(st.integers(1, 3))
        made.append(spread(**more))
    return made


@given(some_nodes(), some_constraints(), st.integers(2, 6), st.sampled_from(["", "", "", *KEYS]))
def test_orders_are_those_of_placement(
    nodes: list[Node], written: list[Json], replicas: int, followed: str
) -> None:
    selects: Json = {"nodeSelector": {"pool": ""}} | (follow(followed) if followed else {})
    advised = deployed(*written, replicas=replicas, template_spec=selects, **RECREATE)
    lasting = [one for one in nodes if one.labels["pool"] == "" and GPU not in one.taints]
    known = {key for one in lasting for key in one.labels}
    constraints = [one for one in advised.constraints if one.topology_key in known]

    orders = read_orders(advised, audit(nodes))
    placed = count_placed(advised, nodes, replicas, constraints=constraints, followed=followed)

    assert (orders is None) is (max(placed) == 0)
    if orders is not None:
        assert orders.all_fit() is (placed == {replicas})
        assert orders.count_placed() == min(placed)


@given(
    some_nodes(),
    some_constraints(),
    st.lists(st.integers(0, 9), min_size=5, max_size=5),
    st.booleans(),
)
def test_a_pod_that_does_not_count_itself_has_a_place_wherever_the_counted_ones_are(
    nodes: list[Node], written: list[Json], counts: list[int], leaves_out_closed: bool
) -> None:
    constraint = written[0] | {"labelSelector": ELSEWHERE["labelSelector"]}
    advised = deployed(constraint, template_spec={"nodeSelector": {"pool": ""}})
    topology, pod = Topology(nodes), advised.next_pod
    refused = reject_others(topology, pod.demands)
    spreads = resolve_valid(advised.constraints, pod.labels, gates())

    def has_place(numbers: list[int]) -> bool:
        census = Census()
        for one, number in zip(nodes, numbers, strict=False):
            census.add(NAMESPACE, SHOP["Deployment/shop"], one.name, number)
        tallies = tally_constraints(pod, spreads, topology, census)
        return bool(place_pod(tallies, topology, refused).passing)

    known = audit(nodes, members=SHOP)
    orders = read_orders(advised, known, leaves_out_closed=leaves_out_closed)

    if orders is not None and orders.spreads:
        assert orders.all_fit() is has_place(
            [9 * (one.name not in refused.rejections) for one in nodes]
        )
        assert has_place(counts) or not orders.all_fit()
