"""A search finds every end that brute force over all nodes and pods finds."""

from collections.abc import Hashable, Iterable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.explain.rollingupdate.rollouts import (
    APART,
    ONE_CPU,
    PORT_80,
    apart_by,
    of_sets,
    rolling,
)
from tests.policy.placement.clusters import node, spread_over
from webhook.explain.rollingupdate import search
from webhook.explain.rollingupdate.placer import Placer
from webhook.explain.rollingupdate.search import explore, follow
from webhook.explain.rollingupdate.simulation import RolloutSetup
from webhook.explain.rollingupdate.state import RolloutState
from webhook.explain.rollingupdate.symmetry import NodeSymmetry
from webhook.policy.model import HOSTNAME, SCHEDULE_ANYWAY, ZONE, Node
from webhook.policy.placement.filters.resources import Resources

MOST = 8  # pods of a drawn rollout at a time
HOST = spread_over(HOSTNAME)
UNEVEN = (node("a1", "a"), node("a2", "a"), node("a3", "a"), node("b1", "b"))


class NoSymmetry(NodeSymmetry):
    """Takes each node for itself."""

    def key(self, state: RolloutState) -> Hashable:
        return state

    def choose_different(self, state: RolloutState, names: Iterable[str]) -> list[str]:
        return list(names)


def symmetry_of(placer: Placer, kind: type[NodeSymmetry] = NodeSymmetry) -> NodeSymmetry:
    return kind(placer.nodes, placer.list_keys(), placer.sign_nodes(MOST))


@st.composite
def setups(draw: st.DrawFn) -> RolloutSetup:
    """Draw a Deployment on at most four nodes, some of whose choices are open."""
    zones = draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=4))
    nodes: list[Node] = [node(f"n{i}", zone) for i, zone in enumerate(zones)]
    if draw(st.booleans()):
        nodes[0] = replace(nodes[0], unschedulable=True)
    soft = replace(HOST, when_unsatisfiable=SCHEDULE_ANYWAY)
    some = st.sampled_from([(spread_over(),), (spread_over(), HOST), (APART, HOST), (HOST,),
                            (spread_over(), soft)])  # fmt: skip
    replicas, surge = draw(st.integers(1, 3)), draw(st.integers(0, 1))
    unavailable = draw(st.integers(0 if surge else 1, 1))
    taken: dict[str, Any] = {}
    if draw(st.booleans()):
        taken["requests"] = ONE_CPU
    if draw(st.integers(0, 3)) == 0:
        taken["ports"] = PORT_80
    if draw(st.integers(0, 3)) == 0:
        taken["anti_affinity"] = apart_by(draw(st.sampled_from([ZONE, HOSTNAME])))
    cpus = draw(st.lists(st.integers(1, 3), min_size=len(nodes), max_size=len(nodes)))
    room = {
        one.name: Resources(milli_cpu=1000 * cpu, pods=4)
        for one, cpu in zip(nodes, cpus, strict=True)
    }
    strategy = rolling(replicas, surge, unavailable)
    return of_sets(nodes, strategy, *draw(some), room=room, **taken)


@settings(max_examples=60)
@given(setups())
def test_symmetry_loses_no_end(setup: RolloutSetup) -> None:
    placer = Placer(setup.scenario, setup.kinds)
    symmetry = symmetry_of(placer)
    found = explore(setup.filling, placer, symmetry, [setup.start])
    brute = explore(setup.filling, placer, symmetry_of(placer, NoSymmetry), [setup.start])
    assert {*map(symmetry.key, found.ends)} == {*map(symmetry.key, brute.ends)}

    found = explore(setup.updating, placer, symmetry, found.ends)
    brute = explore(setup.updating, placer, symmetry_of(placer, NoSymmetry), brute.ends)

    if brute.is_complete:
        assert found.is_complete
        assert {*map(symmetry.key, found.ends)} == {*map(symmetry.key, brute.ends)}


@settings(max_examples=60)
@given(setups())
def test_merged_nodes_lose_no_end(setup: RolloutSetup) -> None:
    placer = Placer(setup.scenario, setup.kinds)
    exact = symmetry_of(placer)
    merged = NodeSymmetry(
        placer.nodes, placer.list_keys(), placer.sign_nodes(MOST), merges_nodes=True
    )
    if exact.can_merge and placer.are_pods_alike:
        starts = explore(setup.filling, placer, exact, [setup.start]).ends
        found = explore(setup.updating, placer, exact, starts)
        rough = explore(setup.updating.ignore_nodes(), placer, merged, starts)

        assert {*map(merged.key, found.ends)} <= {*map(merged.key, rough.ends)}


@settings(max_examples=60)
@given(setups())
def test_the_first_choices_are_among_all(setup: RolloutSetup) -> None:
    placer = Placer(setup.scenario, setup.kinds)
    symmetry = symmetry_of(placer)
    filled = [setup.start, *(one.state for one in follow(setup.filling, placer, setup.start))]
    rounds = list(follow(setup.updating, placer, filled[-1]))

    found = explore(setup.updating, placer, symmetry, [filled[-1]])

    last = rounds[-1].state if rounds else filled[-1]
    assert symmetry.key(last) in {*map(symmetry.key, found.ends)}


def test_the_steps_of_a_rollout_that_stops() -> None:
    setup = of_sets(UNEVEN, rolling(3), spread_over(), HOST)
    placer = Placer(setup.scenario, setup.kinds)
    (filled,) = follow(setup.filling, placer, setup.start)

    (step,) = follow(setup.updating, placer, filled.state)

    assert step.action == "new 0 -> 1"
    assert step.state.sizes == (3, 1)
    assert len(step.state.pending) == 1


def test_a_search_has_a_bound() -> None:
    nodes = [node(f"n{i}", "abc"[i % 3]) for i in range(30)]
    setup = of_sets(nodes, rolling(30, 8, 7), spread_over())
    placer = Placer(setup.scenario, setup.kinds)

    found = explore(setup.filling, placer, symmetry_of(placer), [setup.start])

    assert not found.is_complete
    assert placer.placements * len(nodes) <= search.MOST_WORK + len(nodes)
