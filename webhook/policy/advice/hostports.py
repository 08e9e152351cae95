"""
Ports of the node that a pod asks for: two pods that ask for the same one never share a node.

So replicas of one template are a node apart, as by an anti-affinity. Zones are not kept apart.

Source: kube-scheduler util ``GetHostPorts``; k8s.io kubernetes pkg/apis/core/v1/defaults.go
``SetDefaults_PodSpec``.
"""

from collections.abc import Iterator

import msgspec

ALWAYS = "Always"  # restartPolicy of an init container that runs as long as the pod


class ContainerPort(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A port that a container listens on; ``host_port`` is that of the node, None or 0 for none."""

    container_port: int | None = None
    host_port: int | None = None


class PortContainer(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The parts of a container, or init container, that its node's ports depend on."""

    ports: tuple[ContainerPort, ...] | None = None
    restart_policy: str | None = None


class NetworkedSpec(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """
    The parts of a pod's specification that its node's ports depend on.

    Attributes:
        host_network: Whether every port of a container is one of the node.
    """

    containers: tuple[PortContainer, ...] | None = None
    init_containers: tuple[PortContainer, ...] | None = None
    host_network: bool | None = None


class NetworkedPod(msgspec.Struct, frozen=True):
    """A pod, or the template of one."""

    spec: NetworkedSpec | None = None


def requests_host_ports(pod: bytes | msgspec.Raw) -> bool:
    """
    Whether a pod, or a template, asks for a port of its node.

    Raises:
        msgspec.DecodeError: A part that is read has another shape than an API server would send.
    """
    spec = msgspec.json.decode(pod, type=NetworkedPod).spec
    return spec is not None and any(
        port.host_port or (spec.host_network and port.container_port)
        for container in _running(spec)
        for port in container.ports or ()
    )


def _running(spec: NetworkedSpec) -> Iterator[PortContainer]:
    """The containers that run as long as the pod."""
    yield from spec.containers or ()
    yield from (each for each in spec.init_containers or () if each.restart_policy == ALWAYS)
