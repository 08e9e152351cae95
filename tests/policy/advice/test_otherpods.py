from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.build import Json, spread
from tests.policy.advice.subjects import audit, deployed, running, zones
from webhook.policy.advice.context import ClusterState
from webhook.policy.advice.otherpods import (
    count_others,
    name_others,
    suggest_about_others,
    suggest_own_selector,
)
from webhook.policy.advice.runningpods import RunningPods
from webhook.policy.advice.subject import Subject
from webhook.policy.placement.tallies import PodTally

NODES = zones("a1", "b1", "c1")
LABELS, OTHER_LABELS = {"app": "web", "team": "x"}, {"app": "api", "team": "x"}
TEAM: Json = {"matchLabels": {"team": "x"}}


API = {"Deployment/api": OTHER_LABELS}


def suggest(
    own: list[RunningPods],
    others: RunningPods,
    *,
    max_skew: int = 1,
    members: dict[str, dict[str, str]] = API,
) -> str | None:
    return suggest_about_others(*count(own, others, max_skew=max_skew, members=members))


def count(
    own: list[RunningPods],
    others: RunningPods,
    *,
    max_skew: int = 1,
    members: dict[str, dict[str, str]] = API,
) -> tuple[Subject, PodTally, ClusterState]:
    judged = deployed(spread(labelSelector=TEAM, maxSkew=max_skew), template_labels=LABELS)
    judged = replace(judged, running=tuple(own))
    context = audit(NODES, [*own, others], members)
    cluster = context.cluster
    assert cluster is not None
    (tally,) = cluster.tallies(judged.next_pod, judged.constraints, context.gates)
    return judged, tally, cluster


def own(*nodes: str) -> RunningPods:
    return running(*nodes, labels=LABELS)


def others(*nodes: str) -> RunningPods:
    return running(*nodes, labels=OTHER_LABELS)


# own pods, pods of another workload, whether the own ones can end a skew above 1
CASES: dict[str, tuple[list[RunningPods], RunningPods, bool]] = {
    "too many others in a zone": ([own("b1", "c1")], others("a1", "a1", "a1"), False),
    "enough own pods": ([own("b1", "b1", "b1", "c1")], others("a1", "a1", "a1"), True),
    "own pods in the full zone": ([own("a1", "b1", "c1")], others("a1", "a1"), True),
    "own pods alone": ([own("a1", "a1", "a1")], others(), True),
    "pods that a rollout deletes": (
        [own("b1", "c1"), replace(own("a1", "a1"), replaced=True)],
        others("a1"),
        False,
    ),
    "own pods outside of the cluster": ([own("gone", "c1")], others("a1", "a1", "a1"), False),
}


@pytest.mark.parametrize(("placed", "counted", "can_end"), CASES.values(), ids=CASES.keys())
def test_whether_own_pods_can_end_a_skew(
    placed: list[RunningPods], counted: RunningPods, can_end: bool
) -> None:
    assert (suggest(placed, counted) is None) is can_end


def test_the_others_are_named() -> None:
    assert suggest([own("b1", "c1")], others("a1", "a1", "a1")) == (
        "# its own pods cannot end this, wherever they are: zone-a has 3 pods of Deployment/api; "
        "spread those, or write a labelSelector that does not count them"
    )


def test_pods_of_no_known_workload_are_left_out() -> None:
    assert suggest([own("b1", "c1")], others("a1", "a1", "a1"), members={}) is None


NAMES = [node.name for node in NODES]
some_pods = st.lists(st.sampled_from(NAMES), min_size=1, max_size=5)


@given(some_pods, some_pods, st.integers(1, 2))
def test_no_placement_of_own_pods_ends_a_skew_of_others(
    placed: list[str], counted: list[str], max_skew: int
) -> None:
    skews: set[int] = set()
    for chosen in product(NAMES, repeat=len(placed)):
        pods = [[*chosen, *counted].count(name) for name in NAMES]
        skews.add(max(pods) - min(pods))

    found = suggest([own(*placed)], others(*counted), max_skew=max_skew)

    assert (found is None) is (min(skews) <= max_skew)


# own pods, pods of another workload, whether the own ones alone satisfy maxSkew 1
ALONE: dict[str, tuple[list[RunningPods], RunningPods, bool]] = {
    "even": ([own("a1", "b1", "c1")], others("a1", "a1"), True),
    "even beside many others": ([own("a1", "b1", "c1")], others(*["a1"] * 5), True),
    "uneven": ([own("a1", "a1", "b1")], others("a1", "c1"), False),
    "no others": ([own("a1", "b1", "c1")], others(), False),
    "others outside of the cluster": ([own("a1", "b1", "c1")], others("gone"), False),
    "uneven by pods that a rollout deletes": (
        [own("a1", "b1"), replace(own("a1", "a1"), replaced=True)],
        others("a1"),
        True,
    ),
    "uneven by pods that do not count": (
        [own("a1", "b1", "c1"), running("a1", "a1", labels={"app": "web"})],
        others("a1", "a1"),
        True,
    ),
}


@pytest.mark.parametrize(("placed", "counted", "fits"), ALONE.values(), ids=ALONE.keys())
def test_a_selector_of_own_pods_that_satisfy_max_skew(
    placed: list[RunningPods], counted: RunningPods, fits: bool
) -> None:
    expected = "labelSelector: {matchLabels: {app: web, team: x}}" if fits else None

    assert suggest_own_selector(*count(placed, counted)) == expected


def test_others_of_no_known_workload_need_no_selector() -> None:
    assert suggest_own_selector(*count([own(*NAMES)], others("a1"), members={})) is None


# members of the namespace, those that are named
NAMED: dict[str, tuple[dict[str, dict[str, str]], str]] = {
    "another workload": (API, "Deployment/api"),
    "itself": ({**API, "Deployment/web": LABELS}, "Deployment/api"),
    "many": (
        {f"Deployment/{name}": OTHER_LABELS for name in "abcde"},
        "Deployment/a, Deployment/b, Deployment/c and 2 more",
    ),
    "unknown ones": ({}, ""),
}


@pytest.mark.parametrize(("members", "expected"), NAMED.values(), ids=NAMED.keys())
def test_the_names_of_others(members: dict[str, dict[str, str]], expected: str) -> None:
    assert name_others(*count([own("a1")], others("a1"), members=members)) == expected
    assert name_others(*count([own("a1")], others("gone"), members=members)) == ""


def test_the_others_in_each_domain() -> None:
    judged, tally, _ = count([own("a1", "b1")], others("a1", "c1", "c1"))

    assert count_others(judged, tally) == {"zone-a": 1, "zone-c": 2}
