import pytest

from tests.build import Json, pod, spread
from tests.policy.advice.subjects import (
    BOUND,
    GPU,
    NOT_READY,
    ONE_ZONE,
    THREE,
    admission,
    among,
    audit,
    check_rule,
    deployed,
    judged,
    node,
    required,
    subject,
    suggestions,
    workload,
    zones,
)
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import DAEMON_SET
from webhook.policy.model import HOSTNAME, ZONE, Node
from webhook.policy.placement.nodes import UNSCHEDULABLE

IN_A = {"nodeSelector": {ZONE: "zone-a"}}
TOGETHER = {
    "affinity": {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": ZONE}
            ]
        }
    }
}
SOFT = "ScheduleAnyway"
IGNORING = spread(nodeAffinityPolicy="Ignore")
HOST = spread(topologyKey=HOSTNAME)
HARD_ZONE = spread(topologyKey=ZONE)
SOFT_ZONE = spread(whenUnsatisfiable=SOFT)
HONORING_TAINTS = spread(nodeTaintsPolicy="Honor")
SPREADS_NOTHING = "the constraint cannot spread its pods"
FOLLOWING = f'by podAffinity all its pods follow the first one to 1 of 3 domains of "{ZONE}"'
IN_ONE = f'by nodeSelector its pods can go to 1 of 3 domains of "{ZONE}" only (zone-a)'
BY_TAINTS = (
    f'by taints (gpu=a100:NoSchedule) its pods can go to 1 of 2 domains of "{ZONE}" only (zone-a)'
)
BY_BOTH = BY_TAINTS.replace("by taints", "by nodeSelector and taints")
TAINTED_B = [*zones("a1", "a2"), node("b1", "zone-b", GPU)]

# subject, nodes, problem in an audit
ON_A1 = (
    "by spec.nodeName all its pods run on node a1: kube-scheduler does not place them, and no "
    "constraint is evaluated"
)
ALONE: dict[str, tuple[Subject, list[Node], str]] = {
    "a node selector leaves one zone": (
        judged(HARD_ZONE, **IN_A), THREE,
        f"{IN_ONE}: {SPREADS_NOTHING}",
    ),
    "a node selector leaves one zone to a soft constraint": (
        judged(SOFT_ZONE, **IN_A), THREE,
        f"{IN_ONE}: {SPREADS_NOTHING}",
    ),
    "taints leave one zone": (
        judged(HONORING_TAINTS), TAINTED_B, f"{BY_TAINTS}: {SPREADS_NOTHING}",
    ),
    "a taint has no part": (
        judged(HARD_ZONE, **IN_A), [*THREE, node("a9", "zone-a", GPU)],
        f"{IN_ONE}: {SPREADS_NOTHING}",
    ),
    "a node selector has no part": (
        judged(HONORING_TAINTS, nodeSelector={"pool": "web"}),
        [node(name, f"zone-{name[0]}", *taints, pool="web")
         for name, taints in (("a1", ()), ("b1", (GPU,)))],
        f"{BY_TAINTS}: {SPREADS_NOTHING}",
    ),
    "a node selector closes a third zone": (
        judged(HONORING_TAINTS, nodeSelector={"pool": "web"}),
        [node("a1", "zone-a", pool="web"), node("b1", "zone-b", GPU, pool="web"),
         node("c1", "zone-c")],
        f"{BY_BOTH.replace('1 of 2', '1 of 3')}: {SPREADS_NOTHING}",
    ),
    "either of two suffices": (
        judged(HONORING_TAINTS, **IN_A), TAINTED_B,
        f"{BY_BOTH}: {SPREADS_NOTHING}",
    ),
    "a cordoned zone is a domain": (
        judged(HARD_ZONE, **IN_A), [*zones("a1", "b1"), Node("c1", {ZONE: "zone-c"}, (), True)],
        f"{IN_ONE}: {SPREADS_NOTHING}",
    ),
    "the other zones are not ready": (
        judged(HARD_ZONE), [*zones("a1"), node("b1", "zone-b", NOT_READY)], ""
    ),
    "a misspelled key beside it": (
        judged(spread(topologyKey="zones"), HARD_ZONE), ONE_ZONE,
        f'"{ZONE}" has one domain only (zone-a): {SPREADS_NOTHING}',
    ),
    "the cluster has one zone": (
        judged(HARD_ZONE), ONE_ZONE, f'"{ZONE}" has one domain only (zone-a): {SPREADS_NOTHING}'
    ),
    "a soft constraint where the cluster has one zone": (judged(SOFT_ZONE), ONE_ZONE, ""),
    "a soft constraint where taints leave one zone": (
        judged(SOFT_ZONE), TAINTED_B, ""
    ),
    "a cluster of one node": (judged(HARD_ZONE, HOST), zones("a1"), ""),
    "the other zones count, but every replica has a place": (
        deployed(spread(nodeAffinityPolicy="Ignore", maxSkew=9), template_spec=IN_A), THREE,
        f"{IN_ONE}: {SPREADS_NOTHING}",
    ),
    "several zones": (judged(HARD_ZONE), THREE, ""),
    "several nodes in one zone": (judged(HOST, **IN_A), THREE, ""),
    "no zone": (judged(HARD_ZONE, nodeSelector={"pool": "none"}), THREE, ""),
    "the other zones count, which is another finding": (judged(IGNORING, **IN_A), THREE, ""),
    "two zones are required, which is another finding": (
        judged(spread(minDomains=2), **IN_A), THREE, ""
    ),
    "all pods follow the first one": (
        judged(SOFT_ZONE, **TOGETHER), THREE,
        f"{FOLLOWING}: {SPREADS_NOTHING}",
    ),
    "no constraint": (judged(), ONE_ZONE, ""),
    "one replica": (deployed(HARD_ZONE, replicas=1), ONE_ZONE, ""),
    "pods that are written for one node": (judged(HARD_ZONE, HOST, **BOUND), THREE, ON_A1),
    "one pod": (deployed(HARD_ZONE, replicas=1, template_spec=BOUND), THREE, ""),
    "a pod that has a node": (subject(pod(HARD_ZONE, **BOUND)), THREE, ""),
}  # fmt: skip


@pytest.mark.parametrize(("advised", "nodes", "problem"), ALONE.values(), ids=ALONE.keys())
def test_one_domain_that_pods_can_go_to(advised: Subject, nodes: list[Node], problem: str) -> None:
    found = check_rule("TSC120", advised, audit(nodes))

    assert [violation.problem for violation in found] == ([problem] if problem else [])
    assert check_rule("TSC120", advised, admission(nodes)) == []


ON_A1_ALONE = (
    "by spec.nodeName all its pods run on node a1: kube-scheduler does not place them, and nothing "
    "spreads them"
)
ON_NONE = ON_A1_ALONE.replace(
    "all its pods run on node a1", "its pods never run, since there is no node x1"
)
PINNED = "its pods can go to node a1 only, and nothing spreads them"

# subject without constraints, nodes, problem
UNCONSTRAINED: dict[str, tuple[Subject, list[Node], str]] = {
    "a node name": (judged(**BOUND), THREE, ON_A1_ALONE),
    "the name of no node": (
        judged(nodeName="x1"), THREE, ON_NONE
    ),
    "the name of a node, and none is known": (judged(**BOUND), [], ON_A1_ALONE),
    "a hostname in the node selector": (
        judged(nodeSelector={HOSTNAME: "a1"}), THREE, f"by nodeSelector {PINNED}"
    ),
    "a hostname in an affinity": (
        judged(**required([among("a1", key=HOSTNAME)])), THREE, f"by node affinity {PINNED}"
    ),
    "no nodes that are known": (
        judged(nodeSelector={HOSTNAME: "a1"}), [], f"by nodeSelector {PINNED}"
    ),
    "several hostnames": (judged(**required([among("a1", "b1", key=HOSTNAME)])), THREE, ""),
    "another label, which more nodes may get": (judged(**IN_A), THREE, ""),
    "a cluster of one node": (judged(nodeSelector={HOSTNAME: "a1"}), zones("a1"), ""),
    "one replica": (deployed(replicas=1, template_spec={"nodeSelector": {HOSTNAME: "a1"}}),
                    THREE, ""),
    "replicas that are left to an autoscaler": (
        deployed(replicas=None, template_spec={"nodeSelector": {HOSTNAME: "a1"}}), THREE, ""
    ),
    "a part, whose constraints stand elsewhere": (
        deployed(labels={}, template_spec={"nodeSelector": {HOSTNAME: "a1"}}), THREE, ""
    ),
    "a Pod": (subject(pod(nodeSelector={HOSTNAME: "a1"})), THREE, ""),
}  # fmt: skip


@pytest.mark.parametrize(
    ("advised", "nodes", "problem"), UNCONSTRAINED.values(), ids=UNCONSTRAINED.keys()
)
def test_replicas_without_constraints_that_are_written_for_one_node(
    advised: Subject, nodes: list[Node], problem: str
) -> None:
    found = check_rule("TSC120", advised, audit(nodes))

    assert [violation.problem for violation in found] == ([problem] if problem else [])
    assert check_rule("TSC110", advised, audit(nodes)) == [] or not problem


FIELDS = {"nodeSelector": judged(nodeSelector={HOSTNAME: "a1"}),
          "affinity": judged(**required([among("a1", key=HOSTNAME)])),
          "nodeName": judged(**BOUND)}  # fmt: skip


@pytest.mark.parametrize(("field", "advised"), FIELDS.items(), ids=FIELDS.keys())
def test_what_binds_the_pods_to_one_node_is_reported(field: str, advised: Subject) -> None:
    (violation,) = check_rule("TSC120", advised, audit())

    assert violation.field == f"spec.template.spec.{field}"


def test_pods_that_are_written_for_one_node_can_be_left_to_the_scheduler() -> None:
    (violation,) = check_rule("TSC120", judged(HARD_ZONE, **BOUND), audit([]))

    assert violation.field == "spec.template.spec.nodeName"


def test_pods_in_one_zone_can_be_spread_over_nodes() -> None:
    (zone,) = suggestions("TSC120", judged(HARD_ZONE, **IN_A), audit())
    (host,) = suggestions("TSC120", judged(HOST, nodeSelector={HOSTNAME: "a1"}), audit())
    (both,) = suggestions("TSC120", judged(HARD_ZONE, nodeSelector={HOSTNAME: "a1"}), audit())

    assert zone.endswith(f"or spread them over {HOSTNAME}")
    assert host.startswith("# let its pods go to more nodes")
    assert both == host


# constraint of a DaemonSet, whether it has no effect
DAEMONS: dict[str, tuple[Json, bool]] = {
    "a hard constraint, which counts one node": (HARD_ZONE, True),
    "a soft constraint": (SOFT_ZONE, True),
    "a soft constraint that counts every node": (
        spread(whenUnsatisfiable=SOFT, nodeAffinityPolicy="Ignore"), True
    ),
    "a hard constraint that counts every node": (IGNORING, False),
    "more than one domain is required": (spread(minDomains=2), True),
    "one domain is required": (spread(minDomains=1), True),
}  # fmt: skip


@pytest.mark.parametrize(("constraint", "is_idle"), DAEMONS.values(), ids=DAEMONS)
def test_constraints_without_effect_on_a_daemon_set(constraint: Json, is_idle: bool) -> None:
    daemons = subject(workload(constraint, kind=DAEMON_SET))

    found = check_rule("TSC120", daemons, audit(THREE))

    assert [one.field for one in found] == (
        ["spec.template.spec.topologySpreadConstraints[0].topologyKey"] if is_idle else []
    )
    assert check_rule("TSC120", daemons, admission()) == []


def test_a_hard_constraint_has_an_effect_on_nodes_without_its_key() -> None:
    hard, soft = (subject(workload(one, kind=DAEMON_SET)) for one in (HARD_ZONE, SOFT_ZONE))
    tolerated = node("x1", None, UNSCHEDULABLE)

    assert check_rule("TSC120", hard, audit([*THREE, tolerated])) == []
    assert len(check_rule("TSC120", hard, audit([*THREE, node("g1", None, GPU)]))) == 1
    assert len(check_rule("TSC120", soft, audit([*THREE, tolerated]))) == 1


SURGING: Json = {"updateStrategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}


def test_several_domains_can_be_required_of_a_node_that_has_another_pod() -> None:
    constraint = spread(minDomains=2)
    plain = subject(workload(constraint, kind=DAEMON_SET))
    surging = subject(workload(constraint, kind=DAEMON_SET, **SURGING))
    others = audit(THREE, members={"Deployment/api": {"app": "web"}})

    assert check_rule("TSC120", surging, audit(THREE)) == []
    assert check_rule("TSC120", plain, others) == []
    assert len(check_rule("TSC120", plain, audit(THREE))) == 1


def test_a_daemon_set_is_told_who_chooses_its_nodes() -> None:
    daemons = subject(workload(HARD_ZONE, SOFT_ZONE, kind=DAEMON_SET))

    hard, soft = check_rule("TSC120", daemons, audit(THREE))

    assert hard.problem == (
        "the controller of a DaemonSet chooses one node for each pod by node affinity, and the "
        "constraint counts no other: the constraint has no effect"
    )
    assert soft.problem.endswith("by node affinity: the constraint has no effect")
    assert hard.instead.startswith("# leave out the constraint")


def test_nodes_without_the_key_of_another_constraint_are_no_domain() -> None:
    nodes = [
        node("a1", "zone-a", rack="1"),
        node("a2", "zone-a"),
        node("b1", "zone-b", pool="web"),
        node("c1", "zone-c", GPU),
    ]
    judged_twice = judged(HARD_ZONE, spread(topologyKey="rack"), spread(topologyKey="pool"))

    assert check_rule("TSC120", judged_twice, audit(nodes)) == [], "no node has both"
    by_rack, _ = check_rule("TSC120", judged(HARD_ZONE, spread(topologyKey="rack")), audit(nodes))
    assert by_rack.problem == (
        f'"{ZONE}" has one domain only (zone-a) of nodes that have "rack": {SPREADS_NOTHING}'
    )
    assert by_rack.instead == "# label the other nodes: kubectl label node NAME rack=VALUE"
