"""Pods of a workload become the kinds and the first state of a rolling update."""

import pytest
from msgspec.structs import replace

from tests.explain.rollingupdate.rollouts import (
    ONE_CPU,
    both,
    builder,
    cluster,
    observe,
    of_ordinals,
    of_sets,
    rolling,
    with_cpu,
    workload,
)
from tests.policy.placement.clusters import WEB, node, spread_over
from webhook.explain.newpods import NewPod
from webhook.explain.nodeedits import RemoveNodes
from webhook.explain.rollingupdate.setup import (
    Filling,
    ReplicaSetNames,
    prepare_ordinals,
    prepare_sets,
)
from webhook.explain.rollingupdate.sizes import SetSizes
from webhook.explain.rollingupdate.statefulsets import StatefulSetPlan
from webhook.policy.model import ZONE
from webhook.policy.placement.filters.resources import Resources
from webhook.policy.podlabels import TEMPLATE_HASH

NODES = (node("n1", "a"), node("n2", "b"))


def test_like_pods_are_one_kind() -> None:
    pods = observe({"n1": 2, "n2": 1, "": 1})

    setup = of_sets(NODES, rolling(4), spread_over(), pods=pods)

    assert setup.start.sizes == (4, 0)
    assert setup.start.placed == (("n1", (0, 0)), ("n2", (0,)))
    assert setup.start.pending == (0,)
    assert [kind.is_new for kind in setup.kinds] == [False, False, True]
    assert [kind.number for kind in setup.kinds] == [0, 1, 2]
    assert setup.notes == ()


def test_missing_pods_are_of_the_old_revision() -> None:
    setup = of_sets(NODES, rolling(3), spread_over(), pods=observe({"n1": 1}))

    assert setup.start.sizes == (3, 0)
    assert setup.start.pending == (1, 1)
    assert setup.notes == ("2 replicas have no pod yet, and are placed before the rollout",)


def test_replica_sets_are_in_order_of_their_age() -> None:
    pods = [
        *observe({"n1": 1}, name="web-b", revision="b"),
        *observe({"n1": 1}, name="web-a", revision="a"),
        *observe({"n2": 2}, name="web-x", revision="x"),
    ]

    setup = of_sets(NODES, rolling(4), spread_over(), pods=pods, sets=["web-b", "web-c", "web-a"])

    owners = [kind.owner for kind in setup.kinds]
    assert setup.start.sizes == (2, 1, 1, 0)
    assert owners == [1, 2, 0, 2, 3]
    assert [kind.new is None for kind in setup.kinds] == [True, True, True, False, False]


def test_pods_of_nodes_that_are_lost_are_missing() -> None:
    revisions, pods = both(spread_over()), observe({"n1": 1, "n2": 1})
    scenario = RemoveNodes(ZONE, "b").apply(cluster(NODES, revisions, pods))

    setup = prepare_sets(
        scenario, workload(pods).lose_nodes({"n2"}), rolling(2), revisions, ReplicaSetNames()
    )

    assert setup.start.placed == (("n1", (0,)),)
    assert setup.start.pending == (1,)
    assert setup.notes == ("1 replica has no pod yet, and is placed before the rollout",)


def test_pods_of_nodes_that_are_not_known_run() -> None:
    revisions, pods = both(spread_over()), observe({"n1": 1, "gone": 1})
    scenario = cluster(NODES, revisions, pods)

    setup = prepare_sets(scenario, workload(pods), rolling(2), revisions, ReplicaSetNames())

    assert setup.start.placed == (("gone", (0,)), ("n1", (0,)))
    assert (setup.start.pending, setup.notes) == ((), ())


def test_the_workloads_own_pods_are_not_in_the_cluster() -> None:
    revisions, pods = both(spread_over()), observe({"n1": 1, "n2": 1})
    scenario = cluster(NODES, revisions, pods)
    scenario.census.add("shop", {**WEB, "tier": "other"}, "n1")

    setup = prepare_sets(scenario, workload(pods), rolling(2), revisions, ReplicaSetNames())

    selector = spread_over().label_selector
    assert setup.scenario.census.count("shop", selector) == {"n1": 1}
    assert scenario.census.count("shop", selector) == {"n1": 2, "n2": 1}


def test_a_pod_that_is_not_ready_is_a_kind_of_its_own() -> None:
    well, sick, silent = observe({"n1": 3})
    assert sick.status is not None
    assert sick.status.conditions is not None
    down = (replace(sick.status.conditions[0], status="False"),)
    sick = replace(sick, status=replace(sick.status, conditions=down))
    silent = replace(silent, status=None)

    setup = of_sets(NODES, rolling(3), spread_over(), pods=[well, sick, silent])

    assert [kind.is_ready for kind in setup.kinds[:3]] == [True, False, True]


def test_running_pods_take_what_they_request() -> None:
    revisions, pods = both(requests=ONE_CPU), observe({"n1": 1, "n2": 1, "": 1})
    scenario = cluster(NODES, revisions, room=with_cpu(NODES, 2))
    new = revisions.old(0).pod
    small, alike = (replace(new, requests=Resources(milli_cpu=cpu)) for cpu in (500, 1000))
    for pod, node_name in ((small, "n1"), (alike, "n2")):
        scenario.cluster.placed.add(pod, node_name)
    known = {"web-1-0": small, "web-1-1": replace(alike, name="web-1-1", node_name="n2")}

    setup = prepare_sets(
        scenario, replace(workload(pods), placed=known), rolling(3), revisions, ReplicaSetNames()
    )

    usage = setup.scenario.cluster.placed.usage
    assert [usage(name).requests.milli_cpu for name in ("n1", "n2")] == [0, 0]
    assert [kind.pod.requests.milli_cpu for kind in setup.kinds] == [500, 1000, 1000, 1000]
    assert (setup.start.placed, setup.start.pending) == ((("n1", (0,)), ("n2", (1,))), (1,))


STRICT = builder([spread_over(min_domains=3)], "1")(0)
LABELLED = replace(STRICT, pod=replace(STRICT.pod, labels={**WEB, "added": "by a webhook"}))

# what a Pending pod requires; does it differ from a new pod of its revision?
PENDING: dict[str, tuple[NewPod, bool]] = {
    "other constraints": (STRICT, True),
    "other labels": (LABELLED, True),
    "other requests": (builder([spread_over()], "1", requests=ONE_CPU)(0), True),
    "the same": (both(spread_over()).old(0), False),
}


@pytest.mark.parametrize(("own", "differs"), PENDING.values(), ids=PENDING.keys())
def test_pending_pods_are_placed_as_they_are(own: NewPod, differs: bool) -> None:
    pods = observe({"n1": 1, "": 1})
    revisions = both(spread_over())
    known = replace(workload(pods), pending={"web-1-1": own, "web-1-0": LABELLED})

    setup = prepare_sets(
        cluster(NODES, revisions, pods), known, rolling(2), revisions, ReplicaSetNames()
    )

    (number,) = setup.start.pending
    assert setup.kinds[number].new == own
    assert setup.kinds[number].pod.labels == own.pod.labels
    assert setup.kinds[number].pod.requests == own.pod.requests
    assert setup.kinds[0].new == revisions.old(0), "a pod that has a node stays there"
    assert (number != 0) is differs


def test_pending_pods_of_a_stateful_set_are_placed_as_they_are() -> None:
    pods = observe({"n1": 1, "": 1}, name="web")
    revisions = both(spread_over())
    known = replace(workload(pods), pending={"web-1": STRICT})
    scenario = cluster(NODES, revisions, pods)

    setup = prepare_ordinals(scenario, known, StatefulSetPlan("web"), revisions, 2)

    assert setup.start.pending == (1,)
    assert setup.kinds[1].new == STRICT


def test_a_pending_pod_of_which_no_more_than_its_labels_is_known() -> None:
    (alike,) = of_sets(NODES, rolling(1), pods=observe({"": 1})).start.pending
    other = of_sets(NODES, rolling(1), pods=observe({"": 1}, revision="0")).kinds[0]

    assert (alike, other.new) == (0, None)


def test_ordinals() -> None:
    (pod,) = observe({"n2": 1}, name="web", first=6)

    setup = of_ordinals(NODES, StatefulSetPlan("web", start=5), 2, spread_over(), pods=[pod])

    assert setup.start.placed == (("n2", (1,)),)
    assert setup.start.pending == ()
    assert [kind.owner for kind in setup.kinds] == [0, 1, 0, 1]
    assert [kind.pod.labels["ordinal"] for kind in setup.kinds] == ["5", "0", "5", "6"]
    assert setup.strategy == "OrderedReady"


@pytest.mark.parametrize(
    ("partition", "running", "expected"),
    [
        (0, (5, 6), ("7", "2")),
        (1, (5,), ("6", "2")),
        (1, (6,), ("5", "1")),
        (3, (5, 6), ("7", "1")),
        (3, (), ("5", "1")),
    ],
)
def test_the_next_pod_has_the_first_ordinal_without_a_pod(
    partition: int, running: tuple[int, ...], expected: tuple[str, str]
) -> None:
    pods = [pod for first in running for pod in observe({"n1": 1}, name="web", first=first)]
    plan = StatefulSetPlan("web", start=5, partition=partition)
    setup = of_ordinals(NODES, plan, 2, spread_over(), pods=pods)

    labels = setup.find_next(setup.start).pod.labels

    assert (labels["ordinal"], labels[TEMPLATE_HASH]) == expected


def test_filling_changes_no_size() -> None:
    sizes = SetSizes((1, 2), (0, 0))

    assert Filling(3).decide(sizes) is sizes
    assert not str(Filling(3))


def test_the_stable_replica_set_is_the_last_of_the_old_ones() -> None:
    pods = [
        *observe({"n1": 3}, name="web-a", revision="a"),
        *observe({"n1": 1}, name="web-b", revision="b"),
    ]

    orders = [("web-a", "web-b"), ("web-b", "web-a"), ("web-b",)]
    setups = [of_sets(NODES, rolling(4), pods=pods, sets=sets, stable="web-a") for sets in orders]

    assert [setup.start.sizes for setup in setups] == [(1, 3, 0)] * 3


def test_a_stable_replica_set_without_pods_creates_those_that_are_missing() -> None:
    pods = observe({"n1": 1}, name="web-b", revision="b")

    setup = of_sets(NODES, rolling(3), pods=pods, sets=["web-a", "web-b"], stable="web-a")

    assert setup.start.sizes == (1, 2, 0)
    assert [setup.kinds[number].owner for number in setup.start.pending] == [1, 1]
