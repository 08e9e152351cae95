"""Containers without requests have those of the LimitRanges of their namespace."""

from typing import Any

import msgspec
import pytest

from webhook.cluster.scheduling.limitranges import (
    LimitRangeObject,
    apply_limit_ranges,
    lacks_requests,
)
from webhook.cluster.scheduling.podobjects import ApiPod

Json = dict[str, Any]


def limit_range(**members: Any) -> Json:
    return {"spec": {"limits": [{"type": "Container", **members}]}}


# LimitRanges, requests of the container, those that it has then
RANGES: dict[str, tuple[list[Json], Json | None, Json | None]] = {
    "a default request": ([limit_range(defaultRequest={"cpu": "2"})], None, {"cpu": "2"}),
    "a default limit": ([limit_range(default={"cpu": "2"})], {}, {"cpu": "2"}),
    "both": (
        [limit_range(default={"cpu": "2", "memory": "1Gi"}, defaultRequest={"cpu": "1"})], {},
        {"cpu": "1", "memory": "1Gi"},
    ),
    "bounds": ([limit_range(min={"cpu": "1"}, max={"cpu": "4"})], {}, {"cpu": "4"}),
    "a minimum": ([limit_range(min={"cpu": "1"})], {}, {"cpu": "1"}),
    "an own request": (
        [limit_range(defaultRequest={"cpu": "2", "memory": "1Gi"})], {"cpu": "1"},
        {"cpu": "1", "memory": "1Gi"},
    ),
    "limits of whole pods": ([limit_range(type="Pod", max={"cpu": "2"})], None, None),
    "the first of two": (
        [limit_range(defaultRequest={"cpu": "2"}), limit_range(defaultRequest={"cpu": "3"})], {},
        {"cpu": "2"},
    ),
    "none": ([], None, None),
    "an empty one": ([{}], None, None),
}  # fmt: skip


@pytest.mark.parametrize(("ranges", "own", "requests"), RANGES.values(), ids=RANGES.keys())
def test_requests(ranges: list[Json], own: Json | None, requests: Json | None) -> None:
    container = {"name": "c"} if own is None else {"name": "c", "resources": {"requests": own}}
    spec = {"containers": [container], "initContainers": [container]}
    pod = msgspec.convert({"spec": spec}, ApiPod)

    found = apply_limit_ranges(pod, msgspec.convert(ranges, list[LimitRangeObject])).spec

    assert found is not None
    for one in (*(found.containers or ()), *(found.init_containers or ())):
        assert (one.resources and one.resources.requests) == requests


def test_pods_without_containers_stay_as_they_are() -> None:
    ranges = msgspec.convert([limit_range(defaultRequest={"cpu": "2"})], list[LimitRangeObject])
    cases: tuple[Json, ...] = ({}, {"spec": {}})
    for written in cases:
        pod = msgspec.convert(written, ApiPod)

        assert apply_limit_ranges(pod, ranges) == pod
        assert not lacks_requests(pod)


def test_pods_that_lack_requests() -> None:
    full = {"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    cases = {"containers": ([full, {}], True), "initContainers": ([full], False)}
    for member, (containers, lacks) in cases.items():
        pod = msgspec.convert({"spec": {member: containers}}, ApiPod)

        assert lacks_requests(pod) is lacks


def test_a_malformed_quantity_is_a_type_error() -> None:
    with pytest.raises(msgspec.ValidationError, match="max"):
        msgspec.convert(limit_range(max={"cpu": "x"}), LimitRangeObject)
