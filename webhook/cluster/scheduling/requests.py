"""
The resources that a pod requests, and those that a node has.

``pod_requests`` is the entry point. Containers run together; init containers run one after the
other before them, beside the sidecars that began earlier. A pod needs the largest of these sums, or
what it requests as a whole, and its overhead.

Source: component-helpers resource/helpers.go ``PodRequests``; pkg/scheduler/framework/types.go
``Resource``.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import TypeAlias

from webhook.cluster.scheduling.podobjects import (
    ApiPod,
    ApiPodStatus,
    Container,
    FilterSpec,
    ResourceRequirements,
    ResourceStatus,
)
from webhook.cluster.scheduling.quantities import (
    MILLI,
    Amounts,
    largest_amounts,
    parse_amounts,
    round_up,
    sum_amounts,
)
from webhook.policy.api.labels import key_problems
from webhook.policy.api.versions import Version
from webhook.policy.placement.filters.resources import Resources

CPU, MEMORY, STORAGE, PODS = "cpu", "memory", "ephemeral-storage", "pods"

_HUGE_PAGES = "hugepages-"
_NATIVE = "kubernetes.io/"
_QUOTA_PREFIX = "requests."
_CACHED_NAMES = 1024  # resource names; a cluster has some dozens

RESIZES_AS_WHOLE = Version(1, 37)
"""The first version that compares the sums of a resizing pod, and not each container."""


def to_resources(amounts: Mapping[str, int]) -> Resources:
    """Round amounts up to the units of the scheduler, which ignores resources of other names."""
    return Resources(
        round_up(amounts.get(CPU, 0), MILLI),
        round_up(amounts.get(MEMORY, 0)),
        round_up(amounts.get(STORAGE, 0)),
        round_up(amounts.get(PODS, 0)),
        {name: round_up(amount) for name, amount in amounts.items() if is_scalar(name)},
    )


@lru_cache(_CACHED_NAMES)
def is_scalar(name: str) -> bool:
    """
    Whether the scheduler counts a resource besides CPU, memory and ephemeral storage.

    Source: pkg/scheduler/util ``IsScalarResourceName``.
    """
    return (
        is_extended(name)
        or name.startswith((_HUGE_PAGES, "attachable-volumes-"))
        or (_NATIVE in name)
    )


def is_extended(name: str) -> bool:
    """
    Whether a resource is an extended one, such as ``example.com/gpu``.

    Source: pkg/apis/core/v1/helper ``IsExtendedResourceName``.
    """
    is_native = "/" not in name or _NATIVE in name or name.startswith(_QUOTA_PREFIX)
    return not is_native and not key_problems(_QUOTA_PREFIX + name)


def pod_requests(pod: ApiPod, version: Version | None = None) -> Resources:
    """
    Calculate what a pod requests.

    Args:
        version: Of the scheduler, for a pod that has a node: the resources in its status count,
            too. None for a pod to place, whose status the scheduler does not read.
    """
    spec, status = pod.spec or FilterSpec(), pod.status
    if version is None or status is None:
        amounts = _sum_containers(spec, _written, _written)
    elif version < RESIZES_AS_WHOLE:
        amounts = _sum_containers(spec, _resizing(status), _written)
    else:
        amounts = _sum_resizing(spec, status)
    whole = parse_amounts(spec.resources.requests if spec.resources else None)
    if any(map(is_of_pod, whole)):
        resized = _resize_pod(whole, status) if version is not None and status else whole
        names = whole if version is None or version < RESIZES_AS_WHOLE else resized
        amounts |= {name: resized.get(name, 0) for name in names if is_of_pod(name)}
    overhead = parse_amounts(spec.overhead)
    return to_resources(sum_amounts(amounts, overhead) if overhead else amounts)


_RequestsOf: TypeAlias = Callable[[Container], Amounts]


def _sum_containers(spec: FilterSpec, running: _RequestsOf, ending: _RequestsOf) -> Amounts:
    """
    Calculate the requests of all containers.

    Args:
        running: Returns the requests of a container or a sidecar.
        ending: Returns those of an init container that ends.

    Source: helpers.go ``AggregateContainerRequests``.
    """
    total = sum_amounts(*map(running, spec.containers or ()))
    if not spec.init_containers:
        return total
    sidecars, largest = Amounts(), Amounts()
    for container in spec.init_containers:
        requests = running(container) if container.is_sidecar else ending(container)
        together = sum_amounts(requests, sidecars)
        if container.is_sidecar:
            total, sidecars = sum_amounts(total, requests), together
        largest = largest_amounts(largest, together)
    return largest_amounts(total, largest)


def _written(container: Container) -> Amounts:
    return _requests(container.resources)


def _requests(resources: ResourceRequirements | None) -> Amounts:
    return parse_amounts(resources.requests if resources else None)


def _resizing(status: ApiPodStatus) -> _RequestsOf:
    """Return the requests of a container before 1.37: the largest of spec and status."""
    known = _statuses_by_name(status)

    def requests_of(container: Container) -> Amounts:
        found = known.get(container.name or "")
        if found is None or found.resources is None:
            return _written(container)
        actual = (_requests(found.resources), parse_amounts(found.allocated_resources))
        return largest_amounts(*_unless_infeasible(_written(container), status), *actual)

    return requests_of


def _sum_resizing(spec: FilterSpec, status: ApiPodStatus) -> Amounts:
    """
    Calculate the requests of all containers since 1.37: the largest of three sums.

    Source: helpers.go of 1.37 ``AggregateContainerRequests``.
    """
    known, resources = _statuses_by_name(status), status.resources
    written = _unless_infeasible(_sum_containers(spec, _written, _written), status)
    if status.allocated_resources is not None and resources and resources.requests is not None:
        allocated_sum = parse_amounts(status.allocated_resources)
        return largest_amounts(*written, allocated_sum, parse_amounts(resources.requests))

    def allocated(container: Container) -> Amounts:
        found = known.get(container.name or "")
        if found is not None and found.allocated_resources is not None:
            return parse_amounts(found.allocated_resources)
        return {} if _is_infeasible(status) else _written(container)

    def actuated(container: Container) -> Amounts:
        found = known.get(container.name or "")
        if found is not None and found.resources and found.resources.requests is not None:
            return parse_amounts(found.resources.requests)
        return allocated(container)

    sums = (_sum_containers(spec, one, one) for one in (allocated, actuated))
    return largest_amounts(*written, *sums)


def _resize_pod(whole: Amounts, status: ApiPodStatus) -> Amounts:
    """Return the requests of a pod as a whole: the largest of spec and status."""
    if status.resources is None:
        return whole
    actual = (_requests(status.resources), parse_amounts(status.allocated_resources))
    return largest_amounts(*_unless_infeasible(whole, status), *actual)


def _unless_infeasible(written: Amounts, status: ApiPodStatus) -> Iterable[Amounts]:
    """Return the requests of the spec, unless the node cannot resize the pod to them."""
    return () if _is_infeasible(status) else (written,)


def _is_infeasible(status: ApiPodStatus) -> bool:
    pending = (one for one in status.conditions or () if one.type == "PodResizePending")
    first = next(pending, None)
    return first is not None and first.reason == "Infeasible"


def _statuses_by_name(status: ApiPodStatus) -> dict[str, ResourceStatus]:
    listed = (*(status.container_statuses or ()), *(status.init_container_statuses or ()))
    return {found.name or "": found for found in listed}


def is_of_pod(name: str) -> bool:
    """Whether a resource can be requested for a pod as a whole."""
    return name in (CPU, MEMORY) or name.startswith(_HUGE_PAGES)
