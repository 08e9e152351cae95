"""Called again after another webhook changed the labels, it mends its own work and no other."""

from collections.abc import Iterator

import pytest

from tests.controlplane.api import Json
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.objects import constraints, service, workload
from tests.e2e.replica import Registered, Replica
from tests.e2e.rival import rival

ANNOTATION = "evenspread.io/defaults"
WANTS = "evenspread.test/meddled"
"""Label of the pods that are changed; its value is the label ``app`` that they shall have."""

OWN = {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "ScheduleAnyway"}


@pytest.fixture
def services(control_plane: ControlPlane, replica: Replica, hooked: str) -> str:
    """A namespace with a Service for each of two applications."""
    before = replica.metric("cache_objects", kind="Service")
    for app in ("first", "second"):
        control_plane.api.create(service(app, hooked, {"app": app}))
    until(
        lambda: replica.metric("cache_objects", kind="Service") == before + 2,
        "the Services to be known",
    )
    return hooked


@pytest.fixture
def meddler(control_plane: ControlPlane) -> Iterator[None]:
    wanted = {"matchExpressions": [{"key": WANTS, "operator": "Exists"}]}
    with (
        rival(relabelled, objectSelector=wanted) as configuration,
        Registered(control_plane, [configuration]),
    ):
        yield


def relabelled(pod: Json) -> list[Json]:
    """Give a pod the label that it wants."""
    wanted = pod["metadata"]["labels"][WANTS]
    return [{"op": "add", "path": "/metadata/labels/app", "value": wanted}]


def selectors(pod: Json) -> list[Json]:
    return [each["labelSelector"] for each in constraints(pod)]


@pytest.mark.parametrize("before", ["first", "unserved"])
def test_ours_is_recomputed(
    control_plane: ControlPlane, replica: Replica, services: str, meddler: None, before: str
) -> None:
    calls = replica.metric("admission_requests_total", hook="mutate", kind="Pod")
    pod = workload("Pod", "web", services, {"app": before, WANTS: "second"})
    pod["metadata"]["annotations"] = {"theirs": "kept"}

    stored = control_plane.api.create(pod)

    assert replica.metric("admission_requests_total", hook="mutate", kind="Pod") == calls + 2
    assert selectors(stored) == [{"matchLabels": {"app": "second"}}] * 2
    assert stored["metadata"]["annotations"]["theirs"] == "kept"
    assert '"selectorFrom":["Service/second"]' in stored["metadata"]["annotations"][ANNOTATION]


def test_ours_is_taken_back_where_nothing_serves_the_pod_any_more(
    control_plane: ControlPlane, services: str, meddler: None
) -> None:
    stored = control_plane.api.create(
        workload("Pod", "web", services, {"app": "first", WANTS: "unserved"})
    )

    assert constraints(stored) == []
    assert ANNOTATION not in stored["metadata"].get("annotations", {})


def test_constraints_of_others_are_not_touched(
    control_plane: ControlPlane, services: str, meddler: None
) -> None:
    labels = {"app": "first", WANTS: "second"}

    stored = control_plane.api.create(
        workload("Pod", "web", services, labels, topologySpreadConstraints=[OWN])
    )

    assert constraints(stored) == [OWN]


def test_nothing_changes_if_the_labels_do_not(
    control_plane: ControlPlane, services: str, meddler: None
) -> None:
    stored = control_plane.api.create(
        workload("Pod", "web", services, {"app": "first", WANTS: "first"})
    )

    assert selectors(stored) == [{"matchLabels": {"app": "first"}}] * 2
