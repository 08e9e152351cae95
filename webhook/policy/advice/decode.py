"""
Decode the object of advice from JSON.

``decode_subject`` is the entry point. It reads fields that no other judgement needs (replicas,
affinity, tolerations, volume claims, host ports), so it is called only for objects that get advice.

Two pods that request the same host port never share a node. Replicas of a template with host ports
are therefore a node apart, as by an anti-affinity on hostname. Nothing keeps them in different
zones. Source: kube-scheduler util ``GetHostPorts``; k8s.io kubernetes
pkg/apis/core/v1/defaults.go ``SetDefaults_PodSpec``.
"""

from collections.abc import Callable
from typing import Any, TypeGuard

import msgspec

from webhook.policy.advice.subject import JOBS, Subject, SubjectPod
from webhook.policy.model import GroupKind, ObjectMeta
from webhook.policy.paths import TemplatePath, is_object

INT32 = range(2**31)  # values that the API allows for a number of pods


class _Outer(msgspec.Struct, frozen=True, gc=False):
    metadata: ObjectMeta | None = None


class TemplateHolder(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The object around a pod template: the spec of a workload, or that of a CronJob's Job."""

    replicas: Any = None  # Any: a custom kind may use the name for something else
    parallelism: Any = None
    completions: Any = None
    strategy: Any = None
    volume_claim_templates: Any = None


def decode_subject(
    obj: bytes | msgspec.Raw, kind: GroupKind, path: TemplatePath, namespace: str = ""
) -> Subject | None:
    """
    Decode a subject.

    Args:
        path: Path of the pod template in objects of this kind; empty for pods.
        namespace: Its namespace; empty to take it from the object.

    Returns:
        None if the object has no pod template.

    Raises:
        msgspec.DecodeError: The object is no JSON, or a decoded member has a type that no API
            server sends.
    """
    steps = [msgspec.Raw(obj)]
    for name in path:
        members = _decode_members(steps[-1]) or {}
        steps.append(members.get(name, _NULL))
    pod = msgspec.json.decode(steps[-1], type=SubjectPod | None)
    if pod is None:
        return None
    metadata = msgspec.json.decode(obj, type=_Outer).metadata or ObjectMeta()
    holder = msgspec.json.decode(steps[-2], type=TemplateHolder) if path else TemplateHolder()
    return Subject(
        kind=kind,
        path=path,
        metadata=metadata,
        namespace=namespace or metadata.namespace,
        pod=pod,
        replicas=_count_pods(kind, holder),
        claims=bool(holder.volume_claim_templates),
        recreates=is_object(holder.strategy) and "Recreate" in holder.strategy.values(),
        alone_on_node=bool(path) and requests_host_ports(steps[-1]),
    )


_NULL = msgspec.Raw(b"null")

_decode_members: Callable[[msgspec.Raw], dict[str, msgspec.Raw] | None]
_decode_members = msgspec.json.Decoder(dict[str, msgspec.Raw] | None).decode


def _count_pods(kind: GroupKind, holder: TemplateHolder) -> int | None:
    if kind in JOBS:
        parallel = holder.parallelism if _is_number(holder.parallelism) else 1
        return min(parallel, holder.completions) if _is_number(holder.completions) else parallel
    return holder.replicas if _is_number(holder.replicas) else None


def _is_number(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value in INT32


ALWAYS = "Always"  # restartPolicy of a sidecar, an init container that keeps running


class ContainerPort(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A port of a container; ``host_port`` is None or 0 if it needs no port of the node."""

    container_port: int | None = None
    host_port: int | None = None


class PortContainer(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The fields of a container or init container that decide on host ports."""

    ports: tuple[ContainerPort, ...] | None = None
    restart_policy: str | None = None


class NetworkedSpec(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """
    The fields of a pod's specification that decide on host ports.

    With ``host_network`` every container port is a host port.
    """

    containers: tuple[PortContainer, ...] | None = None
    init_containers: tuple[PortContainer, ...] | None = None
    host_network: bool | None = None


class NetworkedPod(msgspec.Struct, frozen=True):
    """A pod or pod template."""

    spec: NetworkedSpec | None = None


def requests_host_ports(pod: bytes | msgspec.Raw) -> bool:
    """
    Whether a pod or pod template requests a host port.

    Raises:
        msgspec.DecodeError: A decoded member has a type that no API server sends.
    """
    spec = msgspec.json.decode(pod, type=NetworkedPod).spec
    if spec is None:
        return False
    initial = spec.init_containers or ()
    sidecars = (container for container in initial if container.restart_policy == ALWAYS)
    return any(
        port.host_port or (spec.host_network and port.container_port)
        for container in (*(spec.containers or ()), *sidecars)
        for port in container.ports or ()
    )
