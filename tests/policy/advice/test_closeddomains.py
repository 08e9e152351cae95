import dataclasses
from typing import Any

import pytest
from msgspec.structs import replace

from tests.build import Json, gates, policy, spread
from tests.policy.advice.subjects import (
    GPU,
    TAINTED_C,
    THREE,
    admission,
    among,
    audit,
    deployed,
    judged,
    node,
    required,
    subject,
    workload,
    zones,
)
from webhook.policy.advice.closeddomains import (
    ClosedDomains,
    describe_few,
    find_closed,
    find_tainted,
    honor_policies,
    name_requirements,
    open_domains,
    selects_nodes,
    suggest_policies,
    suggest_without_policies,
)
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.counting import hard_constraints
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import DAEMON_SET
from webhook.policy.model import HONOR, HOSTNAME, ZONE, Node
from webhook.policy.placement.nodes import Demands, Toleration
from webhook.policy.placement.runtimeclasses import RuntimeClass

IGNORING = spread(nodeAffinityPolicy="Ignore")
HONORING = spread(nodeTaintsPolicy="Honor")
IN_A = {"nodeSelector": {ZONE: "zone-a"}}
IN_WEB = {"nodeSelector": {"pool": "web"}}
TAINT = "gpu=a100:NoSchedule"
TAINTED = ClosedDomains(("zone-c",), 1, (TAINT,))


def closed(written: Json, context: AdviceContext, **spec: Any) -> ClosedDomains | None:
    """Find the closed domains of a Deployment's only constraint."""
    subject = deployed(written, template_spec=spec)
    (found,) = hard_constraints(subject, context)
    return find_closed(found, (found.topology_key,), subject.demands, context)


def limited(*values: str, number: int, reached: int, affinity: bool = True) -> ClosedDomains:
    policy = "nodeAffinityPolicy" if affinity else "nodeTaintsPolicy"
    taint = "" if affinity else TAINT
    return ClosedDomains(tuple(values), number, (taint,) if taint else (), (policy,), reached)


BY_TAINT = limited("zone-c", number=1, reached=2, affinity=False)

# constraint, pod, nodes, at admission, in an audit
CLOSED: dict[str, tuple[Json, Json, list[Node], ClosedDomains | None, ClosedDomains | None]] = {
    "by taints": (
        spread(), {}, TAINTED_C, BY_TAINT, BY_TAINT
    ),
    "by taints that are honored": (HONORING, {}, TAINTED_C, None, None),
    "by affinity": (
        IGNORING, IN_A, THREE,
        limited(number=2, reached=1), limited("zone-b", "zone-c", number=2, reached=1),
    ),
    "by affinity that is honored": (spread(), IN_A, THREE, None, None),
    "by affinity, and honored taints leave out others": (
        spread(nodeAffinityPolicy="Ignore", nodeTaintsPolicy="Honor"), IN_A, TAINTED_C,
        limited(number=1, reached=1), limited("zone-b", number=1, reached=1),
    ),
    "by affinity that excludes a zone": (
        IGNORING,
        required([{"key": ZONE, "operator": "NotIn", "values": ["zone-c"]}]), THREE,
        limited(number=1, reached=2), limited("zone-c", number=1, reached=2),
    ),
    "by affinity that allows a zone of no node": (
        IGNORING, required([among("zone-a", "zone-x")]), THREE,
        limited(number=2, reached=1), limited("zone-b", "zone-c", number=2, reached=1),
    ),
    "by affinity that allows a zone which honored taints leave out": (
        spread(nodeAffinityPolicy="Ignore", nodeTaintsPolicy="Honor"),
        required([among("zone-a", "zone-c")]), TAINTED_C,
        limited(number=1, reached=1), limited("zone-b", number=1, reached=1),
    ),
    "by affinity that allows no zone of a node": (
        IGNORING, required([among("zone-x")]), THREE, None, None
    ),
    "by taints, and affinity excludes no other": (
        IGNORING, required([among("zone-a", "zone-b")]), TAINTED_C,
        BY_TAINT, BY_TAINT,
    ),
    "by taints, in a zone that affinity allows": (
        spread(), required([among("zone-a", "zone-c", "zone-x")]), TAINTED_C,
        limited("zone-c", number=1, reached=1, affinity=False),
        limited("zone-c", number=1, reached=1, affinity=False),
    ),
    "by taints, in a zone that affinity does not exclude": (
        spread(), required([{"key": ZONE, "operator": "NotIn", "values": ["zone-b"]}]), TAINTED_C,
        limited("zone-c", number=1, reached=1, affinity=False),
        limited("zone-c", number=1, reached=1, affinity=False),
    ),
    "by taints, in a zone that affinity excludes": (
        spread(), required([{"key": ZONE, "operator": "NotIn", "values": ["zone-c"]}]), TAINTED_C,
        None, None,
    ),
    "by taints, and another label is required": (
        spread(),
        {"nodeSelector": {"os": "linux"}},
        [replace(one, labels={**one.labels, "os": "linux"}) for one in TAINTED_C],
        None, limited("zone-c", number=1, reached=2, affinity=False),
    ),
    "by a label that no index knows": (
        IGNORING, IN_WEB, [node("a1", "zone-a", pool="web"), *zones("b1")],
        None, limited("zone-b", number=1, reached=1),
    ),
    "all domains": (
        spread(), {"nodeSelector": {"pool": "none"}}, TAINTED_C, None, None
    ),
    "all domains by taints": (spread(), {}, TAINTED_C[2:], None, None),
    "no domain": (IGNORING, {}, THREE, None, None),
    "nodes without the key": (
        IGNORING, IN_A, [*THREE, node("x1")],
        limited(number=2, reached=1), limited("zone-b", "zone-c", number=2, reached=1),
    ),
    "tainted nodes that affinity leaves out": (spread(), IN_A, TAINTED_C, None, None),
}  # fmt: skip


@pytest.mark.parametrize(
    ("written", "spec", "nodes", "soon", "later"), CLOSED.values(), ids=CLOSED.keys()
)
def test_closed_domains(
    written: Json,
    spec: Json,
    nodes: list[Node],
    soon: ClosedDomains | None,
    later: ClosedDomains | None,
) -> None:
    assert closed(written, admission(nodes), **spec) == soon
    assert closed(written, audit(nodes), **spec) == later


def test_nodes_without_the_key_of_another_constraint_may_be_the_closed_ones() -> None:
    context = admission(THREE)
    (found,) = hard_constraints(deployed(IGNORING), context)
    demands = deployed(template_spec=IN_A).demands

    assert find_closed(found, (ZONE, HOSTNAME), demands, context) is not None
    assert find_closed(found, (ZONE, "rack"), demands, context) is None


def test_the_fewest_policies_leave_the_domains_out() -> None:
    pools = [node("a1", "zone-a", pool="web"), node("b1", "zone-b", pool="batch")]

    one = closed(IGNORING, audit([*pools, node("c1", "zone-c", GPU, pool="batch")]), **IN_WEB)
    two = closed(IGNORING, audit([*pools, node("c1", "zone-c", GPU, pool="web")]), **IN_WEB)

    assert one is not None
    assert one.policies == ("nodeAffinityPolicy",)
    assert two is not None
    assert (two.policies, two.taints) == (("nodeAffinityPolicy", "nodeTaintsPolicy"), (TAINT,))
    assert not one.by_taints
    assert not two.by_taints
    assert TAINTED.by_taints


def test_without_the_gate_affinity_is_honored_anyway() -> None:
    off = policy(gates=gates(NodeInclusionPolicyInPodTopologySpread=False))

    assert closed(IGNORING, audit(config=off), **IN_A) is None
    assert closed(IGNORING, admission(config=off), **IN_A) is None


def test_chosen_policies_are_set_to_honor() -> None:
    (written,) = deployed(IGNORING).constraints

    assert honor_policies(written, ()) == written
    assert honor_policies(written, ["nodeAffinityPolicy"]).node_affinity_policy == HONOR
    assert honor_policies(written, ["nodeAffinityPolicy"]).node_taints_policy is None
    assert honor_policies(written, ["nodeTaintsPolicy"]).node_taints_policy == HONOR


def test_policies_are_suggested_at_the_field_of_the_first() -> None:
    both = ClosedDomains(policies=("nodeAffinityPolicy", "nodeTaintsPolicy"))

    field, instead = suggest_policies(deployed(spread()), 0, both)

    assert field == "spec.template.spec.topologySpreadConstraints[0].nodeAffinityPolicy"
    assert instead == "nodeAffinityPolicy: Honor\nnodeTaintsPolicy: Honor"


# what is known of the closed domains, minDomains -> what is written
FEW: dict[str, tuple[ClosedDomains, int | None, str]] = {
    "enough": (TAINTED, 2, "nodeTaintsPolicy: Honor"),
    "without minDomains": (TAINTED, None, "nodeTaintsPolicy: Honor"),
    "fewer than minDomains": (TAINTED, 3, "nodeTaintsPolicy: Honor\nminDomains: 2"),
    "a bound": (
        dataclasses.replace(TAINTED, values=()), 3,
        ("# write nodeTaintsPolicy: Honor, and as minDomains the number of domains that its pods "
         "can go to, 2 at most"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("known", "least", "written"), FEW.values(), ids=FEW)
def test_min_domains_are_at_most_the_domains_that_remain(
    known: ClosedDomains, least: int | None, written: str
) -> None:
    known = dataclasses.replace(known, reached=2)
    advised = deployed(spread(minDomains=least))

    assert suggest_policies(advised, 0, known)[1] == written
    lowered = least if least is None else 2
    opened = open_domains(advised.constraints[0], known)
    assert (opened.node_taints_policy, opened.min_domains) == (HONOR, lowered)


def test_few_domains_are_enough_for_a_daemon_set() -> None:
    advised = subject(workload(spread(minDomains=3), kind=DAEMON_SET))

    assert describe_few(deployed(spread(minDomains=3)), 0, TAINTED)
    assert not describe_few(advised, 0, TAINTED)


def test_without_policies_nodes_are_left_out_or_taints_tolerated() -> None:
    few = dataclasses.replace(TAINTED, reached=2)
    first, second = "leave these nodes out by required node affinity", f", or tolerate {TAINT}"

    for constraint, lowered in ((spread(), ""), (spread(minDomains=3), " and write minDomains: 2")):
        assert suggest_without_policies(deployed(constraint), 0, few) == first + lowered + second


def test_tainted_domains_by_an_index() -> None:
    facts = admission(TAINTED_C).facts
    tolerating = Demands(tolerations=(Toleration("gpu", "Exists"),))

    assert find_tainted(ZONE, Demands(), facts) == TAINTED
    assert find_tainted(ZONE, tolerating, facts) == ClosedDomains()
    assert find_tainted("rack", Demands(), facts) == ClosedDomains()


def test_pods_that_require_certain_nodes() -> None:
    assert not selects_nodes(Demands())
    assert selects_nodes(Demands(pairs=((HOSTNAME, "a1"),)))
    assert selects_nodes(Demands(terms=()))


def test_pods_that_no_node_admits_have_no_closed_domains() -> None:
    contradicting = {"nodeSelector": {ZONE: "zone-a"}, **required([among("zone-b")])}
    advised = judged(spread(nodeAffinityPolicy="Ignore"), **contradicting)
    context = admission()
    (constraint,) = hard_constraints(advised, context)

    assert find_closed(constraint, (ZONE,), advised.demands, context) is None


KATA = RuntimeClass(name="kata", node_selector={"pool": "kata"})
TOLERATING_ONLY = RuntimeClass(name="gpu", tolerations=(Toleration("gpu", "Exists"),))
NAMED = {
    "nodeSelector": (judged(**IN_A), (), "nodeSelector"),
    "affinity and taints": (
        judged(**required([among("zone-a")])),
        ("gpu:NoSchedule", "spot:NoExecute"),
        "node affinity and taints (gpu:NoSchedule, spot:NoExecute)",
    ),
    "a RuntimeClass": (replace(deployed(), runtime_class=KATA), (), "RuntimeClass kata"),
    "nodeSelector and a RuntimeClass": (
        replace(judged(**IN_A), runtime_class=KATA),
        (),
        "nodeSelector and RuntimeClass kata",
    ),
    "a RuntimeClass without labels": (
        replace(judged(**IN_A), runtime_class=TOLERATING_ONLY),
        (),
        "nodeSelector",
    ),
}


@pytest.mark.parametrize(("advised", "taints", "named"), NAMED.values(), ids=NAMED.keys())
def test_what_keeps_pods_off_nodes_is_named(
    advised: Subject, taints: tuple[str, ...], named: str
) -> None:
    assert name_requirements(advised, taints) == named


def test_labels_are_left_out_where_they_have_no_part() -> None:
    assert name_requirements(judged(**IN_A), (TAINT,), with_labels=False) == f"taints ({TAINT})"
