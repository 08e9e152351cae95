"""Running pods in groups: how many there are, and how many of them have a node."""

import pytest

from tests.policy.advice.subjects import running

# nodes of the pods ("" for none): pods, pods with a node
GROUPS: dict[tuple[str, ...], tuple[int, int]] = {
    ("a1",): (1, 1),
    ("a1", "a1", "b1"): (3, 3),
    ("a1", "", ""): (3, 1),
    ("",): (1, 0),
}


@pytest.mark.parametrize(("nodes", "expected"), GROUPS.items())
def test_pods_are_counted_with_and_without_a_node(
    nodes: tuple[str, ...], expected: tuple[int, int]
) -> None:
    group = running(*nodes)
    assert (group.number, group.placed) == expected
