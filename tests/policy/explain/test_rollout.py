import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.policy.explain.scenarios import scenario, scenarios
from tests.policy.placement.clusters import node, spread_over
from webhook.policy.defaulting.profiles import ZONE
from webhook.policy.explain.nodeedits import AddNodes, Cordon, RemoveNodes
from webhook.policy.explain.rollout import roll_out
from webhook.policy.explain.scenario import Scenario, ScenarioEdit

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

    rollout, _ = roll_out(before, edits, replicas, EVEN)

    assert (rollout.placed, rollout.pending) == (placed, pending)
    assert [counted.after for counted in rollout.skews] == [skew]


def test_a_rollout_in_a_sentence() -> None:
    before = scenario(THREE, spread_over(), pods=EVEN)

    rollout, _ = roll_out(before, [RemoveNodes(ZONE, "a"), Cordon("n3")], 8, EVEN)

    assert rollout.sentence == (
        "if you lose zone a, cordon node n3: 3 of 8 replicas would stay Pending; "
        "skew of zone 0 -> 1"
    )


@given(scenarios(), st.integers(0, 12))
def test_replicas_run_or_wait(question: Scenario, replicas: int) -> None:
    rollout, end = roll_out(question, [], replicas, {})

    assert sum(rollout.placed.values()) + rollout.pending == replicas
    assert not (rollout.pending and end.placement().passing)


@given(scenarios())
def test_a_rollout_leaves_the_cluster_as_it_was(question: Scenario) -> None:
    before = question.placement()

    roll_out(question, [Cordon("n1"), AddNodes({ZONE: "x"})], 5, {})

    assert question.placement() == before
