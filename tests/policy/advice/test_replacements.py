"""TSC119 reports StatefulSets whose pods cannot all return to the zones of their volumes."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from tests.build import Json, pod, spread, template
from tests.policy.advice.subjects import (
    TAINTED_C,
    THREE,
    audit,
    check_rule,
    node,
    running,
    subject,
    workload,
    zones,
)
from webhook.policy.advice.advise import advise
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.runningpods import RunningPods
from webhook.policy.advice.storage import StorageClass
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import STATEFUL_SET
from webhook.policy.model import HOSTNAME, LabelSelector, Node, ObjectMeta, PodTemplate
from webhook.policy.nextrevision import PartitionedRevisions
from webhook.policy.placement.nodes import UNSCHEDULABLE
from webhook.policy.podlabels import REVISION_HASH

DISKS = StorageClass(name="disks", provisioner="ebs.csi.aws.com")
FILES = StorageClass(name="files", provisioner="efs.csi.aws.com")


def stateful(*nodes: str, constraint: Json | None = None, **spec: Any) -> Subject:
    """Make a StatefulSet of three pods with disks, which run on some nodes."""
    claims = [{"spec": {"storageClassName": spec.pop("storage", "disks")}}]
    written = {"replicas": 3, "volumeClaimTemplates": claims, **spec}
    found = subject(workload(constraint or spread(), kind=STATEFUL_SET, **written))
    return replace(found, running=(running(*nodes),))


def cluster_of(*pods: RunningPods, nodes: Sequence[Node] = THREE) -> AdviceContext:
    return audit(nodes, list(pods), storage_classes=(DISKS, FILES))


UNEVEN_PODS = ("a1", "a1", "b1")  # zone-c was added later

# the StatefulSet, the nodes, and whether it never rolls out
VOLUMES: dict[str, tuple[Subject, list[Node], bool]] = {
    "more pods than a zone takes back": (stateful(*UNEVEN_PODS), THREE, True),
    "each revision apart": (
        stateful(*UNEVEN_PODS, constraint=spread(matchLabelKeys=[REVISION_HASH])),
        THREE, True,
    ),
    "even pods": (stateful("a1", "b1", "c1"), THREE, False),
    "only their zones": (stateful(*UNEVEN_PODS), zones("a1", "b1"), False),
    "volumes that belong to no zone": (stateful(*UNEVEN_PODS, storage="files"), THREE, False),
    "a class that is not known": (stateful(*UNEVEN_PODS, storage="other"), THREE, False),
    "no volumes": (stateful(*UNEVEN_PODS, volumeClaimTemplates=[]), THREE, False),
    "nodes in place of zones": (
        stateful(*UNEVEN_PODS, constraint=spread(topologyKey=HOSTNAME)), THREE, False
    ),
    "a larger skew": (stateful(*UNEVEN_PODS, constraint=spread(maxSkew=2)), THREE, False),
    "a soft constraint": (
        stateful(*UNEVEN_PODS, constraint=spread(whenUnsatisfiable="ScheduleAnyway")),
        THREE, False,
    ),
    "pods of another label": (
        stateful(*UNEVEN_PODS, constraint=spread(labelSelector={"matchLabels": {"app": "x"}})),
        THREE, False,
    ),
    "on delete": (stateful(*UNEVEN_PODS, updateStrategy={"type": "OnDelete"}), THREE, False),
    "a partition": (
        replace(stateful(*UNEVEN_PODS), partitioned=PartitionedRevisions(0, 2, {}, {})),
        THREE, False,
    ),
    "a pod that is missing": (stateful("a1", "a1"), THREE, False),
    "a rollout that runs": (
        replace(stateful(), running=(replace(running(*UNEVEN_PODS), replaced=True),)),
        THREE, False,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("found", "nodes", "fires"), VOLUMES.values(), ids=VOLUMES.keys())
def test_rollouts_of_pods_with_volumes(found: Subject, nodes: list[Node], fires: bool) -> None:
    violations = check_rule("TSC119", found, cluster_of(*found.running, nodes=nodes))

    moved = "# a volume of a zone keeps its pod there, and a pod that is deleted without its claim "
    assert [violation.instead.startswith(moved) for violation in violations] == [True] * fires


@pytest.mark.parametrize("policy", ["Honor", "Ignore"])
def test_pods_on_closed_nodes_return_to_the_others_of_their_zone(policy: str) -> None:
    closed = replace(node("b2", "zone-b", UNSCHEDULABLE), unschedulable=True)
    constraint = spread(nodeTaintsPolicy=policy)
    found = stateful("a1", "b1", "b1", "b2", constraint=constraint, replicas=4)

    (violation,) = check_rule(
        "TSC119", found, cluster_of(*found.running, nodes=[*zones("a1", "b1"), closed])
    )

    assert "take back more than 2 pods: zone-b has 3 pods, the minimum is 1" in violation.problem


def test_data_is_not_moved_to_a_zone_that_is_closed_for_now() -> None:
    nodes = [replace(one, unschedulable=one.name in ("c1", "c2")) for one in THREE]
    found = stateful(*UNEVEN_PODS)

    (violation,) = check_rule("TSC119", found, cluster_of(*found.running, nodes=nodes))

    assert violation.instead.startswith("# no pod can go to zone-c now: let a node there take pods")


APART_STATEFUL = spread(matchLabelKeys=[REVISION_HASH])


def ordered(*nodes: str, names: Sequence[str] = (), **spec: Any) -> Subject:
    """Make a StatefulSet with disks whose pods, by their ordinals, run on the nodes."""
    constraint = spec.pop("constraint", APART_STATEFUL)
    found = stateful(constraint=constraint, replicas=len(nodes), **spec)
    labels = {"app": "web", REVISION_HASH: "old"}
    pods = [
        replace(running(node, labels=labels), pod=named(labels, name))
        for node, name in zip(nodes, names or [f"web-{at}" for at in range(9)], strict=False)
    ]
    return replace(found, running=tuple(pods))


def named(labels: Json, name: str) -> PodTemplate:
    return replace(template(pod(labels=labels)), metadata=ObjectMeta(name=name, labels=labels))


STOPS = ("a1", "b1", "c1", "c1", "a1")  # zone-c would have two new pods before zone-b has one
PASSES = ("a1", "c1", "c1", "b1", "a1")
KEPT = (
    'no rollout can finish: the volumes of StorageClass "disks" keep the pods in their zones, and '
    "maxSkew 1 counts the new pods only, from the last ordinal to the first: "
)

# the StatefulSet, the end of the finding, and what to write instead; empty without a finding
ORDERS: dict[str, tuple[Subject, str, str]] = {
    "two of a zone first": (
        ordered(*STOPS),
        "web-2 returns to zone-c, which has 1 new pod by then, and zone-b has 0",
        "# leave matchLabelKeys out",
    ),
    "another key": (
        ordered(
            *STOPS, constraint=spread(matchLabelKeys=["app", REVISION_HASH],
                                      labelSelector={"matchLabels": {}}),
        ),
        "web-2 returns to zone-c, which has 1 new pod by then, and zone-b has 0",
        "matchLabelKeys: [app]",
    ),
    "names from a higher ordinal on": (
        ordered(*STOPS, names=["web-8", "web-9", "web-10", "web-11", "web-12"]),
        "web-10 returns to zone-c, which has 1 new pod by then, and zone-b has 0",
        "# leave matchLabelKeys out",
    ),
    "a revision that the selector has": (
        ordered(*STOPS, constraint=spread(labelSelector={"matchLabels": {REVISION_HASH: "old"}})),
        "web-2 returns to zone-c, which has 1 new pod by then, and zone-b has 0",
        "# leave controller-revision-hash out of labelSelector",
    ),
    "zones in turn": (ordered(*PASSES), "", ""),
    "all revisions together": (ordered(*STOPS, constraint=spread()), "", ""),
    "a larger skew": (ordered(*STOPS, constraint={**APART_STATEFUL, "maxSkew": 2}), "", ""),
    "two pods that may be missing": (
        ordered(*STOPS, updateStrategy={"rollingUpdate": {"maxUnavailable": 2}}), "", ""
    ),
    "one that may be missing": (
        ordered(*STOPS, updateStrategy={"rollingUpdate": {"maxUnavailable": "1%"}}),
        "web-2 returns to zone-c, which has 1 new pod by then, and zone-b has 0",
        "# leave matchLabelKeys out",
    ),
    "names without ordinals": (ordered(*STOPS, names=["web"] * 5), "", ""),
    "on delete": (ordered(*STOPS, updateStrategy={"type": "OnDelete"}), "", ""),
}  # fmt: skip


@pytest.mark.parametrize(("found", "end", "instead"), ORDERS.values(), ids=ORDERS.keys())
def test_rollouts_in_the_order_of_the_ordinals(found: Subject, end: str, instead: str) -> None:
    violations = check_rule("TSC119", found, cluster_of(*found.running))

    expected = [(KEPT + end, instead)] if end else []
    assert [(one.problem, one.instead) for one in violations] == expected


def test_a_pod_in_no_counted_zone_stops_no_rollout() -> None:
    found = ordered("a1", "d1", "b1")
    nodes = [*zones("a1", "b1"), Node("d1", {HOSTNAME: "d1"})]

    assert check_rule("TSC119", found, cluster_of(*found.running, nodes=nodes)) == []


def test_pods_in_a_zone_that_is_no_domain_are_not_counted() -> None:
    constraint = {**APART_STATEFUL, "nodeTaintsPolicy": "Honor"}
    found = ordered("a1", "b1", "c1", "c1", constraint=constraint)

    assert check_rule("TSC119", found, cluster_of(*found.running, nodes=TAINTED_C)) == []


def test_the_zone_that_takes_no_pod_back_is_named() -> None:
    found = stateful(*UNEVEN_PODS)

    (violation,) = check_rule("TSC119", found, cluster_of(*found.running))

    assert violation.problem == (
        'no rollout can finish: the volumes of StorageClass "disks" keep the pods in their zones, '
        "and maxSkew 1 lets no zone take back more than 1 pod: zone-a has 2 pods, the minimum is 0 "
        "(a domain has no pod)"
    )


def test_other_pods_in_a_zone_do_not_return() -> None:
    found = stateful("b1", "b1", "c1")
    others = running("a1", "a1", "a1")
    nodes = zones("a1", "b1", "c1", "d1")

    (violation,) = check_rule("TSC119", found, cluster_of(*found.running, others, nodes=nodes))

    assert "zone-b has 2 pods" in violation.problem
    assert "zone-a" not in violation.problem


def test_uneven_pods_with_volumes_are_one_finding() -> None:
    found = stateful(*UNEVEN_PODS)

    advice = advise(found, cluster_of(*found.running))

    rules = [finding.rule for finding in (*advice.warned, *advice.audited)]
    assert "TSC119" in rules
    assert "TSC114" not in rules


TEAM = spread(labelSelector={"matchLabels": {"team": "x"}})
WEB, API = {"app": "web", "team": "x"}, {"app": "api", "team": "x"}
ALONE = "labelSelector: {matchLabels: {app: web, team: x}}"
MOVED = "# a volume of a zone keeps its pod there"
ABOUT_OTHERS = "# its own pods cannot end this, wherever they are: zone-a has 5 pods of StatefulSet"
EVEN = ("a1", "b1", "c1")
KNOWN = {"StatefulSet/web": WEB, "StatefulSet/api": API}
COUNTED = "; the labelSelector also counts pods of StatefulSet/api"
RETURN = ", without which maxSkew lets all its own pods return"


class SharedCase(NamedTuple):
    """
    Pods of two StatefulSets that one selector counts.

    Attributes:
        full: The end of the finding about the first; empty without one.
        instead: How its suggestion begins.
    """

    own: tuple[str, ...]
    others: tuple[str, ...]
    full: str
    instead: str
    members: dict[str, Json] = KNOWN


SHARED = {
    "even own pods": SharedCase(
        EVEN, ("a1", "a1", "b1"),
        f"zone-a has 3 pods (2 of others), the minimum is 1 (every domain has pods){COUNTED}"
        f"{RETURN}",
        ALONE,
    ),
    "even own pods beside too many others": SharedCase(
        EVEN, ("a1",) * 5,
        f"zone-a has 6 pods (5 of others), the minimum is 1 (every domain has pods){COUNTED}"
        f"{RETURN}",
        ALONE,
    ),
    "no label of their own": SharedCase(
        EVEN, ("a1", "a1", "b1"),
        f"zone-a has 3 pods (2 of others), the minimum is 1 (every domain has pods){COUNTED}"
        f"{RETURN}",
        "# give its pods a label that no others have",
        {"StatefulSet/web": WEB, "StatefulSet/api": {**API, "app": "web"}},
    ),
    "uneven own pods": SharedCase(
        UNEVEN_PODS, ("a1", "b1", "c1"),
        f"zone-a has 3 pods (1 of others), the minimum is 1 (every domain has pods){COUNTED}",
        MOVED,
    ),
    "uneven own pods beside too many others": SharedCase(
        UNEVEN_PODS, ("a1",) * 5,
        f"zone-a has 7 pods (5 of others), the minimum is 0 (a domain has no pod){COUNTED}",
        ABOUT_OTHERS,
    ),
    "others of no known workload": SharedCase(
        EVEN, ("a1", "a1", "b1"),
        "zone-a has 3 pods (2 of others), the minimum is 1 (every domain has pods)",
        MOVED, {"StatefulSet/web": WEB},
    ),
    "others that do not run yet": SharedCase(
        UNEVEN_PODS, (), "zone-a has 2 pods, the minimum is 0 (a domain has no pod)", MOVED
    ),
}  # fmt: skip


def shared(case: SharedCase) -> tuple[Subject, AdviceContext]:
    own, others = running(*case.own, labels=WEB), running(*case.others, labels=API)
    found = stateful(constraint=TEAM, selector={"matchLabels": {"app": "web"}}, labels=WEB)
    context = audit(THREE, [own, others], case.members, storage_classes=(DISKS,))
    return replace(found, running=(own,)), context


@pytest.mark.parametrize("case", SHARED.values(), ids=SHARED.keys())
def test_pods_of_other_workloads_that_the_selector_counts(case: SharedCase) -> None:
    (violation,) = check_rule("TSC119", *shared(case))

    assert violation.problem.endswith(f": {case.full}")
    assert violation.instead.startswith(case.instead)


@pytest.mark.parametrize("case", SHARED.values(), ids=SHARED.keys())
def test_others_are_no_second_cause(case: SharedCase) -> None:
    """TSC114 suggests the same, and so does TSC113, which is about all others."""
    advice = advise(*shared(case))

    found = {one.rule: one.instead for one in (*advice.warned, *advice.audited)}
    assert "TSC114" not in found
    assert case.instead != ALONE or found["TSC113"] == found["TSC119"] == ALONE


def test_with_the_suggested_selector_a_rollout_finishes() -> None:
    found, context = shared(SHARED["even own pods"])
    narrower = replace(found.constraints[0], label_selector=LabelSelector(WEB))

    assert check_rule("TSC119", found.with_constraints((narrower,)), context) == []
