"""
kube-apiserver's warnings about constraint lists that it accepts.

``list_warnings`` is the entry point; the titles and fixes are in ``policy.catalogue``.

Source: kubernetes pkg/api/pod/warnings.go, pkg/api/node/util.go ``deprecatedNodeLabels``.
"""

from dataclasses import dataclass

from webhook.policy.model import Constraint


@dataclass(frozen=True)
class ApiWarning:
    """The warning TSC020 or TSC021 on an entry; its text begins with the path of the field."""

    rule: str
    entry: int
    text: str


DEPRECATED_KEYS = {
    "failure-domain.beta.kubernetes.io/zone": ("v1.17", "topology.kubernetes.io/zone"),
    "failure-domain.beta.kubernetes.io/region": ("v1.17", "topology.kubernetes.io/region"),
    "beta.kubernetes.io/arch": ("v1.14", "kubernetes.io/arch"),
    "beta.kubernetes.io/os": ("v1.14", "kubernetes.io/os"),
    "beta.kubernetes.io/instance-type": ("v1.17", "node.kubernetes.io/instance-type"),
}
"""Deprecated node label -> the version that deprecated it, and its successor."""


def list_warnings(constraints: tuple[Constraint, ...], path: str) -> list[ApiWarning]:
    """List the warnings of the API server, in the order of the constraints."""
    warnings: list[ApiWarning] = []
    for i, constraint in enumerate(constraints):
        key = constraint.topology_key
        if key in DEPRECATED_KEYS:
            since, successor = DEPRECATED_KEYS[key]
            message = f'{key} is deprecated since {since}; use "{successor}" instead'
            warnings.append(ApiWarning("TSC020", i, f"{path}[{i}].topologyKey: {message}"))
        if constraint.label_selector is None:
            message = "a null labelSelector results in matching no pod"
            warnings.append(ApiWarning("TSC021", i, f"{path}[{i}].labelSelector: {message}"))
    return warnings
