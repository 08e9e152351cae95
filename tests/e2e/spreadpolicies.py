"""SpreadPolicies on the control plane: their definition as the chart installs it, and objects."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.controlplane.api import Json
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until

VERSION = "evenspread.io/v1alpha1"
PATH = f"/apis/{VERSION}/spreadpolicies"
SOFT = {
    "maxSkew": 3,
    "topologyKey": "kubernetes.io/hostname",
    "whenUnsatisfiable": "ScheduleAnyway",
}

CRD = Path(__file__).parents[2] / "deploy" / "kustomize" / "base" / "crds.yaml"


def definition() -> Json:
    """The CustomResourceDefinition that the chart installs."""
    made: Json = next(yaml.safe_load_all(CRD.read_text()))
    return made


def spread_policy(name: str, **spec: Any) -> Json:
    """A SpreadPolicy, with one soft default unless the members say otherwise."""
    return {
        "apiVersion": VERSION,
        "kind": "SpreadPolicy",
        "metadata": {"name": name},
        "spec": {"defaultConstraints": [SOFT], **spec},
    }


@contextmanager
def defined(plane: ControlPlane, made: Json | None = None) -> Iterator[None]:
    """Install a definition as long as the context lasts; with it, its policies end."""
    crd = made or definition()
    plane.api.create(crd)
    try:
        until(lambda: plane.api.is_served(PATH), "SpreadPolicies to be served")
        yield
    finally:
        remove(plane)


def remove(plane: ControlPlane) -> None:
    """Remove the definition if it is there, and wait until the API server has forgotten it."""
    plane.api.delete(definition())
    until(lambda: plane.api.request("GET", PATH).status == 404, "SpreadPolicies to be gone")


def find_schema_problems(plane: ControlPlane, crd: Json) -> list[str]:
    """List what the API server finds wrong with an installed definition."""
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    stored = plane.api.call("GET", f"{path}/{crd['metadata']['name']}")
    status = {item["type"]: item["status"] for item in stored["status"]["conditions"]}
    expected = {"Established": "True", "NamesAccepted": "True", "NonStructuralSchema": None}
    return [name for name, value in expected.items() if status.get(name) != value]
