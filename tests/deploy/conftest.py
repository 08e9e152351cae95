"""What tests of several installations share."""

from collections.abc import Iterator

import pytest

from tests.controlplane.assets import Assets
from tests.controlplane.options import Options
from tests.controlplane.plane import ControlPlane
from tests.deploy.fixtures import Kustomize


@pytest.fixture(scope="module")
def plane(control_plane_assets: Assets, kustomize: Kustomize) -> Iterator[ControlPlane]:
    """A control plane without a scheduler, with the namespace, which warns as it enforces."""
    with ControlPlane(control_plane_assets, Options(scheduler=False)) as started:
        (namespace,) = kustomize("kustomize/namespace")
        labels = namespace["metadata"]["labels"]
        labels["pod-security.kubernetes.io/warn"] = labels["pod-security.kubernetes.io/enforce"]
        started.api.create(namespace)
        yield started
