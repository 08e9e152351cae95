from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from tests.build import Json, spread
from tests.policy.advice.subjects import (
    TAINTED_C,
    THREE,
    admission,
    audit,
    check_rule,
    deployed,
    node,
    running,
    subject,
    workload,
    zones,
)
from webhook.policy.advice.scaling import ReplicaRange
from webhook.policy.advice.storage import StorageClass
from webhook.policy.advice.subject import Subject
from webhook.policy.advice.volumes import volumes_keep_pods, volumes_limit_nodes, volumes_return
from webhook.policy.kinds import STATEFUL_SET
from webhook.policy.model import HOSTNAME, ZONE, GroupKind, Node
from webhook.policy.placement.nodes import UNSCHEDULABLE

EARLY = StorageClass(name="early", provisioner="ebs.csi.aws.com", is_default=True)
LATE = StorageClass(name="late", provisioner="ebs.csi.aws.com", binding_mode="WaitForFirstConsumer")
NARROW = replace(LATE, name="narrow", zones=("zone-a",))
ELSEWHERE = replace(LATE, name="elsewhere", zones=("zone-x",))
SHARED = StorageClass(name="shared", provisioner="efs.csi.aws.com")
CLASSES = (EARLY, LATE, NARROW, ELSEWHERE, SHARED)
POD_INDEX = "apps.kubernetes.io/pod-index"
FOUR = zones("a1", "b1", "c1", "d1")
HONORING = spread(nodeTaintsPolicy="Honor")
CORDONED_C = [*zones("a1", "b1"), replace(node("c1", "zone-c", UNSCHEDULABLE), unschedulable=True)]


def stateful(*names: str | None, constraint: Json | None = None, **changes: Any) -> Subject:
    """Make a StatefulSet with a claim of each class; None names no class."""
    claims = [{"spec": {} if name is None else {"storageClassName": name}} for name in names]
    held: Json = {"volumeClaimTemplates": claims, "replicas": 3, **changes}
    scaling = held.pop("scaling", None)
    found = subject(workload(constraint or spread(), kind=STATEFUL_SET, **held))
    return replace(found, scaling=scaling)


def judge(judged: Subject, nodes: Sequence[Node] = THREE) -> list[str]:
    """List the short forms of the violations, with every class known."""
    context = audit(nodes, storage_classes=CLASSES)
    return [violation.brief for violation in check_rule("TSC108", judged, context)]


EARLY_BRIEF = "volumes of StorageClass early choose a zone before DoNotSchedule does"
NARROW_BRIEF = "StorageClass narrow has no volumes in zone-b, zone-c, counted as empty"
SOFT = spread(whenUnsatisfiable="ScheduleAnyway")
RANGE = ReplicaRange(3, 5, "HorizontalPodAutoscaler/web")

REPORTED: dict[str, tuple[Subject, list[Node], str]] = {
    "volumes that are created first": (stateful("early"), THREE, EARLY_BRIEF),
    "volumes of the default class": (stateful(None), THREE, EARLY_BRIEF),
    "one of two claims": (stateful("late", "early"), THREE, EARLY_BRIEF),
    "volumes that are created first, and no nodes": (stateful("early"), [], EARLY_BRIEF),
    "the zone by its old name": (
        stateful("early", constraint=spread(topologyKey="failure-domain.beta.kubernetes.io/zone")),
        [], EARLY_BRIEF,
    ),
    "volumes of one zone, and three that count": (stateful("narrow"), THREE, NARROW_BRIEF),
    "zones that fill unevenly": (
        stateful("late", replicas=4), THREE,
        "4 replicas fill 3 zones unevenly, and volumes pin them",
    ),
    "a class that is unknown": (
        stateful("other", replicas=5), THREE,
        "5 replicas fill 3 zones unevenly, and volumes pin them",
    ),
    "an autoscaler that fills them unevenly": (
        stateful("late", scaling=RANGE), THREE,
        "4 replicas fill 3 zones unevenly, and volumes pin them",
    ),
    "as many zones as minDomains": (
        stateful("late", constraint=spread(minDomains=3), replicas=4), THREE,
        "4 replicas fill 3 zones unevenly, and volumes pin them",
    ),
    "zones that are closed for now, and do not count": (
        stateful("late", constraint=HONORING, replicas=6), CORDONED_C,
        "6 replicas fill 2 of 3 zones, and volumes pin them",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("judged", "nodes", "brief"), REPORTED.values(), ids=REPORTED.keys())
def test_volumes_that_pin_pods(judged: Subject, nodes: list[Node], brief: str) -> None:
    assert judge(judged, nodes) == [brief]


SILENT: dict[str, tuple[Subject, list[Node]]] = {
    "one replica for each zone": (stateful("late"), THREE),
    "fewer replicas than zones": (stateful("late"), FOUR),
    "as many replicas in each zone": (stateful("late", replicas=6), THREE),
    "no more than maxSkew in a zone": (
        stateful("late", constraint=spread(maxSkew=2), replicas=5), THREE
    ),
    "fewer zones than minDomains, each of which takes maxSkew": (
        stateful("late", constraint=spread(minDomains=4), replicas=4), THREE
    ),
    "fewer zones than minDomains while one is closed": (
        stateful("late", constraint=spread(minDomains=3, nodeTaintsPolicy="Honor")), CORDONED_C
    ),
    "a zone that stays empty, and counts": (stateful("late", replicas=4), TAINTED_C),
    "a zone that is closed for now, and counts": (stateful("late", replicas=6), CORDONED_C),
    "pods that ran before their zone was closed": (
        replace(
            stateful("late", constraint=HONORING, replicas=6),
            running=(running("a1", "b1", "c1", "a1", "b1", ""),),
        ),
        CORDONED_C,
    ),
    "a class that is unknown, and a quorum": (stateful("other"), THREE),
    "an existing volume": (stateful(""), THREE),
    "zones that are unknown": (stateful("late", replicas=4), []),
    "pods that count only themselves": (
        stateful("late", constraint=spread(matchLabelKeys=[POD_INDEX]), replicas=4), THREE
    ),
    "as few volumes as the zone takes, and pods that count only themselves": (
        stateful("narrow", constraint=spread(matchLabelKeys=[POD_INDEX])), THREE
    ),
    "one zone": (stateful("early"), zones("a1", "a2")),
    "nodes without zones": (stateful("early"), [node("a1"), node("a2")]),
    "shared storage": (stateful("shared", replicas=4), THREE),
    "as many volumes as the zone takes": (
        stateful("narrow", constraint=spread(maxSkew=3)), THREE
    ),
    "zones that the nodes do not have": (stateful("elsewhere"), THREE),
    "pods that may only go to the zone of the volumes": (
        stateful("narrow", template_spec={"nodeSelector": {ZONE: "zone-a"}}), THREE
    ),
    "a soft zone": (stateful("early", constraint=SOFT), THREE),
    "nodes": (stateful("early", constraint=spread(topologyKey=HOSTNAME)), THREE),
    "no volumes": (subject(workload(spread(), kind=STATEFUL_SET)), THREE),
    "one replica": (stateful("early", replicas=1), THREE),
    "replicas that are unknown": (stateful("late", replicas=None), THREE),
    "another kind": (deployed(spread(), volumeClaimTemplates=[{}]), THREE),
    "pods that are written for one node": (
        stateful("early", template_spec={"nodeName": "a1"}), THREE
    ),
}  # fmt: skip


@pytest.mark.parametrize(("judged", "nodes"), SILENT.values(), ids=SILENT.keys())
def test_volumes_that_pin_no_pod_where_it_must_not_be(judged: Subject, nodes: list[Node]) -> None:
    assert judge(judged, nodes) == []


REGION = "topology.kubernetes.io/region"
RESTARTED = subject(workload(spread(), kind=STATEFUL_SET))

# StatefulSet, topology key, whether its volumes keep its pods in their domains
KEPT: dict[str, tuple[Subject, str, bool]] = {
    "a zone": (stateful("late"), ZONE, True),
    "a zone of the provisioner": (stateful("late"), "topology.ebs.csi.aws.com/zone", True),
    "a region": (stateful("late"), REGION, True),
    "a class that is unknown": (stateful("other"), ZONE, True),
    "an existing volume": (stateful(""), ZONE, True),
    "shared storage beside a volume of a zone": (stateful("shared", "late"), ZONE, True),
    "shared storage": (stateful("shared"), ZONE, False),
    "nodes": (stateful("late"), HOSTNAME, False),
    "no volumes": (RESTARTED, ZONE, False),
    "claims that end with their pod": (
        replace(stateful("late"), kind=GroupKind("apps.kruise.io", "CloneSet")), ZONE, False
    ),
}  # fmt: skip


@pytest.mark.parametrize(("judged", "key", "expected"), KEPT.values(), ids=KEPT.keys())
def test_volumes_that_keep_pods_in_their_zones(judged: Subject, key: str, expected: bool) -> None:
    cluster = audit(THREE, storage_classes=CLASSES).cluster

    assert cluster is not None
    assert volumes_keep_pods(judged, key, cluster) is expected


# StatefulSet, nodes, whether its volumes may be in one of several zones
DIVIDED: dict[str, tuple[Subject, list[Node], bool]] = {
    "zonal volumes": (stateful("late"), THREE, True),
    "one zone": (stateful("late"), zones("a1", "a2"), False),
    "pods that may only go to one zone": (
        stateful("late", template_spec={"nodeSelector": {ZONE: "zone-a"}}), THREE, False
    ),
    "shared storage": (stateful("shared"), THREE, False),
    "no volumes": (RESTARTED, THREE, False),
}  # fmt: skip


@pytest.mark.parametrize(("judged", "nodes", "divided"), DIVIDED.values(), ids=DIVIDED.keys())
def test_volumes_that_divide_the_nodes(judged: Subject, nodes: list[Node], divided: bool) -> None:
    cluster = audit(nodes, storage_classes=CLASSES).cluster

    assert cluster is not None
    assert volumes_limit_nodes(judged, cluster) is divided


def test_an_admission_knows_no_classes() -> None:
    assert check_rule("TSC108", stateful("early"), admission()) == []


def test_a_violation_names_the_storage_class_and_what_it_pins() -> None:
    context = audit(THREE, storage_classes=CLASSES)

    (early,) = check_rule("TSC108", stateful("early"), context)
    (narrow,) = check_rule("TSC108", stateful("narrow"), context)
    (uneven,) = check_rule("TSC108", stateful("late", replicas=4), context)
    (unknown,) = check_rule("TSC108", stateful("other", replicas=4), context)

    while_closed = audit(CORDONED_C, storage_classes=CLASSES)
    (closed,) = check_rule(
        "TSC108", stateful("late", constraint=HONORING, replicas=6), while_closed
    )

    assert early.problem.startswith('StorageClass "early" binds volumes Immediate: ')
    assert early.instead.startswith("# use a StorageClass with volumeBindingMode: Wait")
    assert "(allowedTopologies), but zone-b, zone-c count as well" in narrow.problem
    assert uneven.problem.startswith('the volumes of StorageClass "late" stay in the zone where')
    assert "4 replicas over 3 zones put more than maxSkew 1 into one" in uneven.problem
    assert uneven.instead == "whenUnsatisfiable: ScheduleAnyway"
    assert closed.problem.endswith(
        "6 replicas over 2 zones, while the others are closed for now, put more than maxSkew 1 "
        "into one, and a pod of that zone cannot return to its volume while another zone lacks a "
        "pod, or after a zone is added; it stays Pending"
    )
    assert unknown.problem.startswith("the volumes stay in the zone where their pod was placed ")
    assert "if they belong to a zone" in unknown.problem


def test_a_constraint_that_is_made_soft_has_no_min_domains() -> None:
    advised = stateful("late", constraint=spread(minDomains=3), replicas=4)

    (violation,) = check_rule("TSC108", advised, audit(THREE, storage_classes=CLASSES))

    assert violation.instead == "whenUnsatisfiable: ScheduleAnyway\nminDomains: null"


ZONES_AB = replace(LATE, name="ab", zones=("zone-a", "zone-b"))
UNEVEN = "; since {} replicas over {} zones put more than maxSkew 1 into one, also "
WRITE = "write whenUnsatisfiable: ScheduleAnyway"
AFFINITY = "# require the zones of the StorageClass by node affinity, so that only they count"

# StatefulSet, nodes, the end of what is suggested
BOTH: dict[str, tuple[Subject, list[Node], str]] = {
    "zones that fill unevenly": (
        stateful("early", replicas=5), THREE,
        f"where the pod is placed{UNEVEN.format(5, 3)}{WRITE}",
    ),
    "zones that fill unevenly once a closed one does not count": (
        stateful("early", replicas=3), TAINTED_C,
        f"where the pod is placed{UNEVEN.format(3, 2)}{WRITE}",
    ),
    "as many replicas in each zone": (stateful("early", replicas=6), THREE, "the pod is placed"),
    "zones that are unknown": (stateful("early", replicas=5), [], "the pod is placed"),
    "minDomains": (
        stateful("early", constraint=spread(minDomains=3), replicas=4), THREE,
        f"{UNEVEN.format(4, 3)}{WRITE} and minDomains: null",
    ),
    "some zones that fill unevenly": (
        stateful("ab", replicas=3), THREE, f"{AFFINITY}{UNEVEN.format(3, 2)}{WRITE}",
    ),
    "as many replicas in some zones": (stateful("ab", replicas=4), THREE, AFFINITY),
}  # fmt: skip


@pytest.mark.parametrize(("judged", "nodes", "expected"), BOTH.values(), ids=BOTH.keys())
def test_a_class_and_what_would_be_reported_with_it_are_suggested_at_once(
    judged: Subject, nodes: list[Node], expected: str
) -> None:
    context = audit(nodes, storage_classes=(*CLASSES, ZONES_AB))

    (violation,) = check_rule("TSC108", judged, context)

    assert violation.instead.startswith("# ")
    assert violation.instead.endswith(expected)


def test_a_constraint_that_another_one_replaces_is_removed_beside_another_class() -> None:
    obj = workload(spread(), SOFT, kind=STATEFUL_SET, replicas=4, volumeClaimTemplates=[{}])

    (violation,) = check_rule("TSC108", subject(obj), audit(THREE, storage_classes=CLASSES))

    assert "into one, also remove this constraint: topologySpreadCon" in violation.instead


def test_claims_of_an_old_snapshot_have_an_unknown_class() -> None:
    old = replace(stateful("early"), claim_classes=())

    assert judge(old) == []


def test_pods_return_to_volumes_unless_these_are_known_to_be_in_every_zone() -> None:
    context = audit(storage_classes=CLASSES)
    zonal, soft = stateful("late"), stateful("late", constraint=SOFT)
    host = stateful("late", constraint=spread(topologyKey=HOSTNAME))

    found = {
        name: volumes_return(judged.constraints[0], judged, context.cluster)
        for name, judged in (("hard", zonal), ("soft", soft), ("host", host))
    }

    assert found == {"hard": True, "soft": False, "host": True}
    for free in (stateful("shared"), deployed(spread()), RESTARTED):
        assert not volumes_return(free.constraints[0], free, context.cluster)
    other = stateful("other")
    assert volumes_return(other.constraints[0], other, context.cluster)
    assert volumes_return(zonal.constraints[0], zonal, admission().cluster)
