"""
Host ports of a pod: two pods that request the same host port never share a node.

``requests_host_ports`` is the entry point. Replicas of a template with host ports are therefore a
node apart, as by an anti-affinity on hostname. Nothing keeps them in different zones.

Source: kube-scheduler util ``GetHostPorts``; k8s.io kubernetes pkg/apis/core/v1/defaults.go
``SetDefaults_PodSpec``.
"""

import msgspec

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
