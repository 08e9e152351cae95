"""What-ifs place, lose and remove pods as a simulation that counts everything anew does."""

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.explain.observed import observed, workload
from tests.explain.scenarios import scenario, scenarios, with_census
from tests.policy.placement.clusters import GPU, node, spread_over
from webhook.explain.newpods import TRIED_TWICE
from webhook.explain.nodeedits import AddNodes, Cordon, RemoveNodes
from webhook.explain.rollout import count_lost, roll_out
from webhook.explain.scenario import Scenario, ScenarioEdit
from webhook.policy.model import HOSTNAME, SCHEDULE_ANYWAY, ZONE, LabelSelector, Node
from webhook.policy.placement.tallies import PodTally

THREE = (node("n1", "a"), node("n2", "b"), node("n3", "c"))
EVEN = {"n1": 2, "n2": 2, "n3": 2}

# what is changed, replicas, where the missing go, how many stay Pending, skew in the end
ROLLOUTS: dict[str, tuple[list[ScenarioEdit], int, dict[str, int], int, int]] = {
    "nothing is missing": ([], 6, {}, 0, 0),
    "three more": ([], 9, {"n1": 1, "n2": 1, "n3": 1}, 0, 0),
    "fewer than run": ([], 2, {}, 0, 0),
    "a zone is lost, and two take over": (
        [RemoveNodes(ZONE, "c")], 6, {"n1": 1, "n2": 1}, 0, 0
    ),
    "a cordoned zone holds the others back": ([Cordon("n3")], 12, {"n1": 1, "n2": 1}, 4, 1),
    "nodes of a new zone are filled first": (
        [AddNodes({ZONE: "d"}, 2)], 9, {"new-1": 2, "new-2": 1}, 0, 1
    ),
    "nodes that are lost come again": (
        [RemoveNodes(ZONE, "c"), AddNodes({ZONE: "c"})], 6, {"new-1": 2}, 0, 0
    ),
    "all is lost": ([RemoveNodes(ZONE, zone) for zone in "abc"], 6, {}, 6, 0),
}  # fmt: skip


@pytest.mark.parametrize(
    ("edits", "replicas", "placed", "pending", "skew"), ROLLOUTS.values(), ids=ROLLOUTS.keys()
)
def test_rollout(
    edits: list[ScenarioEdit], replicas: int, placed: dict[str, int], pending: int, skew: int
) -> None:
    before = scenario(THREE, spread_over(), pods=EVEN)

    rollout, *_ = roll_out(before, edits, replicas, EVEN)

    assert (rollout.placed, rollout.pending) == (placed, pending)
    assert [counted.after for counted in rollout.skews] == [skew]


def test_a_soft_constraint_is_even_without_the_domains_that_are_closed() -> None:
    nodes = (*THREE[:2], node("n3", "c", taints=[GPU]))
    pods = {"n1": 2, "n2": 2}

    (soft,), (hard,) = (
        roll_out(scenario(nodes, spread_over(**changes), pods=pods), [], 4, pods)[0].skews
        for changes in ({"when_unsatisfiable": SCHEDULE_ANYWAY}, {})
    )

    assert (soft.before, soft.after, soft.replicas_after) == (0, 0, 0)
    assert (hard.before, hard.after, hard.replicas_after) == (2, 2, 2)


def test_pods_on_removed_nodes_are_lost() -> None:
    before = scenario(THREE, spread_over(), pods=EVEN)

    assert count_lost([RemoveNodes(ZONE, "c"), Cordon("n1")], before, {**EVEN, "other": 9}) == 2
    assert count_lost([], before, EVEN) == 0


def test_pods_on_nodes_that_are_not_known_run_and_count_in_no_domain() -> None:
    pods = [observed(f"web-{node}", node, {"app": "web"}, 0) for node in ("n1", "n2", "gone")]
    running = {"n1": 1, "n2": 1, "gone": 1}
    before = scenario(THREE, spread_over(), pods=running)

    same, *_ = roll_out(before, [], 3, running, workload(pods))
    more, *_ = roll_out(before, [], 4, running)
    fewer, *_ = roll_out(before, [RemoveNodes(ZONE, "b")], 1, running, workload(pods))

    assert (same.running, same.placed, same.skews[0].after) == (3, {}, 1)
    assert (more.running, more.placed, more.skews[0].after) == (3, {"n3": 1}, 0)
    assert (fewer.running, len(fewer.removed), fewer.pending) == (1, 1, 0)


def test_a_workload_without_replicas_runs_none() -> None:
    rollout, *_ = roll_out(scenario(THREE, spread_over()), [], 0, {})

    assert rollout.sentence == "as it is: no replica would run; skew of zone 0 -> 0"


# replicas, whether there is a node, the sentence
FATES: list[tuple[int, bool, str]] = [
    (1, False, "the replica would stay Pending"),
    (2, False, "both replicas would stay Pending"),
    (1, True, "the replica would run"),
    (2, True, "both replicas would run"),
    (3, True, "all 3 replicas would run"),
]


@pytest.mark.parametrize(("replicas", "has_nodes", "fate"), FATES)
def test_few_replicas_have_plain_words(replicas: int, *, has_nodes: bool, fate: str) -> None:
    rollout, *_ = roll_out(scenario(THREE if has_nodes else (), spread_over()), [], replicas, {})

    assert rollout.sentence.startswith(f"as it is: {fate};")


def test_a_rollout_in_a_sentence() -> None:
    before = scenario(THREE, spread_over(), pods=EVEN)

    rollout, *_ = roll_out(before, [RemoveNodes(ZONE, "a"), Cordon("n3")], 8, EVEN)

    assert rollout.sentence == (
        "if you lose zone a, cordon node n3: 3 of 8 replicas would stay Pending; "
        "skew of zone 0 -> 1"
    )


@given(scenarios(), st.integers(0, 12))
def test_replicas_run_or_wait(question: Scenario, replicas: int) -> None:
    rollout, end, _ = roll_out(question, [], replicas, {})

    assert sum(rollout.placed.values()) + rollout.pending == replicas
    assert not (rollout.pending and end.placement().passing)


@given(scenarios())
def test_a_rollout_leaves_the_cluster_as_it_was(question: Scenario) -> None:
    before = question.placement()

    roll_out(question, [Cordon("n1"), AddNodes({ZONE: "x"})], 5, {})

    assert question.placement() == before


WHAT_IFS = st.lists(
    st.one_of(
        st.builds(RemoveNodes, st.just(ZONE), st.sampled_from("abc")),
        st.builds(Cordon, st.sampled_from(("n0", "n1", "n2"))),
        st.builds(AddNodes, st.sampled_from([{ZONE: "a"}, {ZONE: "b"}, {ZONE: "x"}])),
    ),
    max_size=3,
)
PODS = st.lists(
    st.tuples(st.sampled_from([f"n{i}" for i in range(9)]), st.integers(0, 99)),
    max_size=12,
    unique_by=lambda pair: pair[1],
)
"""Node and restarts of the pods of a workload; no two pods are equal."""

Placed = list[tuple[str, int]]


def edit_nodes(nodes: Sequence[Node], edits: Sequence[ScenarioEdit]) -> list[Node]:
    """Edit nodes one rule at a time."""
    found = list(nodes)
    for edit in edits:
        match edit:
            case RemoveNodes():
                found = [item for item in found if item.labels.get(edit.key) != edit.value]
            case Cordon():
                found = [edit.change(item) if item.name == edit.node else item for item in found]
            case _:
                found = list(edit.apply(scenario(found)).topology.nodes)
    return found


def count_anew(question: Scenario, nodes: Sequence[Node], names: Sequence[str]) -> Scenario:
    """Build the scenario anew, with pods of the workload on these nodes."""
    census = question.census.copy()
    for name in names:
        census.add("shop", question.pod.labels, name)
    return with_census(question.with_nodes(nodes), census)


def skew_of(tally: PodTally) -> int:
    counted = [tally.pods.get(value, 0) for value in tally.domains.sizes]
    return max(counted) - min(counted) if counted else 0


def simulate(
    question: Scenario, nodes: Sequence[Node], replicas: int, placed: Placed
) -> tuple[list[str], list[str]]:
    """
    Simulate a what-if by removing and placing one pod at a time.

    Returns:
        The nodes of the pods that stay, and those of new pods.
    """
    names = {item.name for item in nodes}
    lost = {item.name for item in question.topology.nodes} - names
    left = [(name, restarts) for name, restarts in placed if name not in lost]
    together = Counter(name for name, _ in left)
    while len(left) > replicas:
        left.remove(max(left, key=lambda pair: (together[pair[0]], pair[1])))
    stay, added = [name for name, _ in left], list[str]()
    while len(stay) + len(added) < replicas:
        now = count_anew(question, nodes, [*stay, *added]).placement()
        tallies = now.tallies.by_index
        counted = {name: sum(t.by_node.get(name, 0) for t in tallies) for name in now.best}
        if not counted:
            break
        added.append(next(name for name in counted if counted[name] == min(counted.values())))
    return stay, added


@given(scenarios(), WHAT_IFS, st.integers(0, 14), PODS)
def test_what_ifs_are_those_of_a_simulation_that_counts_anew(
    question: Scenario, edits: list[ScenarioEdit], replicas: int, placed: Placed
) -> None:
    labels, names = dict(question.pod.labels), [name for name, _ in placed]
    pods = [observed(f"p{restarts}", name, labels, restarts) for name, restarts in placed]
    before = count_anew(question, question.topology.nodes, names)

    rollout, end, _ = roll_out(
        before, edits, replicas, {name: names.count(name) for name in names}, workload(pods)
    )

    nodes = edit_nodes(question.topology.nodes, edits)
    stay, added = simulate(question, nodes, replicas, placed)
    # pods of lost nodes stay in the census: they are on no known node
    left = {item.name for item in nodes}
    lost = [one.name for one in question.topology.nodes if one.name not in left]
    lost = [name for name in names if name in lost]
    after = count_anew(question, nodes, [*stay, *added, *lost]).placement()
    assert rollout.running == len(stay)
    assert rollout.placed == {name: added.count(name) for name in added}
    assert rollout.pending == replicas - len(stay) - len(added)
    assert [change.after for change in rollout.skews] == list(map(skew_of, after.tallies.by_index))
    assert end.placement().passing == after.passing


ARBITRARY = (
    "the choice among equal nodes is arbitrary: kube-scheduler may place these replicas on other "
    "nodes"
)


def test_an_arbitrary_choice_is_named_where_it_matters() -> None:
    one_each, *_ = roll_out(scenario(THREE, spread_over()), [], 3, {})
    any_of_them, *_ = roll_out(scenario(THREE, spread_over()), [], 2, {})

    assert (one_each.notes, any_of_them.notes) == ((), (ARBITRARY,))


def test_with_several_hard_constraints_another_choice_may_leave_replicas_pending() -> None:
    even = [node("a1", "a"), node("a2", "a"), node("b1", "b"), node("b2", "b")]
    crossing = [node("a1", "a", rack="r"), node("a2", "a", rack="s"), node("b1", "b", rack="s")]

    notes = [
        roll_out(scenario(nodes, spread_over(), spread_over(topology_key=key)), [], number, {})[0]
        for nodes, key, number in ((even, HOSTNAME, 3), (crossing, "rack", 2))
    ]

    assert [one.notes for one in notes] == [
        (ARBITRARY,),
        (f"{ARBITRARY}, and then perhaps leave some Pending",),
    ]


def test_the_choices_of_very_many_replicas_are_not_tried() -> None:
    many = TRIED_TWICE + 1

    rollout, *_ = roll_out(scenario([node("n1", "a")], spread_over()), [], many, {})

    assert (rollout.placed, rollout.notes) == ({"n1": many}, (ARBITRARY,))


def test_a_constraint_that_does_not_count_the_replicas_does_not_hide_where_they_are() -> None:
    other = spread_over(label_selector=LabelSelector({"app": "other"}))

    rollout, *_ = roll_out(scenario(THREE, other), [], 3, {})

    (skew,) = rollout.skews
    assert (skew.after, skew.replicas_after) == (0, 3)
    assert rollout.sentence.endswith("by zone 0 -> 3, of the counted pods 0 -> 0")
