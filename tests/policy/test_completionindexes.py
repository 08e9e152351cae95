"""A new pod of an Indexed Job gets an index that is neither settled nor in use."""

from typing import Any

import pytest

from webhook.policy.completionindexes import (
    MOST_INDEXES,
    NO_INDEX,
    is_indexed,
    list_settled,
    parse_indexes,
    read_index,
    wrap_index,
)
from webhook.policy.podlabels import COMPLETION_INDEX


@pytest.mark.parametrize(
    ("spec", "indexed"),
    [
        ({"completionMode": "Indexed"}, True),
        ({"completionMode": "NonIndexed"}, False),
        (None, False),
    ],
)
def test_the_completion_mode_gives_indexes(spec: Any, indexed: bool) -> None:
    assert is_indexed(spec) is indexed


def index(value: str) -> dict[str, str]:
    return {COMPLETION_INDEX: value}


@pytest.mark.parametrize(
    ("annotations", "labels", "found"),
    [
        (index("3"), index("3"), 3),
        (None, index("0"), 0),  # as in a dump without annotations
        (index("x"), None, NO_INDEX),
        (index("9" * 5000), None, NO_INDEX),
        (None, None, NO_INDEX),
    ],
)
def test_the_index_of_a_pod(
    annotations: dict[str, str] | None, labels: dict[str, str] | None, found: int
) -> None:
    assert read_index(annotations, labels) == found


@pytest.mark.parametrize(
    ("spec", "indexes"),
    [
        ({"completions": 3}, [0, 1, 2, 0, 1]),
        ({"completions": 0}, [0, 1, 2, 3, 4]),
        ({"completions": "3"}, [0, 1, 2, 3, 4]),
        (None, [0, 1, 2, 3, 4]),
    ],
)
def test_each_job_of_a_cron_job_starts_at_index_0(spec: Any, indexes: list[int]) -> None:
    assert [wrap_index(spec, number) for number in range(5)] == indexes


@pytest.mark.parametrize(
    ("written", "indexes"),
    [("0,3-5", [0, 3, 4, 5]), ("", []), (None, []), ("x,5-,2", [2])],
)
def test_indexes_are_written_as_ranges(written: Any, indexes: list[int]) -> None:
    assert [one for part in parse_indexes(written) for one in part] == indexes


def test_indexes_that_succeeded_or_failed_are_settled() -> None:
    status = {"completedIndexes": "0-1,4", "failedIndexes": "2"}

    assert list_settled({"status": status}) == {0, 1, 2, 4}
    assert list_settled({}) == frozenset()


def test_a_long_list_of_indexes_is_cut_off() -> None:
    assert len(list_settled({"status": {"completedIndexes": "0-2000000000"}})) == MOST_INDEXES
