"""Pods with affinity to themselves all follow the first one."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.build import Json, spread
from tests.policy.advice.subjects import (
    GPU,
    ONE_ZONE,
    audit,
    check_rule,
    deployed,
    node,
    running,
    suggestions,
    zones,
)
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.subject import Subject
from webhook.policy.model import HOSTNAME, ZONE, Node

WEB = {"matchLabels": {"app": "web"}}
HARD = spread(topologyKey=ZONE)
OWN_REVISION = spread(topologyKey=ZONE, matchLabelKeys=["pod-template-hash"])
SOFT = spread(topologyKey=ZONE, whenUnsatisfiable="ScheduleAnyway")
MOST = spread(topologyKey=ZONE, maxSkew=6)
SURGE = {"rollingUpdate": {"maxUnavailable": 0}}
REGION = "topology.kubernetes.io/region"
REGIONS = [
    node(f"{zone}1", f"zone-{zone}", **{REGION: region})
    for zone, region in (("a", "x"), ("b", "x"), ("c", "y"))
]


def term(**changes: Any) -> Json:
    """Make a term of affinity over zones to the pods of the application web."""
    return {"topologyKey": ZONE, "labelSelector": WEB, **changes}


def beside(*terms: Json, constraint: Json = HARD, **changes: Any) -> Subject:
    """Make a Deployment of six replicas with a constraint and required terms of affinity."""
    among = {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}
    spec = {"affinity": {"podAffinity": among}, **changes.pop("template_spec", {})}
    return deployed(constraint, template_spec=spec, **changes)


OTHER = {"matchLabels": {"app": "cache"}}
FOLLOW = (
    f'by podAffinity all its pods follow the first one to 1 of 3 domains of "{ZONE}": the '
    "constraint cannot spread its pods"
)
PENDING = f"{FOLLOW}, and allows 1 pod there, the others stay Pending"
THREE_THERE = (
    f"{FOLLOW}, and allows 6 pods there, and the additional pods of a rollout stay Pending"
)

FOUND: dict[str, tuple[Subject, AdviceContext, str]] = {
    "the same key": (beside(term()), audit(), PENDING),
    "a constraint on the pods of a revision": (
        beside(term(), constraint=OWN_REVISION), audit(), PENDING
    ),
    "two terms": (beside(term(), term(topologyKey=HOSTNAME)), audit(), PENDING),
    "their namespace": (beside(term(namespaces=["shop"])), audit(), PENDING),
    "nodes within zones": (beside(term(topologyKey=HOSTNAME)), audit(), PENDING),
    "minDomains": (
        beside(term(), constraint=spread(topologyKey=ZONE, minDomains=2)), audit(), PENDING
    ),
    "a soft constraint": (beside(term(), constraint=SOFT), audit(), FOLLOW),
    "pods in one zone": (beside(term()), audit(pods=[running("a1", "a2")]), PENDING),
    "a rollout alone exceeds maxSkew": (
        beside(term(), constraint=MOST, strategy=SURGE), audit(), THREE_THERE
    ),
    "a rollout waits for places": (beside(term(), constraint=MOST), audit(), FOLLOW),
    "maxSkew allows all pods": (
        beside(term(), constraint=spread(topologyKey=ZONE, maxSkew=9)), audit(), FOLLOW
    ),
    "a constraint that counts pods of others": (
        beside(
            term(labelSelector={"matchLabels": {"tier": "front"}}),
            labels={"app": "web", "tier": "front"},
        ),
        audit(members={"Deployment/old": {"app": "web"}}),
        FOLLOW,
    ),
    "a constraint that counts pods in several zones": (
        beside(
            term(labelSelector={"matchLabels": {"tier": "front"}}),
            labels={"app": "web", "tier": "front"},
        ),
        audit(pods=[running("a1", "b1")]),
        FOLLOW,
    ),
}  # fmt: skip


IN_WEB = {"nodeSelector": {"tier": "web"}}

# the rule of closed domains, subject, nodes; the others take no pod either
CLOSED: dict[str, tuple[str, Subject, list[Node]]] = {
    "a tainted zone": ("TSC105", beside(term()), [*zones("a1", "b1"), node("c1", "zone-c", GPU)]),
    "a zone that affinity excludes": (
        "TSC116",
        beside(term(), constraint=spread(nodeAffinityPolicy="Ignore"), template_spec=IN_WEB),
        [node("a1", "zone-a", tier="web"), node("b1", "zone-b", tier="web"), *zones("c1")],
    ),
}


@pytest.mark.parametrize(("rule", "advised", "nodes"), CLOSED.values(), ids=CLOSED)
def test_closed_domains_are_no_cause_where_pods_follow_the_first_one(
    rule: str, advised: Subject, nodes: list[Node]
) -> None:
    assert check_rule(rule, advised, audit(nodes)) == []
    (found,) = check_rule("TSC120", advised, audit(nodes))
    assert found.problem == PENDING.replace("of 3 domains", "of 2 domains")


@pytest.mark.parametrize(("advised", "context", "problem"), FOUND.values(), ids=FOUND)
def test_pods_follow_the_first_one(advised: Subject, context: AdviceContext, problem: str) -> None:
    assert [found.problem for found in check_rule("TSC120", advised, context)] == [problem]


SILENT: dict[str, tuple[Subject, AdviceContext]] = {
    "no affinity": (deployed(HARD), audit()),
    "no nodes": (beside(term()), audit([])),
    "one replica": (beside(term(), replicas=1), audit()),
    "pods of another workload": (beside(term(labelSelector=OTHER)), audit()),
    "a term that the pods do not match": (beside(term(), term(labelSelector=OTHER)), audit()),
    "smaller domains than those of the term": (
        beside(term(), constraint=spread(topologyKey=HOSTNAME)), audit()
    ),
    "a key that no node has": (beside(term(topologyKey="rack")), audit()),
    "another workload with the labels": (
        beside(term()), audit(members={"Deployment/old": {"app": "web"}})
    ),
    "pods in several zones": (beside(term()), audit(pods=[running("a1", "b1")])),
    "pods on a node that is not known": (beside(term()), audit(pods=[running("x1")])),
    "pods in a zone that is closed to others": (
        beside(term(), constraint=spread(topologyKey=ZONE, nodeTaintsPolicy="Honor")),
        audit([*zones("a1", "b1"), node("c1", "zone-c", GPU)], [running("c1")]),
    ),
    "pods of another namespace": (beside(term(namespaces=["bank", "shop"])), audit()),
    "pods of selected namespaces": (beside(term(namespaceSelector={})), audit()),
    "pods of a revision": (beside(term(matchLabelKeys=["pod-template-hash"])), audit()),
    "pods that differ in a label": (beside(term(mismatchLabelKeys=["app"])), audit()),
    "all pods of a namespace": (beside(term(labelSelector={})), audit()),
    "one of several templates": (replace(beside(term()), part="head"), audit()),
}  # fmt: skip


@pytest.mark.parametrize(("advised", "context"), SILENT.values(), ids=SILENT)
def test_pods_that_may_be_in_several_domains(advised: Subject, context: AdviceContext) -> None:
    assert check_rule("TSC120", advised, context) == []


def test_one_domain_is_reported_by_its_own_cause() -> None:
    (found,) = check_rule("TSC120", beside(term()), audit(ONE_ZONE))

    assert found.problem.startswith(f'"{ZONE}" has one domain only (zone-a)')


def test_larger_domains_contain_those_of_the_term() -> None:
    advised = beside(term(), constraint=spread(topologyKey=REGION))

    (found,) = check_rule("TSC120", advised, audit(REGIONS))

    assert "1 of 2 domains" in found.problem


def test_either_of_the_two_has_to_go() -> None:
    assert suggestions("TSC120", beside(term()), audit()) == [
        "# leave out the constraint, or the required podAffinity that keeps its pods together"
    ]
