"""
Pods of the API as values for filters: ``read_pod``.

Source: pkg/scheduler/util ``GetHostPorts``; kube-scheduler framework/types.go.
"""

from collections.abc import Iterable, Iterator
from functools import reduce

import msgspec

from webhook.cluster.scheduling.migration import migrate_disk
from webhook.cluster.scheduling.podobjects import (
    ApiPod,
    Container,
    DiskSource,
    FilterSpec,
    FullAffinity,
    UniqueMeta,
    VolumeObject,
)
from webhook.cluster.scheduling.quantities import parse_amounts
from webhook.cluster.scheduling.requests import pod_requests, to_resources
from webhook.policy.advice.podaffinity import PodAffinity, PodAffinityTerm
from webhook.policy.api.versions import Version
from webhook.policy.defaulting.inject import is_mirror
from webhook.policy.kinds import DAEMON_SET
from webhook.policy.placement.filters.filterpods import (
    AZURE_DISK,
    BLOCK_STORE,
    CINDER,
    CLAIM,
    EPHEMERAL,
    EVERY_ADDRESS,
    GCE_DISK,
    ISCSI,
    PORTWORX,
    RBD,
    AffinityTerm,
    FilterPod,
    HostPort,
    PodVolume,
)
from webhook.policy.placement.filters.resources import NO_RESOURCES
from webhook.policy.placement.nodeaffinity import NODE_NAME
from webhook.policy.selectors import IN


def read_pod(pod: ApiPod, version: Version, namespace: str = "") -> FilterPod:
    """
    Reduce a pod to what filters look at.

    Args:
        version: Of the scheduler.
        namespace: Of the workload; the pod's own takes precedence.
    """
    metadata, spec = pod.metadata or UniqueMeta(), pod.spec or FilterSpec()
    namespace = metadata.namespace or namespace
    affinity = spec.affinity or FullAffinity()
    is_bound = bool(spec.node_name)
    return FilterPod(
        namespace=namespace,
        labels=metadata.labels,
        demands=pod.demands,
        name=metadata.name,
        uid=metadata.uid or "",
        node_name=spec.node_name,
        required_names=_find_required_names(affinity),
        is_terminating=metadata.deletion_timestamp is not None,
        is_daemon=_is_daemon(pod, metadata),
        requests=pod_requests(pod, version if is_bound else None),
        overhead=to_resources(parse_amounts(spec.overhead)) if spec.overhead else NO_RESOURCES,
        ports=tuple(_list_ports(spec)),
        affinity=_read_terms(affinity.pod_affinity, namespace),
        anti_affinity=_read_terms(affinity.pod_anti_affinity, namespace),
        volumes=tuple(_list_volumes(spec.volumes or (), metadata, namespace)),
    )


def _is_daemon(pod: ApiPod, metadata: UniqueMeta) -> bool:
    """
    Whether a pod belongs to a DaemonSet, also one of a custom kind, or to its kubelet.

    Source: cluster-autoscaler utils/pod ``IsDaemonSetPod``, ``IsMirrorPod``.
    """
    controller = metadata.controller
    return is_mirror(pod) or (controller is not None and controller.kind == DAEMON_SET.kind)


def _find_required_names(affinity: FullAffinity) -> frozenset[str] | None:
    """
    Find the nodes that every term names; None if any term names none.

    Source: kube-scheduler plugins/nodeaffinity ``PreFilter``.
    """
    required = affinity.node_affinity and (
        affinity.node_affinity.required_during_scheduling_ignored_during_execution
    )
    terms = (required and required.node_selector_terms) or ()
    found = [
        [
            frozenset(field.values)
            for field in term.match_fields or ()
            if field.key == NODE_NAME and field.operator == IN
        ]
        for term in terms
    ]
    if not terms or not all(found):
        return None
    return frozenset[str]().union(
        *(reduce(lambda one, other: one & other, names) for names in found)
    )


def _list_ports(spec: FilterSpec) -> Iterator[HostPort]:
    """
    List the host ports of sidecars and containers.

    Source: pkg/scheduler/util ``GetHostPorts``; framework/types.go ``HostPortInfo``.
    """
    for container in _list_running(spec):
        for port in container.ports or ():
            if (port.host_port or 0) > 0:
                address, protocol = port.host_ip or EVERY_ADDRESS, port.protocol or "TCP"
                yield HostPort(address, protocol, port.host_port or 0)


def _list_running(spec: FilterSpec) -> Iterator[Container]:
    yield from (one for one in spec.init_containers or () if one.is_sidecar)
    yield from spec.containers or ()


def _read_terms(affinity: PodAffinity | None, namespace: str) -> tuple[AffinityTerm, ...]:
    if affinity is None:
        return ()
    terms = affinity.required_during_scheduling_ignored_during_execution or ()
    return tuple(_read_term(term, namespace) for term in terms)


def _read_term(term: PodAffinityTerm, namespace: str) -> AffinityTerm:
    """
    Resolve the namespaces of a term.

    Source: kube-scheduler framework/types.go ``getNamespacesFromPodAffinityTerm``.
    """
    own = () if term.namespaces or term.namespace_selector is not None else (namespace,)
    names = tuple(sorted({*(term.namespaces or ()), *own}))
    read = AffinityTerm(
        term.topology_key or "", term.label_selector, names, term.namespace_selector
    )
    return msgspec.structs.replace(read, identity=msgspec.json.encode(read))


def _list_volumes(
    volumes: Iterable[VolumeObject], pod: UniqueMeta, namespace: str
) -> Iterator[PodVolume]:
    for volume in volumes:
        if volume.persistent_volume_claim is not None:
            yield PodVolume(CLAIM, volume.persistent_volume_claim.claim_name or "", namespace)
        elif volume.ephemeral is not None:
            claim = f"{pod.name}-{volume.name or ''}"
            yield PodVolume(EPHEMERAL, claim, namespace, owner=pod.uid or "")
        for kind, disk, name in _list_disks(volume):
            read_only, monitors = disk.read_only or False, disk.monitors or ()
            yield PodVolume(
                kind,
                name,
                read_only=read_only,
                monitors=monitors,
                migrated=migrate_disk(kind, disk),
            )


def _list_disks(volume: VolumeObject) -> Iterator[tuple[str, DiskSource, str]]:
    if disk := volume.gce_persistent_disk:
        yield GCE_DISK, disk, disk.pd_name or ""
    if disk := volume.aws_elastic_block_store:
        yield BLOCK_STORE, disk, disk.volume_id or ""
    if disk := volume.azure_disk:
        yield AZURE_DISK, disk, disk.disk_uri or ""
    if disk := volume.cinder:
        yield CINDER, disk, disk.volume_id or ""
    if disk := volume.portworx_volume:
        yield PORTWORX, disk, disk.volume_id or ""
    if disk := volume.iscsi:
        yield ISCSI, disk, disk.iqn or ""
    if disk := volume.rbd:
        yield RBD, disk, f"{disk.pool or ''}/{disk.image or ''}"
