"""
The indexes of an Indexed Job: those of its pods, and those that need no other pod.

``read_index`` and ``list_settled`` are the entry points; ``is_indexed`` finds such Jobs, and
``parse_indexes`` reads how the status of a Job lists indexes. A new pod gets the smallest index
that is not settled, and that no pod has. ``wrap_index`` continues with the next Job of a CronJob.

Source: kubernetes pkg/controller/job indexed_job_utils.go ``firstPendingIndexes``,
``getCompletionIndex``, ``parseIndexesFromString``.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

from webhook.policy.paths import find_value
from webhook.policy.podlabels import COMPLETION_INDEX

NO_INDEX = -1
"""In place of the index of a pod that has none."""

MOST_INDEXES = 100_000
"""
Most indexes that are listed; of more, the next pod has the right index up to here.

Source: pkg/apis/batch/validation ``completionsSoftLimit``.
"""

_DIGITS = 10  # of an index, which is an int32


def is_indexed(spec: Any) -> bool:
    """Whether the specification of a Job, as decoded from JSON, gives its pods indexes."""
    return bool(find_value(spec, ("completionMode",)) == "Indexed")


def read_index(annotations: Mapping[str, str] | None, labels: Mapping[str, str] | None) -> int:
    """Read the index of a pod, also of one without annotations; ``NO_INDEX`` if it has none."""
    written = (annotations or {}).get(COMPLETION_INDEX) or (labels or {}).get(COMPLETION_INDEX, "")
    return int(written) if _is_index(written) else NO_INDEX


def wrap_index(spec: Any, number: int) -> int:
    """
    Return the index of a pod of a CronJob, whose next Job starts again at 0.

    Args:
        spec: The specification of its Jobs, as decoded from JSON; it need not be valid.
        number: Number of the pod, counted from the first one of a Job; at least 0.
    """
    completions = find_value(spec, ("completions",))
    is_number = isinstance(completions, int) and completions > 0
    return number % completions if is_number else number


def parse_indexes(written: Any) -> tuple[range, ...]:
    """Parse indexes that are written as in ``0,3-5``; parts that cannot be read are left out."""
    parts = (part.partition("-") for part in str(written or "").split(","))
    return tuple(
        range(int(first), int(last or first) + 1)
        for first, dash, last in parts
        if _is_index(first) and (_is_index(last) or not dash)
    )


def list_settled(job: Any) -> frozenset[int]:
    """
    List the indexes that have succeeded, or failed for good, by the status of a Job.

    Args:
        job: The object, as decoded from JSON; it need not be valid.
    """
    fields = ("completedIndexes", "failedIndexes")
    return frozenset(islice(chain.from_iterable(_list_ranges(job, fields)), MOST_INDEXES))


def _list_ranges(job: Any, fields: Iterable[str]) -> Iterator[range]:
    for name in fields:
        yield from parse_indexes(find_value(job, ("status", name)))


def _is_index(written: str) -> bool:
    return written.isascii() and written.isdigit() and len(written) <= _DIGITS
