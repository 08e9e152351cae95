"""Pods of a rolling update are placed beside those of its state, and those of others."""

from typing import Any

import pytest

from tests.explain.rollingupdate.rollouts import (
    ONE_CPU,
    PORT_80,
    apart_by,
    both,
    builder,
    cluster,
    observe,
    of_sets,
    rolling,
    with_cpu,
    workload,
)
from tests.policy.placement.clusters import GPU, SELECTS_WEB, WEB, node, spread_over
from webhook.explain.rollingupdate.placer import Placer
from webhook.explain.rollingupdate.setup import ReplicaSetNames, Revisions, prepare_sets
from webhook.explain.rollingupdate.state import RolloutState
from webhook.policy.model import HOSTNAME, SCHEDULE_ANYWAY, ZONE
from webhook.policy.placement.filters.filterpods import CLAIM, PodVolume

NODES = (node("n1", "a"), node("n2", "b"))


def test_placement_counts_the_pods_of_the_state() -> None:
    setup = of_sets(NODES, rolling(2), spread_over())
    placer = Placer(setup.scenario, setup.kinds)
    state = RolloutState((1, 0), 0, (("n1", (0,)),), (0, 1), ())

    assert placer.place(1, state).passing == ("n2",)
    assert placer.find_best(1, state) == ("n2",)
    assert placer.placements == 1, "the second is known"
    assert placer.list_pending(state) == [0, 1]
    assert placer.list_keys() == [ZONE]


def test_a_soft_constraint_counts_in_domains_that_pods_can_go_to() -> None:
    nodes = (*NODES, node("n3", "c", taints=[GPU]))
    soft = spread_over(when_unsatisfiable=SCHEDULE_ANYWAY)
    setup = of_sets(nodes, rolling(2), soft, spread_over(HOSTNAME))
    placer = Placer(setup.scenario, setup.kinds)

    zones, hosts = placer.tally(1, RolloutState((1, 0), 0, (("n1", (0,)),), (0, 1), ()))

    assert (zones.pods, list(zones.domains.sizes), len(hosts.domains.sizes)) == (
        {"a": 1}, ["a", "b"], 3
    )  # fmt: skip


def test_other_pods_count_and_the_workloads_own_do_not() -> None:
    revisions, pods = both(spread_over()), observe({"n2": 1})
    scenario = cluster(NODES, revisions, pods)
    scenario.census.add("shop", {**WEB, "tier": "other"}, "n1")
    setup = prepare_sets(scenario, workload(pods), rolling(1), revisions, ReplicaSetNames())
    placer = Placer(setup.scenario, setup.kinds)

    assert placer.place(1, RolloutState((0, 0), 0, (), (), ())).passing == ("n2",)


# what the pods take
TAKEN: dict[str, dict[str, Any]] = {
    "nothing": {},
    "a CPU": {"requests": ONE_CPU},
    "a port": {"ports": PORT_80},
    "a host": {"anti_affinity": apart_by(HOSTNAME)},
}


@pytest.mark.parametrize("taken", TAKEN.values(), ids=TAKEN.keys())
def test_a_placement_is_that_of_the_scenario(taken: dict[str, Any]) -> None:
    nodes = (*NODES, node("n3", "a", taints=[GPU]), node("n4", "b"))
    setup = of_sets(nodes, rolling(2), spread_over(), room=with_cpu(nodes, 2), **taken)
    placer = Placer(setup.scenario, setup.kinds)

    for placed in ({"n1": (0, 1)}, {"n1": (0,), "n4": (1,)}, {"n1": (0,)}, {"n1": (0, 1)}):
        state = RolloutState((1, 0), 0, tuple(placed.items()), (1,), ())
        described = placer.describe(1, state)
        assert placer.place(1, state) == described.placement()
        assert described.census.count("shop", SELECTS_WEB) == {
            name: len(kinds) for name, kinds in placed.items()
        }
    assert setup.scenario.census.count("shop", SELECTS_WEB) == {}


# what the pods take, whether nodes have resources; whether the pods are alike
ALIKE: dict[str, tuple[list[dict[str, Any]], bool, bool]] = {
    "the same": ([{"requests": ONE_CPU}] * 2, True, True),
    "other requests": ([{"requests": ONE_CPU}, {}], True, False),
    "other requests, and room for any": ([{"requests": ONE_CPU}, {}], False, True),
    "other ports": ([{"ports": PORT_80}, {}], False, False),
    "volumes": ([{"volumes": (PodVolume(CLAIM, "data", "shop"),)}] * 2, False, False),
}


@pytest.mark.parametrize(("taken", "has_room", "expected"), ALIKE.values(), ids=ALIKE.keys())
def test_whether_pods_are_alike(
    taken: list[dict[str, Any]], has_room: bool, expected: bool
) -> None:
    old, new = (builder((), f"{at}", **one) for at, one in enumerate(taken))
    revisions = Revisions(old, new)
    scenario = cluster(NODES, revisions, room=with_cpu(NODES, 2) if has_room else {})

    setup = prepare_sets(scenario, workload([]), rolling(1), revisions, ReplicaSetNames())

    assert Placer(setup.scenario, setup.kinds).are_pods_alike is expected


def test_keys_of_affinity_matter() -> None:
    setup = of_sets(NODES, rolling(1), spread_over(), anti_affinity=apart_by("rack"))

    assert Placer(setup.scenario, setup.kinds).list_keys() == ["rack", ZONE]


def test_constraints_of_pods_that_are_never_placed_do_not_matter() -> None:
    pods = observe({"n1": 1}, revision="0")
    setup = of_sets(NODES, rolling(1), spread_over(), pods=pods)
    placer = Placer(setup.scenario, setup.kinds)

    assert setup.kinds[0].new is None
    assert placer.list_keys() == [ZONE]
    assert placer.sign_nodes(1)["n1"] == placer.sign_nodes(1)["n2"]
