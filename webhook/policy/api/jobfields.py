"""
What kube-apiserver refuses in the fields that say how many pods a Job has.

``check_job`` is the entry point, for the specification of a Job, and for that in a CronJob.

Source: pkg/apis/batch/validation/validation.go ``validateJobSpec``; pkg/apis/batch/v1
``SetDefaults_Job``.
"""

from collections.abc import Iterator
from typing import Any

from webhook.policy.api.fielderrors import invalid, required
from webhook.policy.api.valuechecks import RefusedField, advise, check_name, check_number
from webhook.policy.paths import is_object

INDEXED, NON_INDEXED = "Indexed", "NonIndexed"

MOST_INDEXED_PODS = 100_000
"""Parallelism of an Indexed Job; with more completions, a backoff per index has a limit too."""

MOST_PODS_OF_MANY = 10_000
"""Parallelism of a Job with a backoff per index, and more completions than that."""

_NUMBERS = ("parallelism", "completions", "backoffLimit", "backoffLimitPerIndex")


def check_job(spec: Any, field: str) -> Iterator[RefusedField]:
    """
    Check the numbers and the completion mode.

    Args:
        spec: As decoded from JSON; nothing else than an object has errors here.
        field: Path of the specification.
    """
    if not is_object(spec):
        return
    wrong = [
        error for name in _NUMBERS for error in check_number(spec.get(name), f"{field}.{name}")
    ]
    yield from wrong
    mode = spec.get("completionMode")
    yield from check_name(mode, f"{field}.completionMode", (NON_INDEXED, INDEXED))
    if wrong:
        return
    if mode == INDEXED:
        yield from _check_indexed(spec, field)
    elif spec.get("backoffLimitPerIndex") is not None and mode in (None, NON_INDEXED):
        limit: int = spec["backoffLimitPerIndex"]
        error = invalid(f"{field}.backoffLimitPerIndex", limit, "requires indexed completion mode")
        yield advise(error, f"write completionMode: {INDEXED}, or remove it")


def _check_indexed(spec: dict[str, Any], field: str) -> Iterator[RefusedField]:
    """Check the numbers of an Indexed Job, which are valid by themselves."""
    parallelism, completions = spec.get("parallelism"), spec.get("completions")
    if parallelism is None:  # both are 1 if both are omitted
        return
    if completions is None:
        error = required(f"{field}.completions", f"when completion mode is {INDEXED}")
        yield advise(error, f"write the number of indexes, such as {parallelism}")
    place = f"{field}.parallelism"
    if parallelism > MOST_INDEXED_PODS:
        problem = f"when completion mode is {INDEXED}"
        yield _limit(place, parallelism, MOST_INDEXED_PODS, problem)
    is_large = completions is not None and completions > MOST_INDEXED_PODS
    has_backoff = spec.get("backoffLimitPerIndex") is not None
    if is_large and has_backoff and parallelism > MOST_PODS_OF_MANY:
        problem = (
            f"when completions are above {MOST_INDEXED_PODS} and used with backoff limit per index"
        )
        yield _limit(place, parallelism, MOST_PODS_OF_MANY, problem)


def _limit(field: str, value: int, most: int, when: str) -> RefusedField:
    error = invalid(field, value, f"must be less than or equal to {most} {when}")
    return advise(error, f"write at most {most}")
