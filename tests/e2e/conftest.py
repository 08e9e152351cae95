"""One server beside the control plane of the session, both hooks registered, and a custom kind."""

from collections.abc import Iterator

import pytest

from tests.controlplane.plane import ControlPlane
from tests.e2e.customkinds import define, definition
from tests.e2e.replica import CONFIG, MARK, Registered, Replica, by_url
from tests.e2e.standalone import PATIENT, Standalone


@pytest.fixture(scope="session")
def rollouts(control_plane: ControlPlane) -> Iterator[None]:
    """Argo Rollouts, as far as the API server goes."""
    made = definition("argoproj.io", "Rollout", "rollouts")
    define(control_plane, made)
    yield
    control_plane.api.delete(made)


@pytest.fixture(scope="session")
def replica(
    control_plane: ControlPlane, rollouts: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Replica]:
    """A server with CONFIG, which both hooks call for namespaces that carry MARK."""
    folder = tmp_path_factory.mktemp("replica")
    with Replica(folder, control_plane.apiserver.kubeconfig, CONFIG) as started:
        started.wait()
        with Registered(control_plane, by_url(started)):
            yield started


@pytest.fixture
def hooked(control_plane: ControlPlane, replica: Replica) -> str:
    """A new namespace that the webhooks are called for."""
    return control_plane.create_namespace(MARK)


@pytest.fixture(scope="session")
def shared(control_plane: ControlPlane, replica: Replica) -> str:
    """A namespace that the webhooks are called for, in which nothing is left behind."""
    return control_plane.create_namespace(MARK)


@pytest.fixture(scope="session")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    """A server without a cluster, for clients that misbehave."""
    with Standalone(tmp_path_factory.mktemp("standalone"), {}, **PATIENT).started() as server:
        yield server
