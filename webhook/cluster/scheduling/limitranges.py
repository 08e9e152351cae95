"""
Requests that LimitRanges give to the containers of a new pod: ``apply_limit_ranges``.

Limits of LimitRanges are no concern of placement. What an API server fills into a LimitRange is
filled in here too, since files may lack it.

Source: plugin/pkg/admission/limitranger/admission.go ``mergePodResourceRequirements``;
pkg/apis/core/v1/defaults.go ``SetDefaults_LimitRangeItem``.
"""

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from webhook.cluster import wire
from webhook.cluster.scheduling.podobjects import ApiPod, Container, ResourceRequirements
from webhook.cluster.scheduling.quantities import Quantities, check_quantities

OF_CONTAINERS = "Container"  # core/v1 ``LimitTypeContainer``
USUAL = frozenset({"cpu", "memory"})


class _LimitItem(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Limits of the objects of a type."""

    type: str | None = None
    default: Quantities | None = None
    default_request: Quantities | None = None
    max: Quantities | None = None
    min: Quantities | None = None

    def __post_init__(self) -> None:
        """Refuse malformed quantities."""
        for name in ("default", "default_request", "max", "min"):
            check_quantities(getattr(self, name), name)

    @property
    def requests(self) -> Quantities:
        """The requests of a container that has none."""
        sources = (self.min, self.max, self.default, self.default_request)
        return {name: value for one in sources for name, value in (one or {}).items()}


class _LimitRangeSpec(msgspec.Struct, frozen=True, gc=False):
    """The specification of a LimitRange."""

    limits: tuple[_LimitItem, ...] | None = None


class LimitRangeObject(wire.NamedObject, frozen=True, gc=False):
    """A LimitRange, v1."""

    spec: _LimitRangeSpec | None = None

    @property
    def requests(self) -> Quantities:
        """The requests of a container that has none; a later item precedes."""
        items = (self.spec and self.spec.limits) or ()
        kept = (one for one in items if one.type == OF_CONTAINERS)
        return {name: value for one in kept for name, value in one.requests.items()}


def apply_limit_ranges(pod: ApiPod, ranges: Iterable[LimitRangeObject]) -> ApiPod:
    """
    Return a new pod with the requests that its containers lack.

    Args:
        pod: With the defaults of kube-apiserver, so that limits are requests.
        ranges: Those of its namespace; the first that has a request for a resource gives it.
    """
    requests: Quantities = {}
    for one in ranges:
        requests = {**one.requests, **requests}
    if pod.spec is None or not requests:
        return pod
    containers, inits = pod.spec.containers, pod.spec.init_containers
    changed = replace(
        pod.spec,
        containers=containers and tuple(_give(one, requests) for one in containers),
        init_containers=inits and tuple(_give(one, requests) for one in inits),
    )
    return replace(pod, spec=changed)


def lacks_requests(pod: ApiPod) -> bool:
    """Whether a container of a pod has no request for CPU or memory."""
    spec = pod.spec
    containers = (*(spec.containers or ()), *(spec.init_containers or ())) if spec else ()
    return any(not USUAL.issubset(_requests_of(one)) for one in containers)


def _give(container: Container, requests: Quantities) -> Container:
    resources = container.resources or ResourceRequirements()
    given = replace(resources, requests={**requests, **_requests_of(container)})
    return replace(container, resources=given)


def _requests_of(container: Container) -> Quantities:
    return (container.resources and container.resources.requests) or {}
