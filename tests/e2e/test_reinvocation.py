"""Called again after another webhook changed the pod, it fixes its own work and no other."""

from collections.abc import Iterator
from itertools import product

import pytest

from tests.controlplane.api import Json
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.objects import LONG, constraints, rounds, service, workload
from tests.e2e.oracles import check_idempotent, webhook_errors
from tests.e2e.other_webhook import Change, other_webhook
from tests.e2e.replica import Registered, Replica
from tests.faults.plugin import FaultReport

ANNOTATION = "evenspread.io/defaults"
WANTS = "evenspread.test/meddled"
"""Label of the pods that are changed; its value is the label ``app`` that they shall have."""

PODS = rounds(3, 10)  # of each change
LIST = "/spec/topologySpreadConstraints"

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
        other_webhook(relabelled, objectSelector=wanted) as configuration,
        Registered(control_plane, [configuration]),
    ):
        yield


def relabelled(pod: Json) -> list[Json]:
    """Give a pod the label that it wants."""
    wanted = pod["metadata"]["labels"][WANTS]
    return [{"op": "add", "path": "/metadata/labels/app", "value": wanted}]


def selectors(pod: Json) -> list[Json]:
    return [constraint["labelSelector"] for constraint in constraints(pod)]


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


def insert_first(pod: Json) -> list[Json]:
    """Put another constraint before ours."""
    if OWN in constraints(pod):
        return []
    if not constraints(pod):
        return [{"op": "add", "path": LIST, "value": [OWN]}]
    return [{"op": "add", "path": f"{LIST}/0", "value": OWN}]


def append(pod: Json) -> list[Json]:
    """Put another constraint behind ours."""
    if OWN in constraints(pod):
        return []
    if not constraints(pod):
        return [{"op": "add", "path": LIST, "value": [OWN]}]
    return [{"op": "add", "path": f"{LIST}/-", "value": OWN}]


def remove_first(pod: Json) -> list[Json]:
    """Remove one of our constraints."""
    return [{"op": "remove", "path": f"{LIST}/0"}] if constraints(pod) else []


def remove_all(pod: Json) -> list[Json]:
    """Remove the whole list."""
    return [{"op": "remove", "path": LIST}] if constraints(pod) else []


def change_entry(pod: Json) -> list[Json]:
    """Change one of our constraints."""
    path = f"{LIST}/0/maxSkew"
    return [{"op": "replace", "path": path, "value": 7}] if constraints(pod) else []


def forget_annotation(pod: Json) -> list[Json]:
    """Remove our annotations."""
    annotated = "annotations" in pod["metadata"]
    return [{"op": "remove", "path": "/metadata/annotations"}] if annotated else []


ORDERS = (
    tuple(product(("a-other", "z-other"), ("Never", "IfNeeded")))
    if LONG
    else (("z-other", "IfNeeded"),)
)
"""Name of the other configuration, called before or after ours, and its reinvocationPolicy."""

ONCE_BEFORE = ("a-other", "Never")
"""Called once, before we add anything: it changes our work only when the pod is sent again."""

CHANGES = (insert_first, append, remove_first, remove_all, change_entry, forget_annotation)


@pytest.mark.fault(23)
@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_no_change_of_another_webhook_makes_our_patch_fail(
    control_plane: ControlPlane,
    services: str,
    change: Change,
    order: tuple[str, str],
    fault_report: FaultReport,
) -> None:
    api, before = control_plane.api, webhook_errors(control_plane.apiserver)
    name, policy = order
    with other_webhook(change, reinvocationPolicy=policy) as configuration:
        configuration["metadata"]["name"] = name
        with Registered(control_plane, [configuration]):
            stored = [
                api.create(workload("Pod", f"web-{number}", services, {"app": "first"}))
                for number in range(PODS)
            ]
            if order != ONCE_BEFORE:
                check_idempotent(api, stored)
    assert webhook_errors(control_plane.apiserver) == before
    fault_report.record(
        load="none",
        calls=len(stored),
        failed=0,
        outcome=f"{len(CHANGES)} changes by webhooks before and after ours: every pod is created, "
        "and sent again it is not changed again",
    )
