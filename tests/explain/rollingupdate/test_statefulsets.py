"""Pods of a StatefulSet are replaced from the highest ordinal down, as its controller does."""

from collections.abc import Collection

import pytest
from msgspec.structs import replace

from tests.explain.rollingupdate.rollouts import observe, of_ordinals
from tests.policy.placement.clusters import node, spread_over
from webhook.explain.rollingupdate.simulation import simulate
from webhook.explain.rollingupdate.statefulsets import StatefulSetPlan
from webhook.policy.placement.census import ObservedPod

THREE = (node("n1", "a"), node("n2", "b"), node("n3", "c"))
PLAN = StatefulSetPlan("web")


def pods(*nodes: str, start: int = 0, unready: Collection[int] = ()) -> list[ObservedPod]:
    """Make the pods with the first ordinals, on these nodes."""
    return [
        pod
        for ordinal, name in enumerate(nodes, start)
        for pod in observe(
            {name: 1}, name="web", first=ordinal, ready="False" if ordinal in unready else "True"
        )
    ]


EVEN = ("n1", "n2", "n3")

# the plan, the nodes of the pods, whether it finishes, and what the controller does
COURSES: dict[str, tuple[StatefulSetPlan, tuple[str, ...], bool, list[str]]] = {
    "one after another": (
        PLAN, EVEN, True, ["replaces web-2", "replaces web-1", "replaces web-0"]
    ),
    "down to the partition": (replace(PLAN, partition=2), EVEN, True, ["replaces web-2"]),
    "other ordinals": (
        replace(PLAN, start=5, partition=1), EVEN, True, ["replaces web-7", "replaces web-6"]
    ),
    "several at a time, created one by one": (
        replace(PLAN, unavailable=2), EVEN, True,
        ["replaces web-1, deletes web-2", "creates web-2", "replaces web-0"],
    ),
    "several at a time in parallel": (
        replace(PLAN, unavailable=2, is_parallel=True), EVEN, True,
        ["replaces web-1, web-2", "replaces web-0"],
    ),
    "in parallel without the feature gate": (
        replace(PLAN, is_parallel=True), EVEN, True,
        ["replaces web-2", "replaces web-1", "replaces web-0"],
    ),
    "none on delete": (replace(PLAN, on_delete=True), EVEN, True, []),
    "a pod without a node keeps the others": (PLAN, ("n1", ""), False, []),
    "in parallel, a new pod without a node does": (
        replace(PLAN, is_parallel=True), ("n1", "", "n2"), False, ["replaces web-2"]
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("plan", "nodes", "finishes", "actions"), COURSES.values(), ids=COURSES.keys()
)
def test_course(
    plan: StatefulSetPlan, nodes: tuple[str, ...], finishes: bool, actions: list[str]
) -> None:
    unplaceable = spread_over("nowhere") if "" in nodes else spread_over()
    own = pods(*nodes, start=plan.start)

    forecast, _ = simulate(of_ordinals(THREE, plan, len(nodes), unplaceable, pods=own))

    assert [step.action for step in forecast.steps] == actions
    assert forecast.finishes is finishes
    assert (forecast.can_finish, forecast.can_stop) == (finishes, not finishes)


PARALLEL = replace(PLAN, is_parallel=True)

# the plan, the ordinals of the pods that are not ready, whether it finishes, and what is done
UNREADY: dict[str, tuple[StatefulSetPlan, set[int], bool, list[str]]] = {
    "in order, all wait": (PLAN, {1}, False, []),
    "in order, all wait, whatever may be unavailable": (
        replace(PLAN, unavailable=3), {1}, False, []
    ),
    "in parallel without the feature gate, it has its turn": (
        PARALLEL, {0}, True, ["replaces web-2", "replaces web-1", "replaces web-0"]
    ),
    "in parallel, it is first": (
        replace(PARALLEL, unavailable=1), {0}, True,
        ["replaces web-0", "replaces web-2", "replaces web-1"],
    ),
    "in parallel, all of them are first, more than may be unavailable": (
        replace(PARALLEL, unavailable=1), {0, 1}, True, ["replaces web-0, web-1", "replaces web-2"]
    ),
    "in parallel, as many others go as may be unavailable besides": (
        replace(PARALLEL, unavailable=2), {0}, True, ["replaces web-0, web-2", "replaces web-1"]
    ),
    "in parallel, one below the partition keeps the others": (
        replace(PARALLEL, unavailable=1, partition=1), {0}, False, []
    ),
    "in parallel, one below the partition does not keep others that are not ready": (
        replace(PARALLEL, unavailable=1, partition=1), {0, 1}, False, ["replaces web-1"]
    ),
    "in parallel, one below the partition is never replaced": (
        replace(PARALLEL, unavailable=2, partition=1), {0}, False,
        ["replaces web-2", "replaces web-1"],
    ),
    "none on delete": (replace(PARALLEL, unavailable=1, on_delete=True), {0}, False, []),
}  # fmt: skip


@pytest.mark.parametrize(
    ("plan", "unready", "finishes", "actions"), UNREADY.values(), ids=UNREADY.keys()
)
def test_pods_that_are_not_ready(
    plan: StatefulSetPlan, unready: set[int], finishes: bool, actions: list[str]
) -> None:
    own = pods(*EVEN, unready=unready)

    forecast, _ = simulate(of_ordinals(THREE, plan, 3, spread_over(), pods=own))

    assert [step.action for step in forecast.steps] == actions
    assert (forecast.can_finish, forecast.can_stop) == (finishes, not finishes)
    waits = f"it waits for web-{min(unready)}, which is not ready"
    assert forecast.reason == ("" if finishes else waits)


def test_in_parallel_a_pod_without_a_node_is_replaced() -> None:
    plan = replace(PARALLEL, unavailable=1)

    forecast, _ = simulate(of_ordinals(THREE, plan, 3, spread_over("no"), pods=pods("n1", "", "")))

    assert [step.action for step in forecast.steps] == ["replaces web-1, web-2"]
    assert (forecast.can_finish, forecast.can_stop) == (False, True)


def test_ordinals_leave_no_choice() -> None:
    setup = of_ordinals(THREE, PLAN, 2, pods=pods("n1", "n2"))

    assert setup.updating.ignore_nodes() is setup.updating
    assert setup.updating.list_removable(setup.start) == []
    assert setup.updating.remove(setup.start, "n2", 1).placed == (("n1", (0,)),)


def test_the_name_of_a_pod_has_its_ordinal() -> None:
    setup = of_ordinals(THREE, replace(PLAN, start=5), 2)

    assert [setup.updating.name_pod(kind.number) for kind in setup.kinds] == [
        "web-5", "web-6", "web-5", "web-6"
    ]  # fmt: skip
