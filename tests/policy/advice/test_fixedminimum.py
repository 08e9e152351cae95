import pytest
from msgspec.structs import replace

from tests.build import Json, gates, policy, spread
from tests.policy.advice.subjects import (
    GPU,
    NOT_READY_C,
    TAINTED_C,
    among,
    audit,
    check_rule,
    deployed,
    node,
    of_revision,
    partitioned,
    required,
    running,
    subject,
    workload,
    zones,
)
from webhook.policy.advice.fixedminimum import suggest_raising
from webhook.policy.advice.restarts import MOVE_DATA
from webhook.policy.kinds import STATEFUL_SET
from webhook.policy.model import ZONE, Node

REBALANCE = "evenspread rebalance deployment/web -n shop"
SHORT = spread(minDomains=3, nodeTaintsPolicy="Honor")
FOUR = spread(minDomains=4, nodeTaintsPolicy="Honor")
OPEN_C = (
    "no pod can go to zone-c now: let a node there take pods, which is cordoned, not ready or "
    "tainted, and "
)
ADD = f"add nodes that its pods can go to in 1 further domain, and then run {REBALANCE}; or write "
NONE_TO_C, AGAIN = "# no pod can go to zone-c: ", ", and audit again after its rollout"
TWO = zones("a1", "b1")
IN_TWO = required([among("zone-a", "zone-b")])
OTHER_POOL = [
    node("a1", "zone-a", pool="web"),
    node("b1", "zone-b", pool="web"),
    node("c1", "zone-c", pool="db"),
]
WEB: Json = {"nodeSelector": {"pool": "web"}}

# constraint, nodes, nodes of the pods, members of the pods' specification, what is suggested
FIXED: dict[str, tuple[Json, list[Node], str, Json, str | None]] = {
    "no domain is closed": (spread(), zones("a1", "b1", "c1"), "a1 a1 a1 b1", {}, None),
    "a soft constraint": (
        spread(whenUnsatisfiable="ScheduleAnyway"), TAINTED_C, "a1 a1 a1", {}, None
    ),
    "few domains with enough places": (spread(minDomains=3), TWO, "a1 a1", {}, None),
    "a closed domain, and enough places": (spread(), NOT_READY_C, "a1 a1", {}, None),
    "a counted domain is closed for now": (
        spread(), NOT_READY_C, "a1 a1 b1", {}, f"# {OPEN_C}then run {REBALANCE}"
    ),
    "few domains until one returns": (
        SHORT, NOT_READY_C, "a1 a1 b1 c1", {}, f"# {OPEN_C}then run {REBALANCE}"
    ),
    "few domains until one returns, and places for the counted pods only": (
        SHORT, NOT_READY_C, "a1 a1 c1", {}, f"# {OPEN_C}then run {REBALANCE}"
    ),
    "few domains": (
        spread(minDomains=3), TWO, "a1 a1 b1 b1", {}, f"# {ADD}minDomains: 2"
    ),
    "few domains, also once one returns": (
        FOUR, NOT_READY_C, "a1 a1 b1 c1", {}, f"# {OPEN_C}{ADD}minDomains: 3"
    ),
    "few domains, and no other is allowed": (
        spread(minDomains=3), zones("a1", "b1", "c1"), "a1 a1 b1 b1", IN_TWO,
        "# write minDomains: 2",
    ),
    "taints that stay": (
        spread(), TAINTED_C, "a1 a1 b1 b1", {},
        f"{NONE_TO_C}write nodeTaintsPolicy: Honor{AGAIN}",
    ),
    "taints that stay, and few domains without them": (
        spread(minDomains=3), TAINTED_C, "a1 a1 b1 b1", {},
        f"{NONE_TO_C}write nodeTaintsPolicy: Honor and minDomains: 2{AGAIN}",
    ),
    "affinity": (
        spread(nodeAffinityPolicy="Ignore"), OTHER_POOL, "a1 a1 b1 b1", WEB,
        f"{NONE_TO_C}write nodeAffinityPolicy: Honor{AGAIN}",
    ),
}  # fmt: skip


def suggest(constraint: Json, nodes: list[Node], placed: str, spec: Json) -> str | None:
    """Suggest for pods with a constraint."""
    pods = running(*placed.split(), constraints=(constraint,), **spec)
    own = deployed(constraint, template_spec=spec, replicas=len(placed.split()))
    judged = replace(own, running=(pods,))
    context = audit(nodes, [pods])
    assert context.cluster is not None
    (tally,) = context.cluster.tallies(judged.next_pod, judged.constraints, context.gates)
    return suggest_raising(judged, tally, (ZONE,), context)


@pytest.mark.parametrize(
    ("constraint", "nodes", "placed", "spec", "expected"), FIXED.values(), ids=FIXED.keys()
)
def test_what_raises_the_minimum(
    constraint: Json, nodes: list[Node], placed: str, spec: Json, expected: str | None
) -> None:
    assert suggest(constraint, nodes, placed, spec) == expected


def test_pods_with_volumes_run_before_more_is_suggested() -> None:
    pods = running("a1", "a1", "b1", constraints=(spread(),))
    own = subject(workload(spread(), kind=STATEFUL_SET, volumeClaimTemplates=[{"spec": {}}]))
    judged, context = replace(own, running=(pods,)), audit(NOT_READY_C, [pods])
    assert context.cluster is not None
    (tally,) = context.cluster.tallies(judged.next_pod, judged.constraints, context.gates)

    suggested = suggest_raising(judged, tally, (ZONE,), context)

    assert suggested == f"# {OPEN_C}then audit again once its pods run"
    complete = replace(judged, replicas=3)  # its pods return to their volumes in other zones
    assert suggest_raising(complete, tally, (ZONE,), context) == f"# {OPEN_C}then {MOVE_DATA}"


def test_a_constraint_of_an_older_revision_is_judged_by_itself() -> None:
    for held, nodes, cure in (
        (spread(minDomains=3), TWO, "; or write minDomains: 2"),
        (spread(), TAINTED_C, ": write nodeTaintsPolicy: Honor, and audit again after its rollout"),
    ):
        pods = [of_revision("old", "a1", "a1", "b1", "b1", constraints=(held,))]
        judged = replace(partitioned(spread(maxSkew=5), pods=pods), replicas=4)

        (violation,) = check_rule("TSC114", judged, audit(nodes, pods))

        assert violation.field == judged.list_path
        assert violation.instead.endswith(cure)


@pytest.mark.parametrize(
    ("constraint", "lowered"),
    [(spread(), ""), (spread(minDomains=3), " and write minDomains: 2")],
    ids=["enough domains", "few domains without them"],
)
def test_without_policies_affinity_leaves_tainted_nodes_out(constraint: Json, lowered: str) -> None:
    pods = running("a1", "a1", "b1", "b1", constraints=(constraint,))
    judged = replace(deployed(constraint, replicas=4), running=(pods,))
    nodes = [*TWO, node("c1", "zone-c", GPU)]
    off = policy(gates=gates(NodeInclusionPolicyInPodTopologySpread=False))
    context = audit(nodes, [pods], config=off)
    assert context.cluster is not None
    (tally,) = context.cluster.tallies(judged.next_pod, judged.constraints, context.gates)

    found = suggest_raising(judged, tally, (ZONE,), context)

    assert found == (
        f"{NONE_TO_C}leave these nodes out by required node affinity{lowered}, or tolerate "
        f"gpu=a100:NoSchedule{AGAIN}"
    )
