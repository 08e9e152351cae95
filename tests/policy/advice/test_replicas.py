import pytest
from msgspec.structs import replace

from tests.build import Json, spread
from tests.policy.advice.subjects import (
    GPU,
    THREE,
    admission,
    audit,
    check_rule,
    deployed,
    job_set,
    node,
    subject,
    workload,
    zones,
)
from webhook.policy.advice.feasibility import FEASIBILITY_REPLICAS
from webhook.policy.advice.replicas import suggest_relaxing
from webhook.policy.advice.scaling import ReplicaRange
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import DAEMON_SET, STATEFUL_SET
from webhook.policy.model import HOSTNAME, ZONE, GroupKind, Node
from webhook.policy.placement.nodes import UNSCHEDULABLE
from webhook.policy.podlabels import JOB_NAME

RANGE = ReplicaRange(2, 9, "ScaledObject/web")
JOB = GroupKind("batch", "Job")


def cordon(one: Node) -> Node:
    return replace(one, unschedulable=True, taints=(UNSCHEDULABLE,))


def test_constraints_must_agree_for_the_most_replicas_of_an_autoscaler() -> None:
    judged = replace(deployed(spread(), HOST, replicas=3), scaling=RANGE)

    (violation,) = check_rule("TSC109", judged, audit(UNEVEN))

    assert (
        "to place more than 3 of 9 replicas, the most of ScaledObject/web, one after the other so "
        in violation.problem
    )


HOST = spread(topologyKey=HOSTNAME)
SOFT = "whenUnsatisfiable: ScheduleAnyway"
UNIQUE = {"matchLabelKeys": ["statefulset.kubernetes.io/pod-name"]}
UNEVEN = zones("a1", "b1", "b2", "b3")

IN_ONE_RACK = [node(f"{zone}1", zone, rack="1") for zone in "abc"]


CAUSE = (
    "no restart can make its pods even, since there is no way to place more than 3 of 9 replicas "
    f'one after the other so that "{ZONE}" keeps maxSkew 1 and "{HOSTNAME}" keeps maxSkew 1: '
)

# subject of so many replicas, what to do
RELAXED: dict[str, tuple[Subject, str]] = {
    "replicas that can be placed": (deployed(spread(), HOST, replicas=2), ""),
    "pods that can be evicted": (
        deployed(spread(), HOST, replicas=9),
        (
            "# run evenspread rebalance deployment/web -n shop to see if evictions can; "
            f"{CAUSE}otherwise relax the one on {HOSTNAME}"
        ),
    ),
    "pods that cannot be evicted": (
        replace(deployed(spread(), HOST, replicas=9), kind=JOB),
        f"# {CAUSE}relax the one on {HOSTNAME} first",
    ),
}


@pytest.mark.parametrize(("judged", "suggested"), RELAXED.values(), ids=RELAXED)
def test_the_constraint_to_relax_is_named(judged: Subject, suggested: str) -> None:
    assert suggest_relaxing(judged, audit(UNEVEN)) == suggested


AGREEING: dict[str, tuple[Subject, list[Node], str]] = {
    "a small zone and a large one": (deployed(spread(), HOST), UNEVEN, "maxSkew: 3"),
    "the same, the other way round": (deployed(HOST, spread()), UNEVEN, "maxSkew: 3"),
    "a third constraint, whose pods count only themselves": (
        subject(workload(spread(), HOST, {**HOST, **UNIQUE}, kind=STATEFUL_SET)),
        UNEVEN,
        "maxSkew: 3",
    ),
    "pods that count only themselves": (
        subject(workload(spread(**UNIQUE), HOST, kind=STATEFUL_SET)),
        UNEVEN,
        "",
    ),
    "pods that count those of their Job of a JobSet": (
        job_set().with_constraints(deployed(spread(matchLabelKeys=[JOB_NAME]), HOST).constraints),
        UNEVEN,
        "",
    ),
    "even zones": (deployed(spread(), HOST), THREE, ""),
    "few replicas": (deployed(spread(), HOST, replicas=3), UNEVEN, ""),
    "one constraint": (deployed(spread()), UNEVEN, ""),
    "a soft one": (
        deployed(spread(), spread(topologyKey=HOSTNAME, whenUnsatisfiable="ScheduleAnyway")),
        UNEVEN,
        "",
    ),
    "one that counts no pod": (
        deployed(spread(), spread(topologyKey=HOSTNAME, labelSelector=None)),
        UNEVEN,
        "",
    ),
    "the same key twice": (deployed(spread(), spread(maxSkew=2)), UNEVEN, ""),
    "a tainted zone that counts for one": (
        deployed(spread(), spread(topologyKey=HOSTNAME, nodeTaintsPolicy="Honor")),
        [*UNEVEN, node("c1", "zone-c", GPU)],
        "",
    ),
    "a tainted node that counts for one": (
        deployed(spread(), spread(topologyKey=HOSTNAME, nodeTaintsPolicy="Honor")),
        [*UNEVEN, node("a2", "zone-a", GPU)],
        "maxSkew: 3",
    ),
    "a node of another pool that counts for one": (
        deployed(
            spread(nodeAffinityPolicy="Ignore"), HOST, template_spec={"nodeSelector": {"pool": ""}}
        ),
        [
            *(replace(one, labels=one.labels | {"pool": ""}) for one in UNEVEN),
            node("a2", "zone-a", GPU),
        ],
        "maxSkew: 3",
    ),
    "nodes without the key of a third": (
        deployed(spread(), HOST, spread(topologyKey="rack", maxSkew=6), replicas=8),
        [
            *(replace(one, labels=one.labels | {"rack": one.name}) for one in zones("a1", "b1")),
            *zones("b2", "b3"),
        ],
        "",
    ),
    "a key of no node": (
        deployed(spread(), HOST, spread(topologyKey="rack")),
        UNEVEN,
        "maxSkew: 3",
    ),
    "domains that cross, and allow all replicas": (
        deployed(spread(), spread(topologyKey="rack")),
        [node("a1", "a", rack="1"), node("b1", "b", rack="1"), node("b2", "b", rack="2")],
        "",
    ),
    "domains that cross": (
        deployed(spread(topologyKey="rack"), spread()),
        [*IN_ONE_RACK, node("a2", "a", rack="2")],
        SOFT,
    ),
    "domains that cross, of which one is closed": (
        deployed(spread(topologyKey="rack"), spread(), replicas=5),
        [*IN_ONE_RACK, node("a2", "a", rack="2"), node("a3", "a", GPU, rack="3")],
        "",
    ),
    "too many domains that cross": (
        deployed(spread(topologyKey="rack"), spread(topologyKey="row")),
        [node(str(i), "a", rack=str(i // 2), row=str((i + 1) // 2)) for i in range(18)],
        "",
    ),
    "zones that cannot be kept alone": (
        deployed(spread(minDomains=3), HOST),
        UNEVEN,
        "",
    ),
    "nodes that cannot be kept alone": (
        deployed(spread(), spread(topologyKey=HOSTNAME, minDomains=9)),
        UNEVEN,
        "",
    ),
    "more replicas than are looked at": (
        deployed(spread(), HOST, replicas=FEASIBILITY_REPLICAS + 1),
        UNEVEN,
        "",
    ),
    "one replica": (deployed(spread(), HOST, replicas=1), UNEVEN, ""),
    "a DaemonSet": (subject(workload(spread(), HOST, kind=DAEMON_SET)), UNEVEN, ""),
    "pods that are written for one node": (
        deployed(spread(), HOST, template_spec={"nodeName": "a1"}),
        UNEVEN,
        "",
    ),
    "a cluster of one zone": (deployed(spread(), HOST), zones("a1", "a2", "a3"), ""),
    "no nodes": (deployed(spread(), HOST), [], ""),
}


@pytest.mark.parametrize(("judged", "nodes", "instead"), AGREEING.values(), ids=AGREEING.keys())
def test_constraints_that_exclude_each_other(
    judged: Subject, nodes: list[Node], instead: str
) -> None:
    violations = check_rule("TSC109", judged, audit(nodes))

    assert [violation.instead for violation in violations] == ([instead] if instead else [])


IN_RACKS = [
    node("a1", "zone-a", rack="1"), node("b1", "zone-b", rack="1"), node("b2", "zone-b", rack="2"),
]  # fmt: skip
OF_SHOP = spread(topologyKey="rack", labelSelector={"matchLabels": {"app": "shop"}})

# constraints, replicas, nodes, what to write
SUGGESTED: dict[str, tuple[tuple[Json, ...], int, list[Node], str]] = {
    "what every order allows, rather than the best": (
        (spread(), HOST), 6, UNEVEN, "maxSkew: 3"
    ),
    "a third constraint, which crosses the others": (
        (spread(), HOST, spread(topologyKey="rack", maxSkew=5)), 7, IN_RACKS, "maxSkew: 2"
    ),
    "a third constraint, with which no maxSkew is enough": (
        (spread(), HOST, spread(topologyKey="rack")), 7, IN_RACKS, SOFT
    ),
    "a third constraint, and minDomains, which a soft one must not have": (
        (spread(), {**HOST, "minDomains": 1}, spread(topologyKey="rack")), 7, IN_RACKS,
        f"{SOFT}\nminDomains: null",
    ),
    "a third constraint that counts pods of others": (
        (spread(), HOST, OF_SHOP), 7, IN_RACKS, SOFT
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("constraints", "replicas", "nodes", "instead"), SUGGESTED.values(), ids=SUGGESTED.keys()
)
def test_what_is_suggested_leaves_no_replica_pending(
    constraints: tuple[Json, ...], replicas: int, nodes: list[Node], instead: str
) -> None:
    judged = deployed(*constraints, replicas=replicas)
    members = {"Deployment/shop": {"app": "shop"}}

    found = check_rule("TSC109", judged, audit(nodes, members=members))

    assert {violation.instead for violation in found} == {instead}


RACKS = [
    node("b0", "b", rack="1"), node("b1", "b", rack="2"), node("b2", "b", rack="1"),
    node("c0", "c", rack="1"),
]  # fmt: skip
RACK = spread(topologyKey="rack", maxSkew=3)

# constraints, nodes, what TSC112 suggests for each of three replicas' constraints
LOOSE: dict[str, tuple[tuple[Json, ...], list[Node], list[str]]] = {
    "keys that cross": ((spread(maxSkew=3), RACK), RACKS, ["maxSkew: 1", "maxSkew: 1"]),
    "keys that cross, one of which is even": ((spread(), RACK), RACKS, ["maxSkew: 2"]),
    "zones and nodes": (
        (spread(), spread(topologyKey=HOSTNAME, maxSkew=3)), THREE, ["maxSkew: 1"]
    ),
    "a closed zone": ((spread(maxSkew=3),), [*zones("a1", "b1"), node("c1", "c", GPU)],
                      ["maxSkew: 2"]),
    "a closed zone that leaves one": ((spread(maxSkew=3),), [*zones("a1"), node("c1", "c", GPU)],
                                      [SOFT]),
    "a cordoned zone": (
        (spread(maxSkew=3),), [*zones("a1", "b1"), cordon(*zones("c1"))], ["maxSkew: 2"]
    ),
    "a cordoned zone that leaves one": (
        (spread(maxSkew=3),), [*zones("a1"), cordon(*zones("b1"))], [SOFT]
    ),
    "cordoned nodes of one zone": (
        (spread(maxSkew=3), spread(topologyKey=HOSTNAME, maxSkew=3, nodeAffinityPolicy="Ignore")),
        [*zones("a1"), cordon(*zones("a2"))], ["maxSkew: 1", SOFT],
    ),
    "a cordoned zone that does not count": (
        (spread(maxSkew=3, nodeTaintsPolicy="Honor"),),
        [*zones("a1", "b1"), cordon(*zones("c1"))], ["maxSkew: 1"],
    ),
    "cordoned nodes alone": ((spread(maxSkew=3),), [*map(cordon, THREE)], ["maxSkew: 1"]),
    "no nodes": ((spread(), RACK), [], ["maxSkew: 1"]),
}  # fmt: skip


@pytest.mark.parametrize(("constraints", "nodes", "instead"), LOOSE.values(), ids=LOOSE.keys())
def test_a_skew_that_binds_leaves_no_replica_pending(
    constraints: tuple[Json, ...], nodes: list[Node], instead: list[str]
) -> None:
    judged = deployed(*constraints, replicas=3, strategy={"type": "Recreate"})

    assert [one.instead for one in check_rule("TSC112", judged, audit(nodes))] == instead


def test_a_skew_that_binds_holds_once_cordoned_nodes_return() -> None:
    host = spread(topologyKey=HOSTNAME, maxSkew=6, nodeTaintsPolicy="Honor")
    advised = deployed(spread(), host, strategy={"type": "Recreate"})
    nodes = [*zones("a1", "b1"), *map(cordon, zones("b2", "b3"))]

    (violation,) = check_rule("TSC112", advised, audit(nodes))

    assert violation.instead == "maxSkew: 3"  # 1 were enough without b2 and b3


def test_replicas_before_the_last_have_no_place() -> None:
    judged, nodes = deployed(spread(), HOST, replicas=7), zones("a1", "b1", "b2")

    (violation,) = check_rule("TSC109", judged, audit(nodes))

    assert violation.problem.startswith("there is no way to place more than 5 of 7 replicas one ")
    assert violation.brief.startswith("no more than 5 of 7 replicas can keep both ")
    assert violation.instead == "maxSkew: 2"


def test_constraints_that_count_others_too_are_no_matter_of_the_replicas() -> None:
    members = {"Deployment/cache": {"app": "web"}}

    assert check_rule("TSC109", deployed(spread(), HOST), audit(UNEVEN, members=members)) == []


@pytest.mark.parametrize("constraints", [(spread(), HOST), (HOST, spread())])
def test_the_constraint_on_nodes_is_the_one_to_change(constraints: tuple[Json, Json]) -> None:
    (violation,) = check_rule("TSC109", deployed(*constraints), audit(UNEVEN))

    index = constraints.index(HOST)
    assert violation.field == f"spec.template.spec.topologySpreadConstraints[{index}]"


def test_an_admission_does_not_know_the_zones() -> None:
    assert check_rule("TSC109", deployed(spread(), HOST), admission(UNEVEN)) == []


HASHES = {"matchLabelKeys": ["pod-template-hash"]}


@pytest.mark.parametrize(("selects", "number"), [("web", 1), ("other", 0)])
def test_the_pods_of_a_revision_that_has_none_yet_must_agree(selects: str, number: int) -> None:
    keyed = {**HASHES, "labelSelector": {"matchLabels": {"app": selects}}}
    judged = deployed(spread(**keyed), spread(topologyKey=HOSTNAME, **keyed))

    assert len(check_rule("TSC109", judged, audit(UNEVEN))) == number
