"""
Replicas without a place, in random clusters whose nodes are closed for several reasons at once.

The findings are compared with every order in which kube-scheduler can place the replicas, now and
once all nodes are ready, not cordoned and not tainted for now.
"""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.build import Json, spread
from tests.policy.advice.orders import count_placed
from tests.policy.advice.subjects import (
    GPU,
    NOT_READY,
    TOLERATING,
    admission,
    audit,
    check_rule,
    deployed,
)
from webhook.policy.advice.subject import Subject
from webhook.policy.model import HOSTNAME, IGNORE, ZONE, Node
from webhook.policy.placement.nodes import UNSCHEDULABLE, find_rejection
from webhook.policy.placement.passingtaints import is_passing

NOTHING: Json = {}
CLOSED_FOR_GOOD = ("TSC104", "TSC105", "TSC116")


@st.composite
def some_nodes(draw: st.DrawFn) -> list[Node]:
    """Draw nodes; each may be cordoned, not ready, tainted and of another pool at once."""
    made: list[Node] = []
    for number in range(draw(st.integers(1, 5))):
        zone, pool = draw(st.sampled_from("abc")), draw(st.sampled_from(["web", "web", "gpu"]))
        taints = draw(st.lists(st.sampled_from([GPU, NOT_READY]), max_size=2, unique=True))
        cordon = draw(st.sampled_from([(), (), (UNSCHEDULABLE,), None]))
        made.append(
            Node(
                f"n{number}",
                {HOSTNAME: f"n{number}", ZONE: zone, "pool": pool},
                (*taints, *(cordon or ())),
                unschedulable=cordon != (),
            )
        )
    return made


@st.composite
def some_constraint(draw: st.DrawFn, key: str) -> Json:
    """Draw a hard constraint with any node inclusion policies, and sometimes minDomains."""
    changed: Json = {"topologyKey": key, "maxSkew": draw(st.integers(1, 2))}
    for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if chosen := draw(st.sampled_from(["", "Honor", "Ignore"])):
            changed[name] = chosen
    if least := draw(st.sampled_from([0, 0, 2, 3])):
        changed["minDomains"] = least
    return spread(**changed)


@st.composite
def some_subject(draw: st.DrawFn) -> Subject:
    """Draw a Deployment with a hard constraint, of which no old pods are counted."""
    selector: Json = {"nodeSelector": {"pool": "web"}} if draw(st.booleans()) else {}
    tolerations = draw(st.sampled_from([NOTHING, TOLERATING]))
    return deployed(
        draw(some_constraint(draw(st.sampled_from([ZONE, HOSTNAME])))),
        replicas=draw(st.integers(2, 7)),
        template_spec={**selector, **tolerations},
        strategy={"type": "Recreate"},
    )


def restore(node: Node) -> Node:
    """Return a node as it is once it is ready, not cordoned and not tainted for now."""
    taints = tuple(taint for taint in node.taints if not is_passing(taint.key))
    return replace(node, taints=taints, unschedulable=False)


def list_rules(rules: Sequence[str], advised: Subject, nodes: Sequence[Node]) -> list[str]:
    """List the rules of which an audit has a finding."""
    return [rule for rule in rules if check_rule(rule, advised, audit(nodes))]


def can_enter(advised: Subject, nodes: Sequence[Node]) -> bool:
    """Whether the pods can go to some node, as far as constraints do not decide."""
    return any(find_rejection(node, advised.demands) is None for node in nodes)


@given(some_nodes(), some_subject())
def test_pods_without_a_place_are_reported(nodes: list[Node], advised: Subject) -> None:
    replicas, restored = advised.replicas or 0, list(map(restore, nodes))
    now, later = (max(count_placed(advised, seen, replicas)) for seen in (nodes, restored))

    found = list_rules((*CLOSED_FOR_GOOD, "TSC106"), advised, nodes)

    assert bool(found) is (now < replicas or later < replicas)
    assert ("TSC106" in found) is (now < later or not can_enter(advised, restored))
    lasting = list_rules(CLOSED_FOR_GOOD, advised, nodes)
    assert bool(lasting) is (can_enter(advised, restored) and later < replicas)
    assert lasting == list_rules(CLOSED_FOR_GOOD, advised, restored)


@given(some_nodes(), some_subject())
def test_an_admission_reports_what_an_audit_does(nodes: list[Node], advised: Subject) -> None:
    later = list_rules(CLOSED_FOR_GOOD, advised, nodes)

    soon = [rule for rule in CLOSED_FOR_GOOD if check_rule(rule, advised, admission(nodes))]

    if advised.demands.pairs and advised.constraints[0].node_affinity_policy == IGNORE:
        # It knows which domains taints close, and of a nodeSelector only for the topology key.
        later = [rule for rule in ("TSC105", *later) if later]
    assert set(soon) <= set(later) or not can_enter(advised, list(map(restore, nodes)))
