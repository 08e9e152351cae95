"""States of a rolling update change as pods do."""

from tests.explain.rollingupdate.rollouts import ONE_CPU, builder
from webhook.explain.rollingupdate.state import ReplicaKind, RolloutState, without
from webhook.policy.placement.filters.filterpods import FilterPod

EMPTY = RolloutState((2, 1), 0, (), (), ())


def test_the_life_of_pods() -> None:
    created = EMPTY.create([1, 0])
    bound = created.bind(1, "n2").bind(0, "n1").create([1]).bind(1, "n2")
    ready = bound.start(1)

    assert created.pending == (0, 1)
    assert bound.placed == (("n1", (0,)), ("n2", (1, 1)))
    assert (bound.pending, bound.starting) == ((), (0, 1, 1))
    assert ready.starting == (0, 1)
    assert list(bound.create([0]).list_kinds()) == [0, 0, 1, 1]


def test_deleted_pods_are_gone() -> None:
    state = EMPTY.create([0, 1]).bind(1, "n1")

    assert state.delete(0, "").pending == ()
    assert state.delete(1, "n1") == EMPTY.create([0])
    assert state.start(1).delete(1, "n1") == EMPTY.create([0])


def test_without_one_of_several() -> None:
    assert without((0, 0, 1), 0) == (0, 1)


def test_the_pods_of_a_kind() -> None:
    old, new = FilterPod("shop", {}), builder((), "1", requests=ONE_CPU)(0)

    assert ReplicaKind(0, 0, old, None, is_new=False).pods == (old,)
    assert ReplicaKind(0, 0, old, new, is_new=False).pods == (old, new.pod)
