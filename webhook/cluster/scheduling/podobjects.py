"""
The fields of pods that filters read, as in the API; ``ApiPod`` is the entry point.

For every field None is the same as absent. ``pods`` turns these objects into values.

Source: k8s.io/api core/v1 types.go.
"""

import msgspec

from webhook.cluster.scheduling.quantities import Quantities, check_quantities
from webhook.policy.advice.podaffinity import PodAffinity, PodAffinityTerm
from webhook.policy.model import Items, ObjectMeta, OwnerReference
from webhook.policy.placement.nodeaffinity import Affinity, Preference
from webhook.policy.placement.nodes import SchedulingPod, SchedulingSpec

ALWAYS = "Always"  # the restartPolicy of an init container that is a sidecar


class UniqueOwner(OwnerReference, frozen=True, rename="camel", gc=False):
    """A reference to an owner, with its uid."""

    uid: str | None = None


class UniqueMeta(ObjectMeta, frozen=True, rename="camel", gc=False):
    """The metadata of an object that exists."""

    uid: str | None = None
    deletion_timestamp: str | None = None
    owner_references: Items[UniqueOwner] = ()


class ResourceRequirements(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Requested resources, and the limits that kube-apiserver makes requests of a new pod."""

    requests: Quantities | None = None
    limits: Quantities | None = None

    def __post_init__(self) -> None:
        """Refuse malformed quantities."""
        check_quantities(self.requests, "requests")
        check_quantities(self.limits, "limits")


class PortObject(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A port of a container; without a host port it takes nothing of the node."""

    container_port: int | None = None
    host_port: int | None = None
    host_ip: str | None = msgspec.field(default=None, name="hostIP")
    protocol: str | None = None


class Container(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A container or an init container."""

    name: str | None = None
    resources: ResourceRequirements | None = None
    ports: tuple[PortObject, ...] | None = None
    restart_policy: str | None = None

    @property
    def is_sidecar(self) -> bool:
        """Whether an init container runs as long as the pod."""
        return self.restart_policy == ALWAYS


class ResourceStatus(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The resources of a running container or pod, which differ from the spec while it resizes."""

    name: str | None = None
    resources: ResourceRequirements | None = None
    allocated_resources: Quantities | None = None

    def __post_init__(self) -> None:
        """Refuse malformed quantities."""
        check_quantities(self.allocated_resources, "allocatedResources")


class _ResizeCondition(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A condition of a pod."""

    type: str | None = None
    status: str | None = None
    reason: str | None = None


class ApiPodStatus(ResourceStatus, frozen=True, rename="camel", gc=False):
    """The status of a pod."""

    phase: str | None = None
    nominated_node_name: str | None = None
    conditions: tuple[_ResizeCondition, ...] | None = None
    container_statuses: tuple[ResourceStatus, ...] | None = None
    init_container_statuses: tuple[ResourceStatus, ...] | None = None


class FullAffinityTerm(PodAffinityTerm, frozen=True, rename="camel", gc=False):
    """A term with the keys that kube-apiserver merges into the selector of a new pod."""

    match_label_keys: tuple[str, ...] | None = None


class FullPodAffinity(PodAffinity, frozen=True, rename="camel", gc=False):
    """A pod affinity or an anti-affinity, with the part that excludes nodes."""

    required_during_scheduling_ignored_during_execution: tuple[FullAffinityTerm, ...] | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[Preference, ...] | None = None


class FullAffinity(Affinity, frozen=True, rename="camel", gc=False):
    """All of a pod's affinity that excludes nodes."""

    pod_affinity: FullPodAffinity | None = None
    pod_anti_affinity: FullPodAffinity | None = None

    @property
    def has_preferences(self) -> bool:
        """Whether any term only ranks nodes."""
        parts = (self.node_affinity, self.pod_affinity, self.pod_anti_affinity)
        return any(
            part.preferred_during_scheduling_ignored_during_execution for part in parts if part
        )


class _ClaimSource(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A volume that is a PersistentVolumeClaim."""

    claim_name: str | None = None


class _ClaimTemplate(msgspec.Struct, frozen=True, gc=False):
    """A volume whose PersistentVolumeClaim is created for the pod; nothing of it is read."""


class DiskSource(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A disk in a pod's volume; each kind of disk has some of these fields."""

    pd_name: str | None = None
    volume_id: str | None = msgspec.field(default=None, name="volumeID")
    disk_uri: str | None = msgspec.field(default=None, name="diskURI")
    kind: str | None = None
    iqn: str | None = None
    monitors: tuple[str, ...] | None = None
    pool: str | None = None
    image: str | None = None
    read_only: bool | None = None


class VolumeObject(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A volume of a pod, as far as filters know its kind."""

    name: str | None = None
    persistent_volume_claim: _ClaimSource | None = None
    ephemeral: _ClaimTemplate | None = None
    gce_persistent_disk: DiskSource | None = None
    aws_elastic_block_store: DiskSource | None = None
    azure_disk: DiskSource | None = None
    cinder: DiskSource | None = None
    portworx_volume: DiskSource | None = None
    iscsi: DiskSource | None = None
    rbd: DiskSource | None = None


class FilterSpec(SchedulingSpec, frozen=True, rename="camel", gc=False):
    """The specification of a pod."""

    affinity: FullAffinity | None = None
    host_network: bool | None = None
    priority: int | None = None
    priority_class_name: str | None = None
    containers: tuple[Container, ...] | None = None
    init_containers: tuple[Container, ...] | None = None
    overhead: Quantities | None = None
    runtime_class_name: str | None = None
    resources: ResourceRequirements | None = None
    volumes: tuple[VolumeObject, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse malformed quantities."""
        SchedulingSpec.__post_init__(self)
        check_quantities(self.overhead, "overhead")


class ApiPod(SchedulingPod, frozen=True, rename="camel", gc=False):
    """A pod, pending or bound, or a pod template."""

    metadata: UniqueMeta | None = None
    spec: FilterSpec | None = None
    status: ApiPodStatus | None = None
