"""
RuntimeClasses, reduced to the nodes that support them: ``RuntimeClass``.

kube-apiserver adds the node labels and the tolerations of its class to every new pod, but not to
the template of a workload.

Source: k8s.io/api node/v1 types.go ``Scheduling``; kubernetes
plugin/pkg/admission/runtimeclass/admission.go ``setScheduling``.
"""

from collections.abc import Mapping

import msgspec

from webhook.policy.model import Labels
from webhook.policy.placement.nodes import Demands, Toleration


class RuntimeClass(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    A RuntimeClass.

    Attributes:
        node_selector: Labels of the nodes that support it.
        tolerations: Of the taints of these nodes.
    """

    name: str
    node_selector: Labels = {}
    tolerations: tuple[Toleration, ...] = ()

    @property
    def namespace(self) -> str:
        """The empty namespace: classes belong to the whole cluster."""
        return ""

    def add_to(self, demands: Demands) -> Demands:
        """Return what a pod of the class requires of a node, of which it does not exclude any."""
        own = demands.tolerations
        pairs = tuple(sorted({*demands.pairs, *self.node_selector.items()}))
        added = [one for one in self.tolerations if one not in (own or ())]
        return Demands(pairs, demands.terms, None if own is None else (*own, *added))

    def refuses(self, demands: Demands) -> bool:
        """Whether kube-apiserver refuses a pod, since its nodeSelector contradicts the class."""
        return bool(list_contradicted(self.node_selector, dict(demands.pairs)))


def list_contradicted(required: Mapping[str, str], own: Mapping[str, str]) -> list[str]:
    """
    List the keys for which the nodeSelector of a pod has another value than its class, sorted.

    Args:
        required: The node labels of the class.
        own: The nodeSelector of the pod.
    """
    return sorted(key for key, value in required.items() if own.get(key, value) != value)
