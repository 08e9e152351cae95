"""A paused Deployment is scaled in proportion, as the table of Kubernetes' own tests says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.explain.rollingupdate.proportions import ActiveSet, scale_sets

# sizes, the first created first; replicas and surge before and after; new sizes.
# Source: pkg/controller/deployment/sync_test.go TestScale
CASES: dict[str, tuple[tuple[int, ...], int, tuple[int, int], tuple[int, ...]]] = {
    "normal scaling event: 10 -> 12": ((10,), 10, (12, 0), (12,)),
    "normal scaling event: 10 -> 5": ((10,), 10, (5, 0), (5,)),
    "proportional scaling: 5 -> 10": ((3, 2), 5, (10, 0), (6, 4)),
    "proportional scaling: 5 -> 3": ((3, 2), 5, (3, 0), (2, 1)),
    "proportional scaling: 9 -> 4": ((1, 8), 9, (4, 0), (0, 4)),
    "proportional scaling: 7 -> 10": ((2, 3, 2), 7, (10, 0), (3, 4, 3)),
    "proportional scaling: 13 -> 8": ((3, 8, 2), 13, (8, 0), (2, 5, 1)),
    "leftover distribution: 3 -> 4": ((1, 1, 1), 3, (4, 0), (1, 1, 2)),
    "leftover distribution: 3 -> 2": ((1, 1, 1), 3, (2, 0), (0, 1, 1)),
    "proportional scaling (no new rs): 4 -> 5": ((2, 2), 4, (5, 0), (2, 3)),
    "proportional scaling: 6 -> 0": ((1, 2, 3), 6, (0, 0), (0, 0, 0)),
    "deployment with surge pods": ((6, 6), 12, (20, 2), (11, 11)),
    "change both surge and size": ((8, 5), 13, (50, 6), (34, 22)),
    "change both size and template": ((3, 7), 10, (14, 0), (4, 10)),
    "saturated but broken new replica set": ((1, 2), 3, (2, 1), (1, 2)),
    "not in that table: the most pods before are not known": ((4, 2), 0, (9, 3), (10, 2)),
}


@pytest.mark.parametrize(("sizes", "most", "wanted", "expected"), CASES.values(), ids=CASES.keys())
def test_replicas_are_shared_in_proportion(
    sizes: tuple[int, ...], most: int, wanted: tuple[int, int], expected: tuple[int, ...]
) -> None:
    assert scale_sets([ActiveSet(size, most) for size in sizes], *wanted) == expected


@given(
    sets=st.lists(
        st.builds(ActiveSet, st.integers(1, 50), st.integers(0, 100)), min_size=1, max_size=4
    ),
    replicas=st.integers(1, 100),
    surge=st.integers(0, 10),
)
def test_a_deployment_that_grows_has_all_the_pods_that_it_may_have(
    sets: list[ActiveSet], replicas: int, surge: int
) -> None:
    sizes = scale_sets(sets, replicas, surge)

    assert min(sizes) >= 0
    if replicas + surge >= sum(one.size for one in sets):
        assert sum(sizes) == replicas + surge
