"""What all pods of a workload need, once a change of their template creates them anew."""

import pytest
from msgspec.structs import replace

from tests.build import spread
from tests.policy.advice.orders import count_placed
from tests.policy.advice.subjects import (
    audit,
    check_rule,
    deployed,
    node,
    partitioned,
    running,
    suggestions,
    zones,
)
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.recreation import RecreatedPods
from webhook.policy.advice.scaling import ReplicaRange
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import DEPLOYMENT, DEPLOYMENT_CONFIG, REPLICA_SET, ROLLOUT, STATEFUL_SET
from webhook.policy.model import HOSTNAME, ZONE, GroupKind

CAPACITY = "karpenter.sh/capacity-type"
NODES = [
    node(name, f"zone-{name[0]}", **{CAPACITY: capacity})
    for name, capacity in [
        ("a1", "on-demand"), ("a2", "spot"), ("b1", "on-demand"), ("b2", "spot"),
        ("c1", "on-demand"),
    ]
]  # fmt: skip
RUN = running("a1", "a2", "b1", "b2", "c1")
BOTH = spread(topologyKey=CAPACITY), spread()
PATH = "spec.template.spec.topologySpreadConstraints"


def awaiting(kind: GroupKind = DEPLOYMENT) -> Subject:
    """Build a workload of six replicas, the last of which has no place."""
    return replace(deployed(*BOTH), kind=kind, running=(RUN,))


# kind -> field and value that place the last pod, and all pods if they are created anew
RAISES: dict[GroupKind, tuple[str, str]] = {
    REPLICA_SET: (f"{PATH}[0].maxSkew", "maxSkew: 2"),
    DEPLOYMENT: (f"{PATH}[1].maxSkew", "maxSkew: 2"),
    DEPLOYMENT_CONFIG: (f"{PATH}[1].maxSkew", "maxSkew: 2"),
    ROLLOUT: (f"{PATH}[1].maxSkew", "maxSkew: 2"),
    STATEFUL_SET: (f"{PATH}[1].maxSkew", "maxSkew: 2"),
}


@pytest.mark.parametrize(("kind", "expected"), RAISES.items(), ids=str)
def test_pods_that_a_change_creates_anew_have_a_place(
    kind: GroupKind, expected: tuple[str, str]
) -> None:
    (violation,) = check_rule("TSC106", awaiting(kind), audit(NODES, [RUN]))

    assert (violation.field, violation.instead) == expected


def test_the_suggestion_places_all_pods_on_nodes_without_pods() -> None:
    def place(first: int, second: int) -> set[int]:
        skews = zip(deployed(*BOTH).constraints, (first, second), strict=True)
        changed = [replace(one, max_skew=skew) for one, skew in skews]
        return count_placed(deployed(*BOTH), NODES, 6, constraints=changed)

    assert min(place(2, 1)) < 6
    assert place(1, 2) == {6}
    applied = deployed(BOTH[0], spread(maxSkew=2))
    assert not [
        one
        for rule in ("TSC104", "TSC106", "TSC109", "TSC119")
        for one in check_rule(rule, applied, audit(NODES))
    ]


SHARED = {"Deployment/cache": {"app": "web"}}
CANNOT: dict[str, tuple[Subject, AdviceContext]] = {
    "pods that keep their constraints": (awaiting(REPLICA_SET), audit(NODES)),
    "pods that another client deletes": (
        replace(awaiting(STATEFUL_SET), on_delete=True), audit(NODES)
    ),
    "pods that a partition holds back": (partitioned(*BOTH, pods=[RUN]), audit(NODES)),
    "an unknown number of pods": (deployed(*BOTH, replicas=None), audit(NODES)),
    "pods of other workloads": (awaiting(), audit(NODES, members=SHARED)),
}  # fmt: skip


@pytest.mark.parametrize(("judged", "context"), CANNOT.values(), ids=CANNOT.keys())
def test_it_may_be_unknown_where_all_pods_are_placed(
    judged: Subject, context: AdviceContext
) -> None:
    recreated = RecreatedPods.read(judged, context)

    assert recreated.orders == []
    assert recreated.may_fit(0, 2)
    assert not recreated.fit_without(0)
    assert recreated.list_conflicting() == []


def test_an_autoscaler_may_add_pods() -> None:
    few = deployed(*BOTH, replicas=2)
    many = replace(few, scaling=ReplicaRange(1, 6, "HorizontalPodAutoscaler/web"))

    assert RecreatedPods.read(few, audit(NODES)).may_fit(0, 1)
    assert not RecreatedPods.read(many, audit(NODES)).may_fit(0, 1)


UNEVEN = zones("a1", "b1", "b2")
HOST = spread(topologyKey=HOSTNAME)


def test_the_constraint_that_has_to_be_changed_anyway_is_changed() -> None:
    placed = running("a1", "b1", "b1")
    judged = replace(deployed(spread(), HOST), running=(placed,))

    assert RecreatedPods.read(judged, audit(UNEVEN)).list_conflicting() == [1]
    assert suggestions("TSC109", judged, audit(UNEVEN)) == ["maxSkew: 2"]
    (violation,) = check_rule("TSC106", judged, audit(UNEVEN, [placed]))
    assert (violation.field, violation.instead) == (f"{PATH}[1].maxSkew", "maxSkew: 2")


SOFTENED = deployed(spread(), HOST, replicas=9)


@pytest.mark.parametrize("index", [0, 1])
def test_a_soft_constraint_leaves_the_others_to_be_kept(index: int) -> None:
    assert RecreatedPods.read(SOFTENED, audit(UNEVEN)).fit_without(index)


def test_the_constraints_that_are_left_may_still_exclude_each_other() -> None:
    judged = deployed(spread(), HOST, spread(topologyKey="rack"), replicas=9)
    racks = [replace(one, labels={**one.labels, "rack": "r"}) for one in UNEVEN]

    recreated = RecreatedPods.read(judged, audit(racks))

    assert [recreated.fit_without(index) for index in range(3)] == [True, True, False]


def test_pods_that_follow_each_other_need_a_place_wherever_the_first_one_goes() -> None:
    # They run on the two nodes of zone a. Created anew, they may follow the first one to b.
    term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "web"}}}
    among = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    pods = running("a1", "a2", "")
    web = deployed(
        spread(topologyKey=HOSTNAME),
        replicas=3,
        template_spec={"affinity": among},
        strategy={"type": "Recreate"},
    )
    judged = replace(web, running=(pods,))

    uneven, even = (audit(zones("a1", "a2", "b1", *more), [pods]) for more in ([], ["b2"]))

    assert suggestions("TSC106", judged, uneven) == ["whenUnsatisfiable: ScheduleAnyway"]
    assert suggestions("TSC106", judged, even) == ["maxSkew: 2"]
