"""
What kube-apiserver fills into a new pod before the scheduler sees it: ``fill_in_defaults``.

Pod templates and manifests lack it, pods that an API server has stored have it. What admission
plugins add is the subject of ``runtimeclasses`` and ``limitranges``.

Source: pkg/apis/core/v1/defaults.go ``SetDefaults_Pod``; pkg/registry/core/pod/strategy.go
``mutatePodAffinity``.
"""

from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from webhook.cluster.scheduling.podobjects import (
    ApiPod,
    Container,
    FullAffinityTerm,
    FullPodAffinity,
    PortObject,
    ResourceRequirements,
)
from webhook.cluster.scheduling.requests import is_of_pod
from webhook.policy.model import LabelSelectorRequirement
from webhook.policy.selectors import IN, NOT_IN


def fill_in_defaults(pod: ApiPod) -> ApiPod:
    """Return a new pod as kube-apiserver stores it, as far as filters read it."""
    spec = pod.spec
    if spec is None:
        return pod
    network = spec.host_network or False
    containers = _fill_in_containers(spec.containers, host_network=network)
    init_containers = _fill_in_containers(spec.init_containers, host_network=network)
    affinity = spec.affinity and replace(
        spec.affinity,
        pod_affinity=_merge_keys(spec.affinity.pod_affinity, pod.labels),
        pod_anti_affinity=_merge_keys(spec.affinity.pod_anti_affinity, pod.labels),
    )
    filled = replace(
        spec,
        affinity=affinity,
        containers=containers,
        init_containers=init_containers,
        resources=_fill_in_whole(spec.resources, (*containers, *init_containers)),
    )
    return replace(pod, spec=filled)


def _fill_in_containers(
    containers: Iterable[Container] | None, *, host_network: bool
) -> tuple[Container, ...]:
    return tuple(
        replace(
            container,
            resources=_request_limits(container.resources),
            ports=tuple(map(_take_port, container.ports or ()))
            if host_network
            else container.ports,
        )
        for container in containers or ()
    )


def _request_limits(resources: ResourceRequirements | None) -> ResourceRequirements | None:
    if resources is None or not resources.limits:
        return resources
    return replace(resources, requests={**resources.limits, **(resources.requests or {})})


def _take_port(port: PortObject) -> PortObject:
    """Return a port in the network of the host."""
    return replace(port, host_port=port.host_port or port.container_port)


def _fill_in_whole(
    resources: ResourceRequirements | None, containers: Iterable[Container]
) -> ResourceRequirements | None:
    """
    Request the limits of the pod as a whole where nothing is requested.

    Source: defaults.go ``defaultPodRequests``.
    """
    if resources is None or not resources.limits:
        return resources
    requested = {
        name for one in containers if one.resources for name in one.resources.requests or ()
    }
    limits = {
        name: limit
        for name, limit in resources.limits.items()
        if is_of_pod(name) and name not in requested
    }
    return replace(resources, requests={**limits, **(resources.requests or {})})


def _merge_keys(
    affinity: FullPodAffinity | None, labels: Mapping[str, str]
) -> FullPodAffinity | None:
    terms = affinity and affinity.required_during_scheduling_ignored_during_execution
    if affinity is None or not terms:
        return affinity
    merged = tuple(_merge_term(term, labels) for term in terms)
    return replace(affinity, required_during_scheduling_ignored_during_execution=merged)


def _merge_term(term: FullAffinityTerm, labels: Mapping[str, str]) -> FullAffinityTerm:
    """Source: strategy.go ``applyMatchLabelKeysAndMismatchLabelKeys``."""
    selector = term.label_selector
    if selector is None:
        return term
    added = (
        *_list_expressions(term.match_label_keys, IN, labels),
        *_list_expressions(term.mismatch_label_keys, NOT_IN, labels),
    )
    expressions = (*selector.match_expressions, *added)
    return replace(term, label_selector=replace(selector, match_expressions=expressions))


def _list_expressions(
    keys: Iterable[str] | None, operator: str, labels: Mapping[str, str]
) -> Iterator[LabelSelectorRequirement]:
    for key in keys or ():
        if key in labels:
            yield LabelSelectorRequirement(key=key, operator=operator, values=(labels[key],))
