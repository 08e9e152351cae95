"""
What kube-apiserver warns about in a constraint list that it takes.

Source: kubernetes pkg/api/pod/warnings.go, pkg/api/node/util.go ``deprecatedNodeLabels``.
"""

from typing import NamedTuple

from webhook.policy.model import Constraint


class ApiWarning(NamedTuple):
    """
    One warning.

    Attributes:
        rule: TSC020 or TSC021.
        entry: The index of the constraint it is about.
        text: What the API server says, with the field's path.
    """

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
"""Deprecated node label -> since when, and its successor."""


def list_warnings(constraints: tuple[Constraint, ...], path: str) -> list[ApiWarning]:
    """
    What the API server would warn about, constraint by constraint.

    Args:
        constraints: The list as it is stored.
        path: Where it stands, as ``spec.topologySpreadConstraints``.
    """
    cautions: list[ApiWarning] = []
    for i, constraint in enumerate(constraints):
        key = constraint.topology_key
        if key in DEPRECATED_KEYS:
            since, successor = DEPRECATED_KEYS[key]
            said = f'{key} is deprecated since {since}; use "{successor}" instead'
            cautions.append(ApiWarning("TSC020", i, f"{path}[{i}].topologyKey: {said}"))
        if constraint.label_selector is None:
            said = "a null labelSelector results in matching no pod"
            cautions.append(ApiWarning("TSC021", i, f"{path}[{i}].labelSelector: {said}"))
    return cautions
