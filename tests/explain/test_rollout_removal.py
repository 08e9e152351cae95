"""Scale-downs remove pods, and show what is left; an ordered set removes them last."""

import pytest
from msgspec.structs import replace

from tests.explain.observed import make_pod, observed, workload
from tests.explain.scenarios import scenario, with_census
from tests.policy.placement.clusters import GPU, node, spread_over
from webhook.explain.newpods import NewPod, PodSuccession
from webhook.explain.nodeedits import AddNodes
from webhook.explain.removal import RemovalOrder
from webhook.explain.revisionsizes import RevisionSize
from webhook.explain.rollout import roll_out
from webhook.explain.runningupdate import RunningUpdate
from webhook.explain.scenario import Scale
from webhook.policy.model import SCHEDULE_ANYWAY, ZONE
from webhook.policy.placement.census import Census
from webhook.policy.rolloutlimits import RolloutLimits

THREE = (node("n1", "a"), node("n2", "b"), node("n3", "c"))
EVEN = {"n1": 2, "n2": 2, "n3": 2}


def test_a_pod_without_a_node_is_removed_first_and_not_counted() -> None:
    before = scenario(THREE, spread_over(), pods=EVEN)
    labels = {"app": "web"}
    pods = [observed(f"web-{name}", name, labels, 0) for name in ("n1", "n2", "")]

    rollout, *_ = roll_out(before, [Scale(2)], 2, {"n1": 1, "n2": 1}, workload(pods))

    assert (rollout.running, rollout.removed, rollout.placed) == (2, ("web-",), {})
    assert [counted.after for counted in rollout.skews] == [
        counted.before for counted in rollout.skews
    ]


def test_pods_above_the_scale_are_removed() -> None:
    before = scenario(THREE, spread_over(), pods=EVEN | {"n1": 3})
    pods = [
        observed(f"web-{number}", name, {"app": "web"}, number)
        for number, name in enumerate(["n1", "n1", "n1", "n2", "n2", "n3", "n3"])
    ]

    rollout, end, _ = roll_out(before, [Scale(4)], 4, {"n1": 3, "n2": 2, "n3": 2}, workload(pods))

    assert rollout.sentence == (
        "if you scale to 4 replicas: 3 pods would be removed, 4 would run; skew of zone 1 -> 2"
    )
    assert (rollout.running, rollout.removed) == (4, ("web-2", "web-1", "web-0"))
    assert (rollout.placed, rollout.pending, rollout.notes) == ({}, 0, ())
    assert end.placement().tallies.hard[0].pods == {"b": 2, "c": 2}


EQUAL_PODS = [make_pod(f"web-{number}", place) for number, place in enumerate(("n1", "n2", "n4"))]
FOUR = (*THREE, node("n4", "a"))


def test_where_it_is_not_determined_which_pods_go_the_skew_has_bounds() -> None:
    # Another pod in zone c keeps the counted pods from being the workload's own.
    running = {"n1": 1, "n2": 1, "n4": 1}
    before = with_census(
        scenario(FOUR, spread_over(), spread_over(when_unsatisfiable=SCHEDULE_ANYWAY)),
        Census([*EQUAL_PODS, make_pod("other", "n3", owner="other")]),
    )

    rollout, *_ = roll_out(before, [Scale(2)], 2, running, workload(EQUAL_PODS))

    assert rollout.sentence.endswith(
        "2 would run; skew of its own pods by zone 2 -> 1 (1 to 2), of the counted pods 1 -> 0 "
        "(0 to 2); skew of its own pods by zone 2 -> 1 (1 to 2), of the counted pods 1 -> 0 "
        "(0 to 2)"
    )


def test_where_new_pods_are_placed_too_the_skew_has_no_bounds() -> None:
    before = with_census(scenario(FOUR, spread_over()), Census(EQUAL_PODS))
    new = NewPod(before.pod, before.spreads)
    sets = (RevisionSize("web-1", 2, new), RevisionSize("web-2", 1, new))
    web = replace(workload(EQUAL_PODS), sets=sets)

    rollout, *_ = roll_out(before, [], 3, {"n1": 1, "n2": 1, "n4": 1}, web)

    assert (rollout.removed, sum(rollout.placed.values())) == (("web-0",), 1)
    assert [skew.bounds for skew in rollout.skews] == [None]


def test_a_rolling_update_that_is_stuck_keeps_its_old_pods() -> None:
    running = {"n1": 1, "n2": 1}
    before = scenario((*THREE[:2], node("n3", "c", taints=[GPU])), spread_over(), pods=running)
    pods = (make_pod("old-1"), make_pod("old-2", "n2"), make_pod("new-1", "", owner="web-2"))
    update = RunningUpdate(2, RolloutLimits(1, 0))
    updating = replace(workload(pods), newest="web-2", update=update)

    stuck, *_ = roll_out(before, [], 2, running, updating)
    moved, *_ = roll_out(before, [AddNodes({ZONE: "c"})], 2, running, updating)

    assert stuck.sentence == "as it is: 1 of 3 replicas would stay Pending; skew of zone 1 -> 1"
    assert (stuck.replicas, stuck.running, stuck.pending, stuck.removed) == (2, 2, 1, ())
    assert (moved.running, moved.placed, moved.removed) == (1, {"new-1": 1}, ("old-1",))


def test_a_stateful_set_fills_its_gaps() -> None:
    before = scenario(THREE, spread_over(), pods={"n1": 1, "n2": 1})
    pods = [observed("web-0", "n1", {"app": "web"}, 0), observed("web-9", "n2", {"app": "web"}, 0)]

    rollout, *_ = roll_out(before, [], 2, {"n1": 1, "n2": 1}, workload(pods, RemovalOrder.ORDINAL))

    assert (rollout.running, rollout.removed, rollout.pending) == (1, ("web-9",), 0)
    assert sum(rollout.placed.values()) == 1
    assert rollout.sentence.startswith("as it is: 1 pod would be removed, 2 would run; skew of")


# node that is added, whether pods are created in parallel: removed, placed, pending
ORDERED: dict[str, tuple[str, bool, tuple[str, ...], dict[str, int], int]] = {
    "all replicas get a node": ("c", False, ("web-2",), {"new-1": 1}, 0),
    "one gets none": ("", False, (), {}, 1),
    "one gets none, in parallel": ("", True, ("web-2",), {"n2": 1}, 0),
}


@pytest.mark.parametrize(
    ("zone", "is_parallel", "removed", "placed", "pending"), ORDERED.values(), ids=ORDERED.keys()
)
def test_an_ordered_set_removes_pods_after_all_replicas_run(
    zone: str, is_parallel: bool, removed: tuple[str, ...], placed: dict[str, int], pending: int
) -> None:
    """Beside one pod in each of two zones, the missing one fits in a third."""
    running = {"n1": 1, "n2": 1}
    edits = [AddNodes({ZONE: zone})] if zone else []
    tainted = node("n3", "d", taints=[GPU])
    spread = spread_over(node_taints_policy="Ignore")
    before = scenario((*THREE[:2], tainted), spread, pods=running)
    pods = [observed("web-0", "n1", {"app": "web"}, 0), observed("web-2", "n2", {"app": "web"}, 0)]
    succession = PodSuccession(
        lambda _: NewPod(before.pod, before.spreads), is_parallel=is_parallel
    )
    web = replace(workload(pods, RemovalOrder.ORDINAL), succession=succession)

    rollout, *_ = roll_out(before, [*edits, Scale(2)], 2, running, web)

    assert (rollout.removed, rollout.placed, rollout.pending) == (removed, placed, pending)
    held = "with podManagementPolicy OrderedReady, no pod is removed before all replicas are ready"
    assert any(held in note for note in rollout.notes) is bool(pending)
