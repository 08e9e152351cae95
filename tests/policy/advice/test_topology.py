import pytest
from msgspec.structs import replace

from tests.build import Json, spread
from tests.policy.advice.subjects import (
    GPU,
    ONE_ZONE,
    THREE,
    TOLERATING,
    admission,
    among,
    audit,
    check_rule,
    judged,
    node,
    required,
    subject,
    suggestions,
    workload,
)
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import DAEMON_SET, DEPLOYMENT
from webhook.policy.model import HOSTNAME, ZONE, Node, Taint
from webhook.policy.placement.nodes import UNSCHEDULABLE

IN_B = {"nodeSelector": {ZONE: "zone-b"}}


NOT_READY = Taint(key="node.kubernetes.io/not-ready", effect="NoSchedule")
UNZONED = [*THREE, node("x1"), node("x2")]
CORDONED = Node("x1", {HOSTNAME: "x1"}, unschedulable=True)

# subject, nodes, problem at admission, problem in an audit
KEYS: dict[str, tuple[Subject, list[Node], str, str]] = {
    "on no node, and one like it is": (
        judged(spread(topologyKey="zone")), THREE,
        'topologyKey "zone" is on no node; topology.kubernetes.io/zone is',
        'topologyKey "zone" is on no node; topology.kubernetes.io/zone is',
    ),
    "on no node, and none like it": (
        judged(spread(topologyKey="rack")), THREE,
        'topologyKey "rack" is on no node, and is like none of their labels',
        'topologyKey "rack" is on no node, and is like none of their labels',
    ),
    "not on all, and hard": (
        judged(spread()), UNZONED,
        f'topologyKey "{ZONE}" is on 6 of 8 nodes: the others get none',
        f'topologyKey "{ZONE}" is on 6 of 8 nodes: the others (x1, x2) get none',
    ),
    "not on all, and soft": (
        judged(spread(whenUnsatisfiable="ScheduleAnyway")), UNZONED,
        f'topologyKey "{ZONE}" is on 6 of 8 nodes: the others come last',
        f'topologyKey "{ZONE}" is on 6 of 8 nodes: the others (x1, x2) come last',
    ),
    "not on all, but on all that the pod requires": (judged(spread(), **IN_B), UNZONED, "", ""),
    "not on all that the pod requires": (
        judged(spread(), **required([among("x1", "a1", key=HOSTNAME)])), UNZONED,
        "", f'topologyKey "{ZONE}" is on 1 of 2 nodes: the other one (x1) gets none',
    ),
    "on all nodes": (judged(spread()), THREE, "", ""),
    "on all nodes but a cordoned one": (judged(spread()), [*THREE, CORDONED], "", ""),
    "on all nodes but tainted ones": (judged(spread()), [*THREE, node("cp", None, GPU)], "", ""),
    "on all nodes but some that are tainted, and one that is not": (
        judged(spread()), [*THREE, node("cp", None, GPU), node("x1")],
        f'topologyKey "{ZONE}" is on 6 of 8 nodes: the others get none',
        f'topologyKey "{ZONE}" is on 6 of 7 nodes: the other one (x1) gets none',
    ),
    "on all nodes but one whose taint is tolerated": (
        judged(spread(), **TOLERATING), [*THREE, node("cp", None, GPU)],
        f'topologyKey "{ZONE}" is on 6 of 7 nodes: the other one gets none',
        f'topologyKey "{ZONE}" is on 6 of 7 nodes: the other one (cp) gets none',
    ),
    "on tainted nodes only": (
        judged(spread()), [node("x1"), node("x2"), node("a1", "zone-a", GPU)],
        f'topologyKey "{ZONE}" is on 1 of 3 nodes: the others get none',
        f'topologyKey "{ZONE}" is on none of the 2 nodes that its pods can go to',
    ),
    "on a cordoned node only": (
        judged(spread()), [node("x1"), replace(node("a1", "zone-a"), unschedulable=True)],
        f'topologyKey "{ZONE}" is on cordoned nodes only',
        f'topologyKey "{ZONE}" is on cordoned nodes only',
    ),
    "on a node that is not ready only": (
        judged(spread()), [node("x1"), node("a1", "zone-a", NOT_READY)],
        f'topologyKey "{ZONE}" is on 1 of 2 nodes: the other one gets none',
        f'topologyKey "{ZONE}" is not on the one node that its pods can go to for now',
    ),
    "not on all, and a misspelled action": (
        judged(spread(whenUnsatisfiable="doNotSchedule")), UNZONED,
        f'topologyKey "{ZONE}" is on 6 of 8 nodes: the others get none, or come last',
        f'topologyKey "{ZONE}" is on 6 of 8 nodes: the others (x1, x2) get none, or come last',
    ),
    "not on all, but the pods bypass the scheduler": (
        judged(spread(), nodeName="a1"), UNZONED, "", ""
    ),
    "on no node, and the pods bypass the scheduler": (
        judged(spread(topologyKey="rack"), nodeName="a1"), THREE,
        'topologyKey "rack" is on no node, and is like none of their labels',
        'topologyKey "rack" is on no node, and is like none of their labels',
    ),
    "the one zone of a cluster": (judged(spread()), ONE_ZONE, "", ""),
    "no key": (judged(spread(topologyKey="")), THREE, "", ""),
    "no nodes": (judged(spread()), [], "", ""),
}  # fmt: skip


@pytest.mark.parametrize(("advised", "nodes", "soon", "later"), KEYS.values(), ids=KEYS.keys())
def test_a_key_that_nodes_lack(advised: Subject, nodes: list[Node], soon: str, later: str) -> None:
    assert problems("TSC103", advised, admission(nodes)) == ([soon] if soon else [])
    assert problems("TSC103", advised, audit(nodes)) == ([later] if later else [])


def problems(rule: str, advised: Subject, context: AdviceContext) -> list[str]:
    return [violation.problem for violation in check_rule(rule, advised, context)]


def test_the_suggested_key_is_the_nearest_one() -> None:
    (meant,) = check_rule("TSC103", judged(spread(topologyKey="zone")), admission())
    (unknown,) = check_rule("TSC103", judged(spread(topologyKey="rack")), admission())
    (partial,) = check_rule("TSC103", judged(spread()), admission(UNZONED))

    assert meant.instead == unknown.instead == f"topologyKey: {ZONE}"
    (single,) = check_rule("TSC103", judged(spread()), audit([*THREE, node("x1")]))
    assert single.instead == f"# label the other node: kubectl label node x1 {ZONE}=VALUE"
    assert partial.instead == f"# label the other nodes: kubectl label node NAME {ZONE}=VALUE"


def test_labels_with_the_prefix_of_the_key_are_suggested() -> None:
    nodes = [
        Node("a1", {HOSTNAME: "a1", ZONE: "a", "dc.example/room": "1", "dc.example/cell": "2"})
    ]

    (violation,) = check_rule("TSC103", judged(spread(topologyKey="dc.example/raum")), audit(nodes))

    assert violation.problem == 'topologyKey "dc.example/raum" is on no node'
    assert violation.instead == (
        "# write another label of that prefix: dc.example/cell, dc.example/room"
    )


def test_no_key_is_suggested_that_is_only_on_nodes_without_pods() -> None:
    nodes = [Node("a1", {HOSTNAME: "a1"}), node("s1", None, GPU, capacity="spot")]
    advised = judged(spread(topologyKey="karpenter.sh/capacity"))

    (violation,) = check_rule("TSC103", advised, audit(nodes))
    (wanted,) = check_rule("TSC103", judged(spread(topologyKey="capacity")), audit(nodes))

    assert violation.problem.endswith(
        "is on no node; capacity is, but on none that its pods can go to"
    )
    assert violation.instead == (
        "# write topologyKey: capacity, and label such nodes: "
        "kubectl label node NAME capacity=VALUE"
    )
    assert wanted.problem.endswith("is not on the one node that its pods can go to")


def test_no_known_key_is_suggested_that_another_entry_has() -> None:
    bare = [Node("a1", {})]

    first, second = suggestions("TSC103", judged(spread(topologyKey="zone"), spread()), audit(bare))

    assert first == (
        "# remove this entry: it repeats topologySpreadConstraints[1], and label the nodes: "
        f"kubectl label node NAME {ZONE}=VALUE"
    )
    assert second == f"# label the nodes: kubectl label node NAME {ZONE}=VALUE"


def test_no_key_is_suggested_that_another_entry_has() -> None:
    meant = judged(spread(topologyKey="zone"), spread(maxSkew=2))
    soft = judged(spread(topologyKey="zone"), spread(whenUnsatisfiable="ScheduleAnyway"))
    unknown = judged(spread(), spread(topologyKey="rack"))

    assert [
        violation.instead
        for advised in (meant, soft, unknown)
        for violation in check_rule("TSC103", advised, admission())
    ] == [
        "# remove this entry: it repeats topologySpreadConstraints[1]",
        f"topologyKey: {ZONE}",
        "# label the nodes: kubectl label node NAME rack=VALUE",
    ]


# actions of an entry without a known key, and of another with it -> what to write
REPEATED = {
    "the same misspelled action": (
        "doNotSchedule", "doNotSchedule",
        "# remove this entry: it repeats topologySpreadConstraints[1]",
    ),
    "a misspelled action": (
        "doNotSchedule", "DoNotSchedule",
        f"# correct whenUnsatisfiable first: topologySpreadConstraints[1] has topologyKey: {ZONE}",
    ),
    "a misspelled action of the other": (
        "DoNotSchedule", "",
        f"# correct whenUnsatisfiable first: topologySpreadConstraints[1] has topologyKey: {ZONE}",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("own", "other", "instead"), REPEATED.values(), ids=REPEATED.keys())
def test_whether_a_key_is_repeated_depends_on_readable_actions(
    own: str, other: str, instead: str
) -> None:
    advised = judged(
        spread(topologyKey="zone", whenUnsatisfiable=own), spread(whenUnsatisfiable=other)
    )

    (violation,) = check_rule("TSC103", advised, admission())

    assert violation.instead == instead


def test_a_misspelled_key_is_no_label_for_nodes() -> None:
    misspelled = judged(spread(topologyKey=f"{ZONE}s"))

    (violation,) = check_rule("TSC103", misspelled, admission([node("x1"), node("x2")]))

    assert violation.problem == f'topologyKey "{ZONE}s" is on no node, and neither is {ZONE}'
    label = f"and label the nodes: kubectl label node NAME {ZONE}=VALUE"
    assert violation.instead == f"# write topologyKey: {ZONE}, {label}"


@pytest.mark.parametrize("key", [ZONE, "rack"])
def test_where_nodes_have_no_zones_there_is_no_key_to_write(key: str) -> None:
    bare = [node("x1"), node("x2"), node("x3", "zone-a")][: 3 if key == "rack" else 2]

    (violation,) = check_rule("TSC103", judged(spread(topologyKey=key)), admission(bare))

    assert violation.instead == f"# label the nodes: kubectl label node NAME {key}=VALUE"


def test_nodes_that_the_pods_can_go_to_are_to_be_labelled() -> None:
    nodes = [node("x1"), node("a1", "zone-a", GPU)]

    (violation,) = check_rule("TSC103", judged(spread()), audit(nodes))

    assert violation.instead == f"# label such nodes: kubectl label node NAME {ZONE}=VALUE"


TYPO, OLD_ZONE = "topology.kubernetes.io/zones", "failure-domain.beta.kubernetes.io/zone"

LACKING = [{"key": ZONE, "operator": "DoesNotExist"}]
LET_GO = (
    f"# spread over another label, or let node affinity allow nodes with {ZONE}, which it "
    "requires to be absent"
)
IN_WEB = [{"key": "pool", "operator": "In", "values": ["web"]}]

# topology key, terms of node affinity, nodes -> what is suggested
FORBIDDEN: dict[str, tuple[str, list[list[Json]], list[Node], str]] = {
    "on nodes without pods": (ZONE, [LACKING], [node("x1"), *THREE], LET_GO),
    "on some nodes": (
        ZONE, [LACKING, IN_WEB], [node("x1"), node("a1", "zone-a", pool="web")], LET_GO
    ),
    "on no node": (ZONE, [LACKING], [node("x1")], LET_GO),
    "misspelled, on nodes without pods": (
        TYPO, [LACKING], [node("x1"), *THREE],
        LET_GO,
    ),
    "of another constraint": (
        "rack", [LACKING], [node("x1"), node("r1", None, GPU, rack="1")],
        "# label such nodes: kubectl label node NAME rack=VALUE",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("key", "terms", "nodes", "instead"), FORBIDDEN.values(), ids=FORBIDDEN.keys()
)
def test_nodes_are_not_to_be_labelled_which_the_pods_could_not_go_to_any_more(
    key: str, terms: list[list[Json]], nodes: list[Node], instead: str
) -> None:
    advised = judged(spread(topologyKey=key), **required(*terms))

    (violation,) = check_rule("TSC103", advised, audit(nodes))

    assert violation.instead == instead


@pytest.mark.parametrize("context", [admission(THREE), audit(THREE)])
def test_two_keys_that_mean_the_same_are_not_both_corrected(context: AdviceContext) -> None:
    advised = judged(spread(topologyKey=TYPO), spread(topologyKey=OLD_ZONE))
    other = judged(
        spread(topologyKey=TYPO), spread(topologyKey=OLD_ZONE, whenUnsatisfiable="ScheduleAnyway")
    )

    assert suggestions("TSC103", advised, context) == [
        f"topologyKey: {ZONE}",
        "# remove this entry: it repeats topologySpreadConstraints[0]",
    ]
    assert suggestions("TSC103", other, context) == [f"topologyKey: {ZONE}"] * 2


PRESSURE = Taint(key="node.kubernetes.io/disk-pressure", effect="NoSchedule")


@pytest.mark.parametrize("state", [UNSCHEDULABLE, PRESSURE])
def test_pods_of_a_daemon_set_go_to_nodes_that_are_closed_to_others(state: Taint) -> None:
    nodes = [*THREE, node("x1", None, state)]
    daemons, others = (subject(workload(spread(), kind=kind)) for kind in (DAEMON_SET, DEPLOYMENT))

    (violation,) = check_rule("TSC103", daemons, audit(nodes))

    assert violation.problem == (
        f'topologyKey "{ZONE}" is on 6 of 7 nodes: the other one (x1) gets none'
    )
    assert check_rule("TSC103", others, audit(nodes)) == []
