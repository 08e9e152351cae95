"""The bounds of the skew are those of all choices, each of which is tried here."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

from hypothesis import example, given
from hypothesis import strategies as st

from tests.explain.observed import make_pod
from webhook.explain.removalchoice import RemovalChoice, SkewBounds
from webhook.explain.removalorder import RemovalGroup

VALUES = ("a", "b", "c", "d")


def measure(pods: Mapping[str, int], domains: Sequence[str]) -> int:
    """Measure the skew of some pods; 0 without domains."""
    least = min((pods.get(value, 0) for value in domains), default=0)
    return max([0, *pods.values()]) - least if domains else 0


def choose(places: Sequence[str], removed: int) -> RemovalChoice:
    """A choice among pods in these places; a pod in none of them has the place ``""``."""
    pods = tuple(make_pod(f"web-{n}", place) for n, place in enumerate(places))
    return RemovalChoice(RemovalGroup(pods), removed)


@given(
    places=st.lists(st.sampled_from(["", *VALUES]), min_size=2, max_size=7),
    others=st.dictionaries(st.sampled_from(VALUES), st.integers(1, 3)),
    domains=st.lists(st.sampled_from(VALUES), unique=True),
    removed=st.integers(1, 6),
)
@example(["a", "a", "b"], {}, ["a", "b"], 1)
@example(["a", "b", ""], {"c": 1}, ["a"], 2)
@example(["a", "b"], {}, [], 1)
def test_the_bounds_are_those_of_all_choices(
    places: list[str], others: dict[str, int], domains: list[str], removed: int
) -> None:
    removed = min(removed, len(places) - 1)
    ends = [
        Counter(others) + Counter(place for place in kept if place)
        for kept in combinations(places, len(places) - removed)
    ]
    skews = [measure(end, domains) for end in ends]
    after = Counter(others) + Counter(place for place in places[removed:] if place)

    found = choose(places, removed).bound(after, domains, lambda pod: pod.spec.node_name or None)

    assert found == SkewBounds(min(skews), max(skews))


def test_a_choice_explains_itself() -> None:
    assert choose(["a", "b", "c"], 2).describe() == (
        "which 2 of these 3 pods the controller removes is not determined, since they are equal "
        "in all that it compares: web-0, web-1, web-2"
    )
