"""SpreadPolicyExceptions on the control plane: their definition as the chart installs it."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import yaml

from tests.controlplane.api import Json
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.spreadpolicies import CRD, VERSION

ALL = f"/apis/{VERSION}/spreadpolicyexceptions"


def path(namespace: str = "default") -> str:
    """The path of the exceptions of a namespace."""
    return f"/apis/{VERSION}/namespaces/{namespace}/spreadpolicyexceptions"


def definition() -> Json:
    """The CustomResourceDefinition that the chart installs."""
    _, made = yaml.safe_load_all(CRD.read_text())
    found: Json = made
    return found


def policy_exception(name: str, namespace: str = "default", **spec: Any) -> Json:
    """An exception from TSC110 unless the members say otherwise; None leaves a member out."""
    members = {"rules": ["TSC110"], "reason": "one zone by contract", **spec}
    return {
        "apiVersion": VERSION,
        "kind": "SpreadPolicyException",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {key: value for key, value in members.items() if value is not None},
    }


@contextmanager
def defined(plane: ControlPlane, made: Json | None = None) -> Generator[None]:
    """Install a definition as long as the context lasts; with it, its exceptions end."""
    plane.api.create(made or definition())
    try:
        until(lambda: plane.api.is_served(ALL), "exceptions to be served")
        yield
    finally:
        plane.api.delete(definition())
        until(lambda: plane.api.request("GET", ALL).status == 404, "exceptions to be gone")
