"""ReplicaSets delete the pods that their controller ranks first, and say where it ranks none."""

from msgspec.structs import replace

from tests.explain.rollingupdate.rollouts import observe, of_sets, rolling
from tests.policy.placement.clusters import node, spread_over
from webhook.explain.rollingupdate.canary import ALL, Canary
from webhook.explain.rollingupdate.replicasets import ReplicaSetController
from webhook.explain.rollingupdate.simulation import RolloutSetup
from webhook.explain.rollingupdate.state import RolloutState
from webhook.policy.placement.census import ObservedPod
from webhook.policy.rolloutlimits import PodLimits

THREE = (node("n1", "a"), node("n2", "b"), node("n3", "c"))


def controller(setup: RolloutSetup) -> ReplicaSetController:
    assert isinstance(setup.updating, ReplicaSetController)
    return setup.updating


def setup_of(*pods: ObservedPod, surge: int = 0, unavailable: int = 1) -> RolloutSetup:
    strategy = rolling(len(pods), surge, unavailable)
    return of_sets(THREE, strategy, spread_over(), pods=pods)


def test_a_pod_beside_another_goes_first() -> None:
    setup = setup_of(*observe({"n1": 1, "n2": 2}))

    after = controller(setup).advance(setup.start)

    assert after is not None
    assert after.removal is not None, "either of the two on n2"
    assert controller(setup).list_removable(after) == [("n2", 0)]
    removed = controller(setup).remove(after, "n2", 0)
    assert (removed.placed, removed.removal) == ((("n1", (0,)), ("n2", (0,))), None)


def test_whole_ranks_go_without_a_choice() -> None:
    setup = setup_of(*observe({"n1": 1, "n2": 2}), unavailable=3)

    after = controller(setup).advance(setup.start)

    assert after is not None
    assert (after.placed, after.removal) == ((), None)


def test_pods_that_differ_by_age_alone_are_open() -> None:
    young, old = observe({"n1": 1, "n2": 1})
    old = replace(old, metadata=replace(old.metadata, uid="x", creation_timestamp=None))
    young = replace(young, metadata=replace(young.metadata, uid="y"))
    setup = setup_of(young, old, unavailable=1)

    after = controller(setup).advance(setup.start)

    assert after is not None
    assert controller(setup).list_removable(after) == [("n2", 0), ("n1", 0)]


def test_pods_without_a_node_and_pods_that_are_not_ready_go_first() -> None:
    waiting, sick, well, other = observe({"": 1, "n1": 1, "n2": 2})
    status = sick.status
    assert status is not None
    assert status.conditions is not None
    down = (replace(status.conditions[0], status="False"),)
    sick = replace(sick, status=replace(status, conditions=down))
    setup = setup_of(waiting, sick, well, other, unavailable=2)
    sizes = controller(setup).measure(setup.start)

    after = controller(setup).advance(setup.start)

    assert sizes.available == (2, 0)
    assert after is not None
    assert [name for name, _ in after.placed] == ["n2"]
    assert (after.pending, after.removal) == ((), None)


def test_nodes_can_be_ignored() -> None:
    setup = setup_of(*observe({"n1": 1, "n2": 2}))

    after = controller(setup).ignore_nodes().advance(setup.start)

    assert after is not None
    assert after.removal is not None
    assert after.removal.nodes == ("n1", "n2")


def test_old_pods_are_deleted_until_new_ones_are_all() -> None:
    setup = setup_of(*observe({"n1": 2}))
    new = setup.kinds[-1].number
    last = RolloutState((0, 2), 0, (("n1", (new, new)),), (), ())
    mixed = RolloutState((1, 1), 0, (("n1", (0, new)),), (), ())

    after = controller(setup).advance(mixed)

    assert after is not None
    assert after.placed == (("n1", (new,)),)
    assert controller(setup).is_finished(last)
    assert controller(setup).advance(last) is None
    assert controller(setup).list_removable(last) == []
    assert not controller(setup).is_finished(replace(last, starting=(new,)))


def test_description() -> None:
    setup = setup_of(*observe({"n1": 1, "n2": 2}), surge=1)
    before = setup.start
    after = replace(before, sizes=(1, 2))

    assert controller(setup).describe(before, after) == "new 0 -> 2, old 3 -> 1"


def test_a_stable_replica_set_that_is_too_small_grows_first() -> None:
    pods = [
        *observe({"n1": 1}, name="web-a", revision="1"),
        *observe({"n2": 2}, name="web-b", revision="b", first=5),
    ]
    strategy = Canary(3, PodLimits(3, 0), (25, ALL))
    setup = of_sets(THREE, strategy, spread_over(), pods=pods, stable="web-a")

    first = controller(setup).advance(setup.start)
    assert first is not None
    second = controller(setup).advance(first)

    assert (setup.start.sizes, first.sizes) == ((2, 1, 0), (2, 3, 0))
    assert [(setup.kinds[kind].owner, setup.kinds[kind].is_new) for kind in first.pending] == [
        (1, False),
        (1, False),
    ]
    assert second is not None
    assert second.sizes == (2, 3, 1)
    assert [setup.kinds[kind].is_new for kind in second.pending] == [False, False, True]


def test_pods_of_a_kind_have_no_name_of_their_own() -> None:
    setup = setup_of(*observe({"n1": 1}))

    assert not setup.updating.name_pod(0)
