"""
Decode RuntimeClasses (``decode_runtime_class``), and apply one to a pod (``apply_runtime_class``).

Source: plugin/pkg/admission/runtimeclass/admission.go ``Admit``.
"""

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from webhook.cluster import wire
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.cluster.scheduling.quantities import Quantities, check_quantities
from webhook.policy.model import Labels, replace_null_labels
from webhook.policy.placement.nodes import Toleration
from webhook.policy.placement.runtimeclasses import RuntimeClass, list_contradicted


class _Overhead(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """What running a pod takes besides its containers."""

    pod_fixed: Quantities | None = None

    def __post_init__(self) -> None:
        """Refuse malformed quantities."""
        check_quantities(self.pod_fixed, "podFixed")


class _ClassScheduling(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The nodes that support the class."""

    node_selector: Labels | None = None
    tolerations: tuple[Toleration, ...] | None = None

    def __post_init__(self) -> None:
        """Turn null values of labels into empty ones."""
        if self.node_selector:
            replace_null_labels(self.node_selector)


class RuntimeClassObject(wire.NamedObject, frozen=True, gc=False):
    """A RuntimeClass, node.k8s.io/v1."""

    overhead: _Overhead | None = None
    scheduling: _ClassScheduling | None = None


_decode = msgspec.json.Decoder(RuntimeClassObject).decode


def decode_runtime_class(data: bytes | msgspec.Raw) -> RuntimeClass:
    """
    Decode a RuntimeClass, without its overhead.

    Raises:
        msgspec.DecodeError: A value has the wrong type.
    """
    found = _decode(data)
    tolerations = (found.scheduling and found.scheduling.tolerations) or ()
    return RuntimeClass(
        name=found.name, node_selector=node_labels_of(found), tolerations=tolerations
    )


def node_labels_of(found: RuntimeClassObject) -> Labels:
    """Return the labels of the nodes that support a class."""
    return (found.scheduling and found.scheduling.node_selector) or {}


def apply_runtime_class(pod: ApiPod, found: RuntimeClassObject) -> ApiPod:
    """
    Return a new pod with the overhead, node labels and tolerations of its class.

    A label of the pod takes precedence; see ``find_conflicts``.
    """
    if pod.spec is None:
        return pod
    spec, scheduling = pod.spec, found.scheduling or _ClassScheduling()
    overhead = found.overhead and found.overhead.pod_fixed
    own = spec.tolerations or ()
    added = tuple(one for one in scheduling.tolerations or () if one not in own)
    changed = replace(
        spec,
        node_selector={**node_labels_of(found), **(spec.node_selector or {})},
        tolerations=(*own, *added),
        overhead=spec.overhead or overhead,
    )
    return replace(pod, spec=changed)


def find_conflicts(pod: ApiPod, found: RuntimeClassObject) -> Iterator[str]:
    """Yield what contradicts the class in a nodeSelector: kube-apiserver refuses the pod."""
    own, required = (pod.spec and pod.spec.node_selector) or {}, node_labels_of(found)
    for key in list_contradicted(required, own):
        yield f"{key} is {own[key]}, but RuntimeClass {found.name} requires {required[key]}"
