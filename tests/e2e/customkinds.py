"""Custom kinds, as far as an API server goes."""

from tests.controlplane.api import Json
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until


def definition(group: str, kind: str, plural: str) -> Json:
    """A custom kind whose objects may look like anything."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1alpha1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": {"kind": kind, "plural": plural},
            "scope": "Namespaced",
            "versions": [version],
        },
    }


def define(plane: ControlPlane, made: Json, version: str = "v1alpha1") -> None:
    """Create a custom kind, and wait until it is served."""
    plane.api.create(made)
    names = made["spec"]["names"]
    path = f"/apis/{made['spec']['group']}/{version}/{names['plural']}"
    until(lambda: plane.api.is_served(path), f"{names['kind']} to be served")
