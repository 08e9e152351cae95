"""
Edits of what a pod takes and avoids: requests, host ports, and the affinity to other pods.

Each is a change that the pod's author could make, with its sentence. ``find_excess`` finds by how
much the requests of a pod exceed what a node has free.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import ClassVar

from msgspec.structs import replace

from webhook.explain.keynames import KeyNames
from webhook.explain.scenario import PodEdit, Scenario
from webhook.policy.placement.filters.filterpods import EVERY_ADDRESS, FilterPod, HostPort
from webhook.policy.placement.filters.nodefilters import PORTS, RESOURCES
from webhook.policy.placement.filters.run import LAST

CPU = "cpu"

_BYTES = ("memory", "ephemeral-storage")
_MEMBERS = {CPU: "milli_cpu", "memory": "memory", "ephemeral-storage": "ephemeral_storage"}
_SUFFIXES = (("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))


class LowerRequest(PodEdit, frozen=True):
    """
    Lower the request of a pod for a resource.

    Attributes:
        before: The request of the whole pod: thousandths of a CPU, or whole units.
        after: The largest request that fits, in the same unit.
    """

    resource: str
    before: int
    after: int
    lifts: ClassVar[frozenset[str]] = frozenset({RESOURCES})

    def describe(self, names: KeyNames) -> str:
        """Describe the edit."""
        del names
        amounts = (format_amount(self.resource, amount) for amount in (self.before, self.after))
        change = f"{self.resource} from {' to '.join(amounts)}"
        return f"lower the request of the whole pod for {change}"

    def apply(self, scenario: Scenario) -> Scenario:
        """Apply the edit."""
        requests = scenario.pod.requests
        member = _MEMBERS.get(self.resource)
        if member is None:
            scalars = {**requests.scalars, self.resource: self.after}
            return scenario.change_pod(requests=replace(requests, scalars=scalars))
        return scenario.change_pod(requests=replace(requests, **{member: self.after}))


class HostPortEdit(PodEdit, frozen=True):
    """An edit after which a pod does not take a host port."""

    port: int
    protocol: str
    address: str = EVERY_ADDRESS
    lifts: ClassVar[frozenset[str]] = frozenset({PORTS.plugin})

    def name_port(self) -> str:
        """Name the port, as ``80/TCP``."""
        host = "" if self.address == EVERY_ADDRESS else f" of {self.address}"
        return f"{self.port}/{self.protocol}{host}"

    def apply(self, scenario: Scenario) -> Scenario:
        """Apply the edit."""
        dropped = (self.address, self.protocol, self.port)
        left = (
            one for one in scenario.pod.ports if (one.address, one.protocol, one.port) != dropped
        )
        return scenario.change_pod(ports=tuple(left))


class DropHostPort(HostPortEdit, frozen=True):
    """Take a host port out of the containers of a pod."""

    def describe(self, names: KeyNames) -> str:
        """Describe the edit."""
        del names
        return f"take host port {self.name_port()} out of the pod"


class ReplaceHostPort(HostPortEdit, frozen=True):
    """
    Use another port in a pod with hostNetwork, which takes each of its ports on the node.

    Source: kubernetes pkg/apis/core/v1 defaults.go ``defaultHostNetworkPorts``.
    """

    def describe(self, names: KeyNames) -> str:
        """Describe the edit."""
        del names
        return (
            f"use a free port in place of {self.name_port()}, which is a host port by hostNetwork"
        )


def free_port(taken: HostPort, *, host_network: bool) -> HostPortEdit:
    """Return the edit after which a pod does not take a port on its node."""
    edit = ReplaceHostPort if host_network else DropHostPort
    return edit(taken.port, taken.protocol, taken.address)


class AffinityKind(StrEnum):
    """The two fields of affinity to other pods, with the members of a ``FilterPod``."""

    AFFINITY = "podAffinity"
    ANTI_AFFINITY = "podAntiAffinity"


class DropPodAffinity(PodEdit, frozen=True):
    """Remove the required affinity, or anti-affinity, of a pod to other pods."""

    kind: AffinityKind
    lifts: ClassVar[frozenset[str]] = frozenset({LAST})

    def describe(self, names: KeyNames) -> str:
        """Describe the edit."""
        del names
        return f"take the required {self.kind} out of the pod"

    def apply(self, scenario: Scenario) -> Scenario:
        """Apply the edit."""
        if self.kind is AffinityKind.AFFINITY:
            return scenario.change_pod(affinity=())
        return scenario.change_pod(anti_affinity=())


def find_excess(scenario: Scenario, node: str) -> tuple[LowerRequest, ...]:
    """List the requests of a pod that exceed what a node has free, lowered to that."""
    room = scenario.cluster.allocatable.get(node)
    if room is None:
        return ()
    has = room.plus(scenario.cluster.usage(node).requests, -1).amounts
    return tuple(
        LowerRequest(resource, amount, max(has.get(resource, 0), 0))
        for resource, amount in scenario.pod.requests.amounts.items()
        if amount > max(has.get(resource, 0), 0)
    )


def leaves_some(edits: Iterable[LowerRequest], pod: FilterPod) -> bool:
    """
    Whether the lowered requests leave something to the containers of a pod.

    A pod that requests nothing is another one, and its overhead cannot be lowered.
    """
    overhead = pod.overhead.amounts
    return all(edit.after > overhead.get(edit.resource, 0) for edit in edits)


def measure_excess(edits: tuple[LowerRequest, ...]) -> float:
    """Measure by what part of themselves requests are lowered, as a sum; 0 for none."""
    return sum((edit.before - edit.after) / edit.before for edit in edits)


def format_amount(resource: str, amount: int) -> str:
    """Format an amount as a quantity, such as ``1500m``, ``2`` or ``512Mi``."""
    if resource == CPU:
        return f"{amount // 1000}" if amount % 1000 == 0 else f"{amount}m"
    if resource in _BYTES and amount:
        for suffix, size in _SUFFIXES:
            if amount % size == 0:
                return f"{amount // size}{suffix}"
    return f"{amount}"
