"""TSC106 reports workloads whose first replaced pod no node accepts."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.build import Json, spread
from tests.policy.advice.subjects import (
    THREE,
    admission,
    audit,
    check_rule,
    deployed,
    running,
    subject,
    with_ordinal,
    workload,
    zones,
)
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.findings import WAIT_FOR_NODES
from webhook.policy.advice.replacedpod import remove_first
from webhook.policy.advice.runningpods import RunningPods
from webhook.policy.advice.scaling import ReplicaRange
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import REPLICA_SET, STATEFUL_SET
from webhook.policy.model import HOSTNAME, ZONE, LabelSelector, Node
from webhook.policy.nextrevision import PartitionedRevisions
from webhook.policy.placement.nodes import UNSCHEDULABLE
from webhook.policy.podlabels import REVISION_HASH, TEMPLATE_HASH

PATH = "spec.template.spec.topologySpreadConstraints[0]"


def stateful(*nodes: str, constraint: Json | None = None, **spec: Any) -> Subject:
    """Make a StatefulSet whose pods, by their ordinals, run on some nodes."""
    written = {"replicas": len(nodes), **spec}
    found = subject(workload(constraint or spread(), kind=STATEFUL_SET, **written))
    pods = tuple(with_ordinal(ordinal, where) for ordinal, where in enumerate(nodes))
    return replace(found, running=pods)


def judge(found: Subject, nodes: list[Node], *others: RunningPods) -> list[tuple[str, str]]:
    """Judge by TSC106; returns fields and suggestions."""
    context = audit(nodes, [*found.running, *others])
    return [(one.field, one.instead) for one in check_rule("TSC106", found, context)]


def cordon(nodes: list[Node], *names: str) -> list[Node]:
    return [replace(one, unschedulable=one.name in names) for one in nodes]


KAFKA = [with_ordinal(at, where, "kafka") for at, where in enumerate(("a1", "b1", "a1", "b1"))]
OF_KAFKA = spread(minDomains=3, labelSelector={"matchLabels": {"app": "kafka"}})
EACH = zones("a1", "b1", "c1")
CLOSED_C = cordon(EACH, "c1")

# the StatefulSet, nodes, pods of others; the field that TSC106 names, if any
REPLACED: dict[str, tuple[Subject, list[Node], list[RunningPods], str]] = {
    "even pods": (stateful("a1", "b1", "c1"), EACH, [], ""),
    "its node takes it back": (stateful("a1", "b1", "b1"), EACH, [], ""),
    "a copied selector": (
        stateful("a1", "b1", constraint=OF_KAFKA), zones("a1", "b1"), KAFKA, "minDomains"
    ),
    "a copied selector, and places": (
        stateful("a1", "b1", constraint=OF_KAFKA), zones("a1", "b1", "c1"), KAFKA, ""
    ),
    "a closed zone, and full ones": (
        stateful("a1", "a1", "b1", "b1"), CLOSED_C, [], "closed"
    ),
    "a closed zone, and the last pod of one zone": (
        stateful("a1", "b1", "a1"), CLOSED_C, [], "closed"
    ),
    "a closed zone, and the last pod there": (stateful("a1", "b1", "c1"), CLOSED_C, [], "closed"),
    "a closed zone, and another pod there": (stateful("a1", "c1", "b1"), CLOSED_C, [], ""),
}  # fmt: skip


@pytest.mark.parametrize(("found", "nodes", "others", "field"), REPLACED.values(), ids=REPLACED)
def test_the_pod_that_is_replaced_first(
    found: Subject, nodes: list[Node], others: list[RunningPods], field: str
) -> None:
    expected = {
        "": [],
        "closed": [(PATH, WAIT_FOR_NODES)],
        "minDomains": [(f"{PATH}.minDomains", "minDomains: 2")],
    }

    assert judge(found, nodes, *others) == expected[field]


def test_the_pod_is_named() -> None:
    found = stateful("a1", "b1", "a1")

    (violation,) = check_rule("TSC106", found, audit(CLOSED_C, list(found.running)))

    assert violation.problem == (
        "none of the 2 nodes that its pods can go to accepts web-2, once a rollout or an eviction "
        f'deletes it: "{ZONE}" rejects 2; cordoned c1 would accept it (kubectl uncordon c1)'
    )


STUCK = stateful("a1", "b1", "a1")
REVISION = {"matchLabelKeys": [REVISION_HASH]}

# what hides which pod is replaced first, or makes it of no interest
UNKNOWN: dict[str, Subject] = {
    "deletions by hand": stateful("a1", "b1", "a1", updateStrategy={"type": "OnDelete"}),
    "a partition": replace(STUCK, partitioned=PartitionedRevisions(0, 2, {}, {})),
    "several may be missing": stateful(
        "a1", "b1", "a1", updateStrategy={"rollingUpdate": {"maxUnavailable": 2}}
    ),
    "each revision apart": stateful("a1", "b1", "a1", constraint=spread(**REVISION)),
    "pods without ordinals": replace(STUCK, running=(running("a1", "b1", "a1"),)),
    "a rollout that runs": replace(
        STUCK, running=(*STUCK.running[:2], replace(STUCK.running[2], replaced=True))
    ),
    "another kind": replace(STUCK, kind=REPLICA_SET),
    "no constraint": stateful("a1", "b1", "a1").with_constraints(()),
}  # fmt: skip


@pytest.mark.parametrize("found", UNKNOWN.values(), ids=UNKNOWN)
def test_what_is_not_known_is_no_finding(found: Subject) -> None:
    assert judge(found, CLOSED_C) == []


def test_the_counts_are_those_without_the_pod() -> None:
    found = stateful("a1", "b1", "c1")

    first = remove_first(found, audit(THREE, list(found.running)))

    assert first is not None
    assert first.name == "web-2"
    assert first.subject.running == found.running[:2]
    assert first.context.cluster is not None
    own = LabelSelector(match_labels={"app": "web"})
    assert first.context.cluster.census.count(found.namespace, own) == {"a1": 1, "b1": 1}


def test_an_admission_knows_no_pods() -> None:
    context: AdviceContext = admission()

    assert remove_first(stateful("a1", "b1"), context) is None


HOST = spread(topologyKey=HOSTNAME)
FOUR = zones("a1", "a2", "a3", "b1")


def rolled(*nodes: str, missing: int = 1, **spec: Any) -> Subject:
    """Make a Deployment with a pod on each of some nodes, spread over zones and nodes."""
    strategy = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": missing}}
    found = deployed(spread(), HOST, replicas=len(nodes), strategy=strategy, **spec)
    return replace(found, running=(running(*nodes, labels={"app": "web", TEMPLATE_HASH: "a"}),))


def closed(*names: str) -> list[Node]:
    return [
        replace(one, unschedulable=True, taints=(UNSCHEDULABLE,)) if one.name in names else one
        for one in FOUR
    ]


# the Deployment, nodes, whether TSC106 reports that no node accepts its next pod
ANY: dict[str, tuple[Subject, list[Node], bool]] = {
    "a rollout deletes an old pod first": (rolled("a1", "a2", "b1"), FOUR, False),
    "no pod may be missing": (rolled("a1", "a2", "b1", missing=0), FOUR, True),
    "one is on a cordoned node": (rolled("a1", "a2", "b1"), closed("b1"), True),
    "an autoscaler may add pods": (
        replace(rolled("a1", "a2", "b1"), scaling=ReplicaRange(2, 9, "ScaledObject/web")),
        FOUR,
        True,
    ),
    "a replica is missing": (replace(rolled("a1", "a2", "b1"), replicas=4), FOUR, True),
}


@pytest.mark.parametrize(("found", "nodes", "reported"), ANY.values(), ids=ANY)
def test_a_new_pod_in_the_stead_of_any_old_one(
    found: Subject, nodes: list[Node], reported: bool
) -> None:
    assert bool(judge(found, nodes)) is reported
