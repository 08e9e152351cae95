"""TSC121: hard constraints of gangs, and those that a PodGroup contradicts."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from tests.build import gates, pod, policy, spread
from tests.policy.advice.subjects import THREE, admission, audit, check_rule, deployed, subject
from webhook.policy.advice.podgroups import PodGroup
from webhook.policy.advice.subject import Subject
from webhook.policy.api.versions import Version
from webhook.policy.model import HOSTNAME, ZONE, Node

GROUP = {"schedulingGroup": {"podGroupName": "workers"}}
OF_1_35 = {"workloadRef": {"name": "train", "podGroup": "workers"}}
SOFT = spread(whenUnsatisfiable="ScheduleAnyway")
SOFT_NODES = {**SOFT, "topologyKey": HOSTNAME}
RACK = "topology.kubernetes.io/rack"

GANGS: dict[str, tuple[Subject, list[str]]] = {
    "a hard constraint": (subject(pod(spread(), **GROUP)), ["[0]"]),
    "a hard constraint in Kubernetes 1.35": (subject(pod(spread(), **OF_1_35)), ["[0]"]),
    "one of two is hard": (subject(pod(SOFT_NODES, spread(), **GROUP)), ["[1]"]),
    "a soft constraint": (subject(pod(SOFT, **GROUP)), []),
    "no gang": (subject(pod(spread())), []),
    "no gang, as the group is null": (subject(pod(spread(), schedulingGroup=None)), []),
    "a gang that is placed": (subject(pod(spread(), nodeName="n", **GROUP)), []),
}


@pytest.mark.parametrize(("judged", "places"), GANGS.values(), ids=GANGS.keys())
def test_a_hard_constraint_may_keep_a_gang_pending(judged: Subject, places: list[str]) -> None:
    found = check_rule("TSC121", judged, admission())

    fields = [f"spec.topologySpreadConstraints{place}.whenUnsatisfiable" for place in places]
    assert [finding.field for finding in found] == fields
    assert {finding.instead for finding in found} <= {"whenUnsatisfiable: ScheduleAnyway"}


@pytest.mark.parametrize(
    ("version", "fields"),
    [
        (Version(1, 34), []),
        (Version(1, 35), ["spec.workloadRef"]),
        (Version(1, 36), ["spec.schedulingGroup"]),
    ],
)
def test_a_version_that_does_not_know_a_field_places_no_gang(
    version: Version, fields: list[str]
) -> None:
    context = admission(config=policy(gates=gates(version)))
    pods = {"spec.workloadRef": OF_1_35, "spec.schedulingGroup": GROUP}
    found = [
        field
        for field, spec in pods.items()
        if check_rule("TSC121", subject(pod(spread(), **spec)), context)
    ]

    assert found[-1:] == fields


def test_a_constraint_of_a_gang_that_is_made_soft_has_no_min_domains() -> None:
    (found,) = check_rule("TSC121", subject(pod(spread(minDomains=2), **GROUP)), admission())

    assert found.instead == "whenUnsatisfiable: ScheduleAnyway\nminDomains: null"


def grouped(*keys: str, gang: bool = True, replicas: int = 6, **constraint: Any) -> Subject:
    """Read a Deployment whose pods are of a known PodGroup, with a hard constraint over zones."""
    found = deployed(spread(**constraint), replicas=replicas, template_spec=GROUP)
    return replace(found, group=PodGroup(namespace="shop", name="workers", keys=keys, gang=gang))


def node(name: str, zone: str, rack: str = "") -> Node:
    labels = {HOSTNAME: name, ZONE: zone, **({RACK: rack} if rack else {})}
    return Node(name=name, labels=labels)


RACKS = (node("n1", "a", "a1"), node("n2", "a", "a2"), node("n3", "b", "b1"))
LOOSE = (node("n1", "a", "r1"), node("n2", "b", "r1"))
ONE_ZONE = (node("n1", "a", "a1"), node("n2", "a", "a2"))

CONTRADICTED: dict[str, tuple[Subject, Sequence[Node]]] = {
    "the same key": (grouped(ZONE), THREE),
    "the same key, and no node is known": (grouped(ZONE), ()),
    "one node": (grouped(HOSTNAME), ()),
    "a key within that of the constraint": (grouped(RACK), RACKS),
    "the second of two keys": (grouped("unknown", ZONE), THREE),
    "no gang": (grouped(ZONE, gang=False), THREE),
    "more replicas than maxSkew": (grouped(ZONE, replicas=3, maxSkew=2), THREE),
    "one zone, where two are required": (grouped(RACK, minDomains=2), ONE_ZONE),
}


@pytest.mark.parametrize(("judged", "nodes"), CONTRADICTED.values(), ids=CONTRADICTED)
def test_a_pod_group_contradicts_a_hard_constraint(judged: Subject, nodes: Sequence[Node]) -> None:
    (found,) = check_rule("TSC121", judged, audit(nodes))

    assert judged.group is not None
    assert found.problem.startswith('PodGroup "workers" keeps all pods in one domain of "')
    assert found.instead.startswith("whenUnsatisfiable: ScheduleAnyway")


def test_a_contradiction_is_described() -> None:
    (found,) = check_rule("TSC121", grouped(RACK), audit(RACKS))

    assert found.field == "spec.template.spec.topologySpreadConstraints[0].whenUnsatisfiable"
    assert found.problem == (
        f'PodGroup "workers" keeps all pods in one domain of "{RACK}", so in one of "{ZONE}" too, '
        "where this hard constraint permits 1 more than in an empty one: the others stay Pending"
    )
    together = f"PodGroup workers keeps all pods in one domain of {RACK}"
    assert found.brief == f"whenUnsatisfiable: {together}"


CONSISTENT: dict[str, tuple[Subject, Sequence[Node]]] = {
    "no topology": (grouped(), THREE),
    "a key across that of the constraint": (grouped(RACK), LOOSE),
    "a key that contains that of the constraint": (grouped(ZONE, topologyKey=HOSTNAME), THREE),
    "a key on no node": (grouped(RACK), THREE),
    "no more replicas than maxSkew": (grouped(ZONE, replicas=2, maxSkew=2), THREE),
    "one zone": (grouped(RACK), ONE_ZONE),
    "a constraint that counts other pods": (
        grouped(ZONE, labelSelector={"matchLabels": {"app": "other"}}), THREE,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("judged", "nodes"), CONSISTENT.values(), ids=CONSISTENT)
def test_other_hard_constraints_are_reported_of_gangs_alone(
    judged: Subject, nodes: Sequence[Node]
) -> None:
    (found,) = check_rule("TSC121", judged, audit(nodes))
    assert found.problem.startswith("the pods are a gang, by schedulingGroup: ")

    assert judged.group is not None
    basic = replace(judged, group=replace(judged.group, gang=False))
    assert check_rule("TSC121", basic, audit(nodes)) == []
