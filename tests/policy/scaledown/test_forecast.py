"""Pods get the ranks that they would have got when they were bound; other costs stay."""

from hypothesis import given
from hypothesis import strategies as st

from tests.explain.observed import make_pod
from webhook.policy.placement.census import ObservedPod
from webhook.policy.scaledown.forecast import rank_pods
from webhook.policy.scaledown.ranks import DELETION_COST, cost_of_rank

DOMAINS = {"n1": "a", "n2": "a", "n3": "b"}


def ranks(*pods: ObservedPod) -> list[int | None]:
    return [pod.rank for pod in rank_pods(pods, DOMAINS)]


def test_the_oldest_pod_of_a_domain_gets_the_first_rank() -> None:
    pods = (
        make_pod("a", "n1", created="2026-01-01T00:00:02Z"),
        make_pod("b", "n2", created="2026-01-01T00:00:01Z"),
        make_pod("c", "n3", created="2026-01-01T00:00:03Z"),
    )

    assert ranks(*pods) == [2, 1, 1]


def test_ranks_are_of_one_controller() -> None:
    assert ranks(make_pod("a", "n1", owner="x"), make_pod("b", "n1", owner="y")) == [1, 1]


def test_pods_without_a_controller_are_ranked_together() -> None:
    assert ranks(ObservedPod(), *[make_pod("a", "n9")]) == [None, None]


def test_a_rank_that_a_pod_has_is_left_free() -> None:
    held = make_pod("z", "n1", rank=2)

    assert ranks(make_pod("a", "n1"), held, make_pod("b", "n2")) == [1, 2, 3]


def test_another_cost_stays_and_is_no_rank() -> None:
    costs = ("7", "x", str(cost_of_rank(1)))
    pods = tuple(make_pod(f"{index}", "n1", cost=cost) for index, cost in enumerate(costs))

    assert ranks(*pods, make_pod("z", "n1")) == [None, None, None, 1]
    assert [one.pod for one in rank_pods(pods, DOMAINS)] == list(pods)


def test_a_rank_is_the_cost_of_a_pod_that_gets_one() -> None:
    (ranked,) = rank_pods([make_pod("a", "n1")], DOMAINS)

    assert (ranked.pod.metadata.annotations or {})[DELETION_COST] == f"{cost_of_rank(1)}"


@given(st.lists(st.tuples(st.sampled_from(("n1", "n2", "n3")), st.none() | st.integers(1, 5))))
def test_new_ranks_of_a_domain_are_distinct_and_without_gaps(
    drawn: list[tuple[str, int | None]],
) -> None:
    pods = tuple(make_pod(f"{index}", node, rank=rank) for index, (node, rank) in enumerate(drawn))

    ranked = rank_pods(pods, DOMAINS)

    for domain in ("a", "b"):
        old = [rank for node, rank in drawn if DOMAINS[node] == domain and rank is not None]
        new = [
            one.rank
            for (node, rank), one in zip(drawn, ranked, strict=True)
            if DOMAINS[node] == domain and rank is None
        ]
        free = [rank for rank in range(1, len(drawn) + 6) if rank not in old]
        assert new == sorted(new, key=new.index)
        assert sorted(rank or 0 for rank in new) == free[: len(new)]
