import pytest
from msgspec.structs import replace

from tests.build import Json, spread
from tests.policy.advice.subjects import (
    GPU,
    NOT_READY_C,
    TAINTED_C,
    THREE,
    admission,
    audit,
    check_rule,
    deployed,
    node,
    running,
    subject,
    workload,
    zones,
)
from webhook.policy.advice.carriedconstraints import AWAIT_ROLLOUT
from webhook.policy.advice.runningpods import RunningPods
from webhook.policy.kinds import DAEMON_SET, REPLICA_SET, STATEFUL_SET
from webhook.policy.model import HOSTNAME, ZONE, Node

HASH = "pod-template-hash"
SOFT = "ScheduleAnyway"
PATH = "spec.template.spec.topologySpreadConstraints"
HOST = spread(topologyKey=HOSTNAME)

OLD = running("a1", "a1", "a2", labels={"app": "web", HASH: "old"})
NEW = running("a1", "b1", "c1", labels={"app": "web", HASH: "new"})
OTHERS = running("a1", "a1", labels={"app": "shop"})

# constraint, running pods, briefs
KEPT: dict[str, tuple[Json, list[RunningPods], list[str]]] = {
    "one zone has more": (
        spread(), [running("a1", "a2", "b1")], ["skew 2 exceeds maxSkew 1: zone-a too full"]
    ),
    "two zones have more": (
        spread(), [running("a1", "a2", "b1", "b2")],
        ["skew 2 exceeds maxSkew 1: zone-a, zone-b too full"],
    ),
    "a soft constraint too": (
        spread(whenUnsatisfiable=SOFT), [running("a1", "a2")],
        ["skew 2 exceeds maxSkew 1: zone-a too full"],
    ),
    "fewer domains than minDomains": (
        spread(minDomains=4), [running("a1", "a2", "b1", "b2", "c1", "c2")],
        ["skew 2 exceeds maxSkew 1: zone-a, zone-b, zone-c too full"],
    ),
    "a revision on its own": (
        spread(matchLabelKeys=[HASH]), [OLD, NEW], ["skew 3 exceeds maxSkew 1: zone-a too full"]
    ),
    "as even as can be": (spread(), [running("a1", "b1", "c1", "a2")], []),
    "revisions apart": (spread(matchLabelKeys=[HASH]), [NEW], []),
    "no pod": (spread(), [], []),
    "pods on a node that is gone": (spread(), [running("a1", "b1", "c1", "gone", "gone")], []),
    "pods of others": (spread(labelSelector={"matchLabels": {"app": "shop"}}), [running("b1")], []),
}  # fmt: skip


@pytest.mark.parametrize(("constraint", "pods", "reported"), KEPT.values(), ids=KEPT.keys())
def test_a_skew_that_is_not_kept(
    constraint: Json, pods: list[RunningPods], reported: list[str]
) -> None:
    judged = replace(deployed(constraint), running=tuple(pods))

    violations = check_rule("TSC114", judged, audit(THREE, [*pods, OTHERS]))

    assert [violation.brief for violation in violations] == reported


PLAIN, APART = spread(), spread(matchLabelKeys=[HASH])


def old(*nodes: str) -> RunningPods:
    """Make pods that a rollout is about to delete."""
    return replace(running(*nodes, labels={"app": "web", HASH: "old"}), replaced=True)


def new(*nodes: str) -> RunningPods:
    """Make pods of the revision that is rolled out."""
    return running(*nodes, labels={"app": "web", HASH: "new"})


# constraint, replicas, running pods, whether the skew will last
ROLLED_OUT: dict[str, tuple[Json, int, list[RunningPods], bool]] = {
    "old pods that are uneven": (PLAIN, 3, [old("a1", "a2", "a1"), new("a1", "b1", "c1")], False),
    "old pods that count apart": (APART, 3, [old("a1", "a2", "a1"), new("a1", "b1", "c1")], False),
    "new pods that are uneven": (
        PLAIN, 3, [old("b1", "b2", "c1", "c2"), new("a1", "a2", "a1")], True
    ),
    "new pods that count apart, and are uneven": (
        APART, 3, [old("b1", "c1"), new("a1", "a2", "a1")], True
    ),
    "new pods that those to come can even out": (
        PLAIN, 6, [old("a1", "b1", "c1"), new("a1", "a2", "b1")], False
    ),
    "new pods that those to come cannot even out": (
        PLAIN, 6, [old("b1"), new("a1", "a2", "a1", "a2")], True
    ),
    "a new pod without a node": (PLAIN, 4, [old("b1"), new("a1", "a2", "", "")], False),
    "no rollout, and too few pods": (PLAIN, 6, [new("a1", "a2", "b1")], True),
}  # fmt: skip


@pytest.mark.parametrize(
    ("constraint", "replicas", "pods", "lasts"), ROLLED_OUT.values(), ids=ROLLED_OUT.keys()
)
def test_pods_that_a_rollout_deletes_do_not_count(
    constraint: Json, replicas: int, pods: list[RunningPods], lasts: bool
) -> None:
    judged = replace(deployed(constraint, replicas=replicas), running=tuple(pods))

    assert bool(check_rule("TSC114", judged, audit(THREE, [*pods, OTHERS]))) is lasts


def test_a_rollout_whose_newest_revision_is_unknown_is_left_out() -> None:
    pods = [replace(new("a1", "a2", "a1"), unordered=True), replace(old("b1"), replaced=False)]
    judged = replace(deployed(PLAIN, replicas=3), running=tuple(pods))

    assert check_rule("TSC114", judged, audit(THREE, pods)) == []


def test_the_domains_and_the_minimum_are_reported() -> None:
    pods = running("a1", "a2", "b1", constraints=(spread(),))
    judged = replace(deployed(spread(), replicas=3), running=(pods,))

    (violation,) = check_rule("TSC114", judged, audit(THREE, [pods]))

    assert violation.field == f"{PATH}[0].maxSkew"
    assert violation.problem == (
        'the skew over "topology.kubernetes.io/zone" is 2, maxSkew is 1: '
        "zone-a has 2 pods, the minimum is 0 (a domain has no pod)"
    )
    assert violation.instead.startswith(
        "# if nodes have room: evenspread rebalance deployment/web -n "
    )
    assert "; or add pod-template-hash to matchLabelKeys, which replaces" in violation.instead


def test_the_domains_that_are_too_full_are_those_to_delete_pods_in() -> None:
    pods = running("a1", "a2", "b1", "b1", constraints=(spread(),))
    judged = subject(workload(spread(), kind=REPLICA_SET, replicas=4), running=(pods,))

    (violation,) = check_rule("TSC114", judged, audit(THREE, [pods]))

    assert violation.instead.endswith("; or delete pods in zone-a, zone-b one after another")


def cordoned(*zones: str) -> list[Node]:
    return [replace(one, unschedulable=one.name[0] in zones) for one in THREE]


# nodes, whether zone-c has to be opened before the pods become even
OPENED: dict[str, tuple[list[Node], tuple[str, ...], bool]] = {
    "open": (THREE, ("a1", "a2", "a1", "b1"), False),
    "cordoned": (cordoned("c"), ("a1", "a2", "a1", "b1"), True),
    "not ready": (NOT_READY_C, ("a1", "a1", "a1", "b1"), True),
    "beside another empty one": (cordoned("c"), ("a1", "a2", "a1"), True),
    "with a pod of its own": (cordoned("c"), ("a1", "a2", "a1", "b1", "c1"), False),
}


@pytest.mark.parametrize(("nodes", "placed", "closed"), OPENED.values(), ids=OPENED)
def test_domains_that_are_closed_now_are_to_be_opened_first(
    nodes: list[Node], placed: tuple[str, ...], closed: bool
) -> None:
    pods = running(*placed, constraints=(spread(),))
    judged = replace(deployed(spread(), replicas=len(placed)), running=(pods,))

    (violation,) = check_rule("TSC114", judged, audit(nodes, [pods]))

    assert violation.instead.startswith("# if nodes have room: evenspread rebalance") is not closed
    assert violation.instead.startswith("# no pod can go to zone-c now: let a node") is closed


# constraint, nodes, start of what is suggested; two pods in each of two zones
FIXED: dict[str, tuple[Json, list[Node], str]] = {
    "fewer domains than minDomains": (
        spread(minDomains=3), zones("a1", "b1"), "# add nodes that its pods can go to in 1 further"
    ),
    "a domain with taints that stay": (
        spread(), TAINTED_C, "# no pod can go to zone-c: write nodeTaintsPolicy: Honor, and audit"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("constraint", "nodes", "start"), FIXED.values(), ids=FIXED)
def test_neither_evictions_nor_restarts_are_suggested_where_they_change_nothing(
    constraint: Json, nodes: list[Node], start: str
) -> None:
    pods = running("a1", "a1", "b1", "b1", constraints=(constraint,))
    judged = replace(deployed(constraint, replicas=4), running=(pods,))

    (violation,) = check_rule("TSC114", judged, audit(nodes, [pods]))

    assert violation.instead.startswith(start)
    assert "moves the fewest pods" not in violation.instead
    assert "matchLabelKeys" not in violation.instead


@pytest.mark.parametrize("max_skew", [1, 3])
def test_pods_that_lack_the_constraint_get_it_by_a_rollout(max_skew: int) -> None:
    pods = running("a1", "a1", "b1", constraints=(spread(maxSkew=max_skew),))
    judged = replace(deployed(spread(), replicas=3), running=(pods,))

    (violation,) = check_rule("TSC114", judged, audit(THREE, [pods]))

    assert violation.instead.startswith("# if nodes have room: evenspread rebalance") is (
        max_skew == 1
    )
    assert (violation.instead == AWAIT_ROLLOUT) is (max_skew == 3)


@pytest.mark.parametrize(
    ("nodes", "replicas", "can"),
    [
        (("a1", "a1", "b1"), 4, "may make it even"),
        (("a1", "a1", "b1", ""), 4, "may make it even"),
        (("a1", "a1"), 3, "are too few to make it even"),
        (("a1", "a1", ""), 3, "are too few to make it even"),
    ],
    ids=["missing", "Pending", "too few missing", "too few Pending"],
)
def test_pods_that_are_not_placed_yet_may_end_the_skew(
    nodes: tuple[str, ...], replicas: int, can: str
) -> None:
    pods = running(*nodes, constraints=(spread(),))
    found = subject(workload(spread(), kind=STATEFUL_SET, replicas=replicas, **CLAIMS))

    (violation,) = check_rule("TSC114", replace(found, running=(pods,)), audit(THREE, [pods]))

    explain = "evenspread explain statefulset/web -n shop"
    assert violation.instead.startswith(f"# Pending or missing pods {can}: see {explain}")


@pytest.mark.parametrize(
    ("constraint", "nodes", "cure"),
    [
        (spread(minDomains=4), THREE, "add nodes that its pods can go to in 1 further domain"),
        (spread(), TAINTED_C, "no pod can go to zone-c: write nodeTaintsPolicy: Honor"),
        (spread(), NOT_READY_C, "no pod can go to zone-c now"),
    ],
    ids=["minDomains", "taints", "a node that is not ready"],
)
def test_awaited_pods_raise_no_fixed_minimum(
    constraint: Json, nodes: list[Node], cure: str
) -> None:
    pods = running("a1", "a1", "b1", "b1", constraints=(constraint,))
    judged = replace(deployed(constraint, replicas=6), running=(pods,))

    (violation,) = check_rule("TSC114", judged, audit(nodes, [pods]))

    assert violation.instead.startswith(f"# {cure}")


CLAIMS: Json = {"volumeClaimTemplates": [{"spec": {"storageClassName": "late"}}]}


CONTROL_PLANE = node("cp", "zone-cp", GPU)
CORDONED = Node("d1", {ZONE: "zone-d", HOSTNAME: "d1"}, unschedulable=True)
EVEN = [running(*["a1", "b1", "c1"] * 3)]

# constraint, further nodes, skew
CLOSED: dict[str, tuple[Json, list[Node], str]] = {
    "a soft one sees no domain that is tainted": (
        spread(whenUnsatisfiable=SOFT), [CONTROL_PLANE], ""
    ),
    "nor one that is cordoned": (spread(whenUnsatisfiable=SOFT), [CORDONED], ""),
    "a soft one sees every domain that is open": (
        spread(whenUnsatisfiable=SOFT), [node("d1", "zone-d")], "skew 3 exceeds maxSkew 1"
    ),
    "a hard one sees a domain that is tainted": (
        spread(), [CONTROL_PLANE], "skew 3 exceeds maxSkew 1"
    ),
    "a hard one that honors taints does not": (
        spread(nodeTaintsPolicy="Honor"), [CONTROL_PLANE], ""
    ),
}  # fmt: skip


@pytest.mark.parametrize(("constraint", "more", "reported"), CLOSED.values(), ids=CLOSED.keys())
def test_domains_that_pods_cannot_go_to(constraint: Json, more: list[Node], reported: str) -> None:
    judged = replace(deployed(constraint, replicas=9), running=tuple(EVEN))

    violations = check_rule("TSC114", judged, audit([*THREE, *more], EVEN))

    assert [violation.brief.partition(":")[0] for violation in violations] == (
        [reported] if reported else []
    )


def test_pods_of_others_that_are_too_many_are_named() -> None:
    pods = [running("b1", "c1")]
    everything = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
    judged = deployed(spread(labelSelector=everything), replicas=2)
    judged = replace(judged, running=tuple(pods))
    members = {"Deployment/shop": {"app": "shop"}}

    (violation,) = check_rule("TSC114", judged, audit(THREE, [*pods, OTHERS, OTHERS], members))

    assert "zone-a has 4 pods of Deployment/shop" in violation.instead


def test_one_replica_cannot_be_uneven() -> None:
    pods = running("a1")
    judged = replace(deployed(spread(), replicas=1), running=(pods,))

    assert check_rule("TSC114", judged, audit(THREE, [pods, running("a1", "a2")])) == []


def test_the_pods_of_a_daemon_set_are_where_they_must_be() -> None:
    pods = running("a1", "a2")
    judged = subject(workload(spread(), kind=DAEMON_SET), running=(pods,))

    assert check_rule("TSC114", judged, audit(THREE, [pods])) == []


def test_pods_that_bypass_the_scheduler_cannot_be_moved() -> None:
    pods = running("a1", "a1", constraints=(spread(),))
    bound = deployed(spread(), template_spec={"nodeName": "a1"}, replicas=2)
    judged = replace(bound, running=(pods,))

    assert judged.is_bound
    assert check_rule("TSC114", judged, audit(THREE, [pods])) == []


def test_an_admission_knows_no_pods() -> None:
    assert check_rule("TSC114", deployed(spread()), admission()) == []


def test_pending_pods_have_nothing_to_move() -> None:
    others = running("a1", "a2")
    judged = replace(deployed(spread()), running=(running(""),))

    assert check_rule("TSC114", judged, audit(THREE, [others])) == []
    placed = replace(judged, running=(running("", "a1"),))
    assert len(check_rule("TSC114", placed, audit(THREE, [others]))) == 1
