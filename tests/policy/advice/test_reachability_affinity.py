"""Domains that affinity excludes, and that count all the same."""

import pytest
from msgspec.structs import replace

from tests.build import spread
from tests.policy.advice.subjects import (
    BOUND,
    GPU,
    TAINTED_C,
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
from tests.policy.advice.test_reachability import IGNORING, IN_A, POOLS, WEB_POOL
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import DAEMON_SET
from webhook.policy.model import HOSTNAME, ZONE, Node
from webhook.policy.placement.nodes import UNSCHEDULABLE

SOFT = "ScheduleAnyway"
HONORING = ["nodeAffinityPolicy: Honor"]
BOTH = ["nodeAffinityPolicy: Honor\nnodeTaintsPolicy: Honor"]


POOLS_AND_TAINT = [*POOLS, node("d1", "zone-d", GPU, pool="web")]

# subject, nodes, what admission suggests, what an audit suggests
EXCLUDED: dict[str, tuple[Subject, list[Node], list[str], list[str]]] = {
    "zones that a node selector excludes": (judged(IGNORING, **IN_A), THREE, HONORING, HONORING),
    "zones that an affinity excludes": (
        judged(IGNORING, **required([among("zone-a", "zone-b")])), THREE, HONORING, HONORING
    ),
    "a zone without nodes of the pool": (
        judged(IGNORING, **WEB_POOL), POOLS, [], HONORING
    ),
    "nodes where nodes are the domains": (
        judged(spread(topologyKey=HOSTNAME, nodeAffinityPolicy="Ignore"), **IN_A), THREE,
        [], HONORING,
    ),
    "zones that only both policies leave out": (
        judged(IGNORING, **WEB_POOL), POOLS_AND_TAINT, [], BOTH
    ),
    "a zone that taints exclude too": (
        judged(IGNORING, **IN_A), [*zones("a1", "b1"), node("c1", "zone-c", GPU)],
        HONORING, HONORING,
    ),
    "taints are honored, affinity is not": (
        judged(spread(nodeAffinityPolicy="Ignore", nodeTaintsPolicy="Honor"), **IN_A), TAINTED_C,
        HONORING, HONORING,
    ),
    "affinity is honored": (judged(spread(), **IN_A), THREE, [], []),
    "nothing is required": (judged(IGNORING), THREE, [], []),
    "every zone is allowed": (
        judged(IGNORING, **required([among("zone-a", "zone-b", "zone-c")])), THREE, [], []
    ),
    "no zone is allowed, so no pod is placed anyway": (
        judged(IGNORING, nodeSelector={"pool": "none"}), THREE, [], []
    ),
    "a soft constraint": (
        judged(spread(nodeAffinityPolicy="Ignore", whenUnsatisfiable=SOFT), **IN_A), THREE, [], []
    ),
    "nodes that lack another key": (
        judged(IGNORING, spread(topologyKey="rack"), **IN_A),
        [node("a1", "zone-a", rack="1"), *zones("b1")], [], [],
    ),
    "a selector that counts none of its pods": (
        judged({**IGNORING, "labelSelector": {"matchLabels": {"app": "shop"}}}, **IN_A),
        THREE, [], [],
    ),
    "tainted zones alone": (judged(IGNORING), TAINTED_C, [], []),
    "one replica, and none for a rollout": (
        deployed(IGNORING, replicas=1, template_spec=IN_A), THREE, HONORING, HONORING
    ),
    "one replica that may be missing": (
        deployed(IGNORING, replicas=1, template_spec=IN_A, strategy={"type": "Recreate"}),
        THREE, [], [],
    ),
    "a place for every replica": (
        deployed(spread(nodeAffinityPolicy="Ignore", maxSkew=3), replicas=2, template_spec=IN_A),
        THREE, [], [],
    ),
    "a DaemonSet, of which a domain needs more pods than maxSkew": (
        subject(workload(IGNORING, kind=DAEMON_SET, template_spec=IN_A)),
        THREE,
        [],
        ["nodeAffinityPolicy: Honor"],
    ),
    "a DaemonSet, of which no domain needs more pods than maxSkew": (
        subject(workload(spread(nodeAffinityPolicy="Ignore", maxSkew=9), kind=DAEMON_SET,
                         template_spec=IN_A)),
        THREE,
        [],
        [],
    ),
    "a DaemonSet, whose pods count their own node alone": (
        subject(workload(spread(), kind=DAEMON_SET, template_spec=IN_A)), THREE, [], []
    ),
    "a DaemonSet, whose pods have a place once taints are honored": (
        subject(workload(IGNORING, kind=DAEMON_SET)),
        [*zones("a1", "a2", "b1", "b2"), node("c1", "zone-c", GPU)], [], [],
    ),
    "pods that are written for one node": (judged(IGNORING, **IN_A, **BOUND), THREE, [], []),
}  # fmt: skip


@pytest.mark.parametrize(
    ("advised", "nodes", "soon", "later"), EXCLUDED.values(), ids=EXCLUDED.keys()
)
def test_domains_that_affinity_excludes(
    advised: Subject, nodes: list[Node], soon: list[str], later: list[str]
) -> None:
    assert suggestions("TSC116", advised, admission(nodes)) == soon
    assert suggestions("TSC116", advised, audit(nodes)) == later


def test_the_excluded_domains_and_their_cause_are_named() -> None:
    field = "spec.template.spec.topologySpreadConstraints[0].nodeAffinityPolicy"
    (soon,) = check_rule("TSC116", judged(IGNORING, **IN_A), admission())
    (later,) = check_rule("TSC116", judged(IGNORING, **IN_A), audit())

    assert soon.field == later.field == field
    assert soon.problem == (
        f'by nodeSelector its pods can go to at most 1 of 3 domains of "{ZONE}"; '
        "nodeAffinityPolicy Ignore counts the others, always as empty: no domain takes more than "
        "1 pod, the others stay Pending"
    )
    assert later.problem == (
        f'by nodeSelector its pods can go to 1 of 3 domains of "{ZONE}"; nodeAffinityPolicy Ignore '
        "counts the others (zone-b, zone-c), always as empty: no domain takes more than 1 pod, "
        "the others stay Pending"
    )
    assert later.brief == "nodeAffinityPolicy Ignore counts 2 domains that its pods cannot go to"


def test_excluded_domains_that_do_not_count_for_now_are_named() -> None:
    cordoned = [
        replace(one, unschedulable=True, taints=(UNSCHEDULABLE,)) if one.name[0] == "c" else one
        for one in THREE
    ]
    advised = judged(spread(nodeAffinityPolicy="Ignore", nodeTaintsPolicy="Honor"), **IN_A)

    (now,) = check_rule("TSC116", advised, audit(cordoned))
    (always,) = check_rule("TSC116", advised, audit(THREE))

    assert now.problem.endswith(
        "the others stay Pending; for now zone-c does not count, since all nodes there are "
        "cordoned, not ready or tainted"
    )
    assert always.problem.endswith("the others stay Pending")


def test_all_causes_of_excluded_domains_are_named() -> None:
    advised = judged(IGNORING, **WEB_POOL, **required([among("web", "batch", key="pool")]))

    (violation,) = check_rule("TSC116", advised, audit(POOLS_AND_TAINT))

    assert violation.problem == (
        "by nodeSelector and node affinity and taints (gpu=a100:NoSchedule) its pods can go to 2 "
        f'of 4 domains of "{ZONE}"; nodeAffinityPolicy and nodeTaintsPolicy Ignore count the '
        "others (zone-c, zone-d), always as empty: no domain takes more than 1 pod, the others "
        "stay Pending"
    )
