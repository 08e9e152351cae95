"""A missing pod belongs to the ReplicaSet that has fewer pods than its size."""

from collections.abc import Mapping
from itertools import islice

import pytest
from msgspec.structs import replace

from tests.explain.scenarios import scenario
from tests.policy.placement.clusters import node, spread_over
from webhook.explain.newpods import NewPod
from webhook.explain.revisionsizes import RevisionSize, describe_sizes, list_missing

EMPTY = scenario((node("n1", "a"),), spread_over())


def sized(name: str, size: int) -> RevisionSize:
    return RevisionSize(name, size, NewPod(replace(EMPTY.pod, labels={"of": name}), EMPTY.spreads))


SETS = (sized("old", 3), sized("new", 1))


@pytest.mark.parametrize(
    ("running", "expected"),
    [
        ({}, ["old", "old", "old", "new", "old"]),
        ({"old": 2}, ["old", "new", "old"]),
        ({"old": 3}, ["new", "old"]),
        ({"old": 5, "new": 1, "": 1}, ["old"]),
    ],
)
def test_each_replica_set_creates_its_missing_pods(
    running: Mapping[str, int], expected: list[str]
) -> None:
    succession = list_missing(SETS, running)

    upcoming = islice(succession.follow(EMPTY), len(expected))
    assert [new.pod.labels["of"] for _, new in upcoming] == expected
    assert succession.is_parallel


def test_the_sizes_are_noted() -> None:
    (note,) = describe_sizes(SETS)

    assert note == (
        "the ReplicaSets keep their pod templates while the rollout waits: 3 pods of old, 1 pod of "
        "new"
    )
    assert list(describe_sizes(())) == []
