import pytest
from msgspec.structs import replace

from tests.build import Json, spread
from tests.policy.advice.subjects import (
    GPU,
    NOT_READY,
    NOT_READY_C,
    TAINTED_C,
    THREE,
    admission,
    audit,
    check_rule,
    deployed,
    node,
    of_revision,
    partitioned,
    running,
    subject,
    workload,
    zones,
)
from webhook.policy.advice.restarts import suggest_moving
from webhook.policy.advice.subject import RunningPods, Subject
from webhook.policy.kinds import DAEMON_SET, REPLICA_SET, STATEFUL_SET
from webhook.policy.model import HOSTNAME, ZONE, Node, Taint

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
    assert violation.instead.startswith("# evenspread rebalance deployment/web -n shop moves the")
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

    assert violation.instead.startswith("# evenspread rebalance") is not closed
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


BY_APP = spread(matchLabelKeys=["app"])
MERGED = spread(
    matchLabelKeys=["app"],
    labelSelector={
        "matchLabels": {"app": "web"},
        "matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}],
    },
)
MISSPELLED: Json = {"matchLabels": {"app": "wbe"}}

# constraint of the template, those of the running pods, whether these have it
CARRIED: dict[str, tuple[Json, tuple[Json, ...], bool]] = {
    "the same": (spread(), (HOST, spread()), True),
    "its selector completed by kube-apiserver": (BY_APP, (MERGED,), True),
    "a selector of other pods": (spread(), (spread(labelSelector=MISSPELLED),), False),
    "no selector": (spread(), (spread(labelSelector=None),), False),
    "none": (spread(), (), False),
    "another maxSkew": (spread(), (spread(maxSkew=3),), False),
    "a soft one": (spread(), (spread(whenUnsatisfiable=SOFT),), False),
    "another key": (spread(), (HOST,), False),
}  # fmt: skip


@pytest.mark.parametrize(("written", "constraints", "has"), CARRIED.values(), ids=CARRIED.keys())
def test_pods_that_lack_the_constraint_get_it_by_a_rollout(
    written: Json, constraints: tuple[Json, ...], has: bool
) -> None:
    pods = running("a1", "a1", "b1", constraints=constraints)
    judged = replace(deployed(written, replicas=3), running=(pods,))

    (violation,) = check_rule("TSC114", judged, audit(THREE, [pods]))

    assert violation.instead.startswith("# evenspread rebalance") is has
    assert violation.instead.endswith("apply it, and audit again after its rollout") is not has


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

EVENING = (
    "# evenspread rebalance statefulset/web -n shop moves the fewest pods, if nodes have room and "
    "PodDisruptionBudgets allow it; "
    "kubectl rollout restart statefulset/web -n shop replaces all of them"
)

# constraint, what to do; pods in one of three zones
PINNED: dict[str, tuple[Json, str]] = {
    "a hard zone": (spread(), suggest_moving("whenUnsatisfiable: ScheduleAnyway")),
    "a soft zone": (spread(whenUnsatisfiable=SOFT), suggest_moving()),
    "nodes": (HOST, EVENING),
}  # fmt: skip


@pytest.mark.parametrize(("constraint", "expected"), PINNED.values(), ids=PINNED.keys())
def test_no_restart_is_suggested_for_pods_with_volumes_of_a_zone(
    constraint: Json, expected: str
) -> None:
    pods = running("a1", "a1", "a1", constraints=(constraint,))
    found = subject(workload(constraint, kind=STATEFUL_SET, replicas=3, **CLAIMS))

    (violation,) = check_rule("TSC114", replace(found, running=(pods,)), audit(THREE, [pods]))

    assert violation.instead == expected


@pytest.mark.parametrize("placed", [("a1", "a2", "b1"), ("a1", "a2", "b1", "")])
def test_data_is_not_moved_while_the_emptiest_zone_is_closed(placed: tuple[str, ...]) -> None:
    pods = running(*placed, constraints=(spread(),))
    found = subject(workload(spread(), kind=STATEFUL_SET, replicas=len(placed), **CLAIMS))
    context = audit(cordoned("c"), [pods])

    (violation,) = check_rule("TSC114", replace(found, running=(pods,)), context)

    assert violation.instead.startswith("# no pod can go to zone-c now: let a node there take pods")
    assert violation.instead.endswith(", and then audit again once its pods run")


# replicas, their nodes, the skews
EXCLUDING: dict[str, tuple[int, tuple[str, ...], list[str]]] = {
    "uneven zones": (6, ("a1", "a1", "a2", "a2", "b1", "b1"), ["zone"]),
    "uneven nodes": (6, ("a1", "a1", "a1", "b1", "b1", "b1"), ["hostname"]),
    "the last one is Pending": (6, ("a1", "a1", "a2", "a2", "b1", ""), ["zone"]),
    "replicas that can be placed": (3, ("a1", "a2"), []),
}


@pytest.mark.parametrize(("replicas", "placed", "uneven"), EXCLUDING.values(), ids=EXCLUDING)
def test_what_no_placement_keeps_is_relaxed_first(
    replicas: int, placed: tuple[str, ...], uneven: list[str]
) -> None:
    constraints = (spread(), HOST)
    pods = running(*placed, constraints=constraints)
    judged = replace(deployed(*constraints, replicas=replicas), running=(pods,))

    found = check_rule("TSC114", judged, audit(zones("a1", "a2", "b1"), [pods]))

    relaxed = [one.instead for one in found if "relax" in one.instead]
    assert [one.rpartition(": ")[2] for one in relaxed] == [
        "otherwise relax the one on kubernetes.io/hostname" for _ in uneven
    ]
    assert all("no way to place more than 5 of 6 replicas" in one for one in relaxed)


@pytest.mark.parametrize("when", ["DoNotSchedule", SOFT])
def test_data_of_even_pods_is_not_moved_because_of_others(when: str) -> None:
    constraint = spread(whenUnsatisfiable=when, labelSelector={"matchLabels": {"team": "x"}})
    labels, others = {"app": "web", "team": "x"}, {"app": "api", "team": "x"}
    pods = [running("a1", "b1", "c1", labels=labels), running("a1", "a1", labels=others)]
    found = subject(workload(constraint, kind=STATEFUL_SET, replicas=3, labels=labels, **CLAIMS))
    context = audit(THREE, pods, {"StatefulSet/web": labels, "StatefulSet/api": others})

    (violation,) = check_rule("TSC114", replace(found, running=(pods[0],)), context)

    assert violation.instead == "labelSelector: {matchLabels: {app: web, team: x}}"


def test_beside_a_soft_zone_a_hard_one_may_be_removed() -> None:
    constraints = (spread(minDomains=2), spread(whenUnsatisfiable=SOFT))
    pods = running("a1", "a1", "a1", constraints=constraints)
    found = subject(workload(*constraints, kind=STATEFUL_SET, replicas=3, **CLAIMS))

    first, *_ = check_rule("TSC114", replace(found, running=(pods,)), audit(THREE, [pods]))

    assert first.instead.endswith(
        ", or remove this constraint: topologySpreadConstraints[1] already spreads softly over "
        f'"{ZONE}"'
    )


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


HELD = of_revision("old", "a1", "a2", "b1", constraints=(spread(maxSkew=2),))
HELD_UNEVEN = of_revision("old", "a1", "a2", "a1", constraints=(spread(),))

# subject, fields of findings of uneven pods
HELD_SKEWS: dict[str, tuple[Subject, list[str]]] = {
    "a constraint that only the template has": (partitioned(spread(), pods=[HELD]), []),
    "a constraint that only the pods have": (partitioned(pods=[HELD_UNEVEN]), [PATH]),
    "the same constraint": (partitioned(spread(), pods=[HELD_UNEVEN]), [f"{PATH}[0].maxSkew"]),
    "pods of both revisions, with the same constraint": (
        partitioned(
            spread(),
            pods=[
                of_revision("old", "a1", "a2", constraints=(spread(),)),
                of_revision("new", "a1", constraints=(spread(),)),
            ],
        ),
        [f"{PATH}[0].maxSkew"],
    ),
    "pods of both revisions": (
        partitioned(spread(), pods=[HELD, of_revision("new", "b1", constraints=(spread(),))]),
        [f"{PATH}[0].maxSkew"],
    ),
}


@pytest.mark.parametrize(("judged", "fields"), HELD_SKEWS.values(), ids=HELD_SKEWS.keys())
def test_pods_are_uneven_by_their_own_constraints(judged: Subject, fields: list[str]) -> None:
    found = check_rule("TSC114", judged, audit(THREE, judged.running))

    assert [violation.field for violation in found] == fields


SOFT_HOST = spread(topologyKey=HOSTNAME, whenUnsatisfiable=SOFT)
UNEVEN = zones("a1", "b1", "b2", "b3")
ALLOWED = (
    "# the hard constraint on topology.kubernetes.io/zone allows no skew below 2: raise this "
    "maxSkew to 2, or relax the hard one"
)
REBALANCED = "# evenspread rebalance "

# constraints, nodes, pods, replicas, starts of what is suggested
LEAST: dict[str, tuple[tuple[Json, ...], tuple[str, ...], int, list[str]]] = {
    "the hard constraint fixes the pods of each zone": (
        (spread(), SOFT_HOST), ("a1", "a1", "a1", "b1", "b2", "b3"), 6, []
    ),
    "it allows a smaller skew, yet more than maxSkew": (
        (spread(), SOFT_HOST), ("a1", "a1", "a1", "b1", "b1", "b1"), 6, [ALLOWED]
    ),
    "it allows an even placement": (
        (spread(), SOFT_HOST), ("a1", "b1", "b1"), 3, [REBALANCED]
    ),
    "another maxSkew allows an even placement": (
        (spread(maxSkew=2), SOFT_HOST), ("a1", "a1", "a1", "b1", "b2", "b3"), 6, [REBALANCED]
    ),
    "it is soft as well": (
        (spread(whenUnsatisfiable=SOFT), SOFT_HOST), ("a1", "a1", "a1", "b1", "b2", "b3"), 6,
        [REBALANCED],
    ),
    "more pods are to come": (
        (spread(), SOFT_HOST), ("a1", "a1", "a1", "b1", "b2", "b3"), 9,
        ["# Pending or missing pods may make it even"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("constraints", "placed", "replicas", "suggested"), LEAST.values(), ids=LEAST.keys()
)
def test_a_skew_that_a_hard_constraint_makes_necessary(
    constraints: tuple[Json, ...], placed: tuple[str, ...], replicas: int, suggested: list[str]
) -> None:
    pods = running(*placed, constraints=constraints)
    judged = replace(deployed(*constraints, replicas=replicas), running=(pods,))

    found = check_rule("TSC114", judged, audit(UNEVEN, [pods]))

    assert [violation.field for violation in found] == [f"{PATH}[1].maxSkew"] * len(suggested)
    for violation, start in zip(found, suggested, strict=True):
        assert violation.instead.startswith(start)
        is_doubted = ", and its hard constraints and Pod" in violation.instead
        assert is_doubted is (start == REBALANCED and constraints[0]["whenUnsatisfiable"] != SOFT)


def test_a_skew_may_be_necessary_without_written_replicas() -> None:
    constraints = (spread(), SOFT_HOST)
    pods = running("a1", "a1", "a1", "b1", "b2", "b3", constraints=constraints)
    judged = replace(deployed(*constraints, replicas=None), running=(pods,))

    assert check_rule("TSC114", judged, audit(UNEVEN, [pods])) == []


def test_a_domain_without_the_key_of_a_hard_constraint_is_no_empty_one() -> None:
    constraints = (spread(), SOFT_HOST)
    pods = running("a1", "a1", "b1", "b1", constraints=constraints)
    judged = replace(deployed(*constraints, replicas=4), running=(pods,))
    nodes = [*zones("a1", "b1"), Node("c1", {HOSTNAME: "c1"})]

    assert check_rule("TSC114", judged, audit(nodes, [pods])) == []


@pytest.mark.parametrize(("closed", "waits"), [((NOT_READY,), True), ((), False)])
def test_a_soft_skew_waits_for_the_nodes_that_a_hard_constraint_needs(
    closed: tuple[Taint, ...], *, waits: bool
) -> None:
    """Until then, a pod that is created anew stays Pending, whatever the soft one prefers."""
    soft = spread(topologyKey=HOSTNAME, whenUnsatisfiable=SOFT)
    pods = running("a1", "a1", "a1", "a2", constraints=(spread(), soft))
    judged = replace(deployed(spread(), soft, replicas=4), running=(pods,))
    nodes = [*zones("a1", "a2"), node("c1", "zone-c", *closed)]

    _, of_soft = check_rule("TSC114", judged, audit(nodes, [pods]))

    assert of_soft.instead.startswith("# no pod can go to zone-c now") is waits
    assert (
        "rollout restart" in of_soft.instead or "matchLabelKeys" in of_soft.instead
    ) is not waits
