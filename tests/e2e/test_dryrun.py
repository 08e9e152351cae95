"""A dry run is answered as the real request, and is neither counted nor logged as one."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.api import Json, Reply
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.objects import VERSIONS, constraints, rounds, service, workload
from tests.e2e.replica import CONFIG, Registered, Replica, by_url
from tests.faults.plugin import FaultReport

ALONE = {"evenspread.test/dry-run": "yes"}  # controllers still replace pods of other tests
OBJECTS = rounds(3, 60)  # of each kind and each sort

GOOD = {"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "maxSkew": 1}
SORTS: dict[str, list[Json]] = {
    "patched": [],
    "advised": [{**GOOD, "labelSelector": {"matchLabels": {"app": "another"}}}],
    "denied": [{**GOOD, "maxSkew": 0}],
}
KINDS = ("Pod", "PodTemplate", "CronJob")
"""Kinds of which no controller makes further objects at once."""

LINES = OBJECTS * (len(KINDS) + 1)  # each denied object, and each pod that gets defaults

COUNTED = re.compile(
    r"evenspread_(?:defaults|rule|fields)_.*"
    r'|evenspread_admission_requests_total\{.*dry_run="false".*'
)


def attempts(namespace: str) -> Iterator[Json]:
    for number in range(OBJECTS):
        for kind in KINDS:
            for sort, listed in SORTS.items():
                spec: Json = {"topologySpreadConstraints": listed} if listed else {}
                spec["automountServiceAccountToken"] = False  # its volume has a random name
                yield workload(kind, f"{sort}-{number}", namespace, {"app": "it"}, **spec)


def send(plane: ControlPlane, obj: Json, **query: str) -> Reply:
    return plane.api.request("POST", plane.api.collection_of(obj), obj, query=query)


def answer(reply: Reply) -> tuple[int, Json, tuple[str, ...]]:
    """The part of a reply that depends on the verdict: not the time, the uid and the like."""
    body = {key: part for key, part in reply.body.items() if key not in ("metadata", "status")}
    annotations = reply.body["metadata"].get("annotations", {})
    return reply.status, {**body, "annotations": annotations}, reply.warnings


def counted(replica: Replica) -> list[str]:
    """The samples of metrics that count what is stored or denied."""
    return [line for line in replica.page("/metrics").splitlines() if COUNTED.fullmatch(line)]


def verdict_lines(replica: Replica, namespace: str) -> list[Json]:
    return [line for line in replica.lines if line.get("namespace") == namespace]


def our_events(plane: ControlPlane, namespace: str) -> list[str]:
    """Events about the objects of a namespace; those about webhook configurations are elsewhere."""
    events = plane.api.items("v1", "Event", namespace)
    return [
        event["metadata"]["uid"] for event in events if "evenspread" in str(event.get("source"))
    ]


def stored(plane: ControlPlane, namespace: str) -> int:
    return sum(len(plane.api.items(VERSIONS[kind], kind, namespace)) for kind in KINDS)


@pytest.fixture
def replica(control_plane: ControlPlane, rollouts: None, tmp_path: Path) -> Iterator[Replica]:
    """A server that only the namespaces of these tests call."""
    with Replica(tmp_path, control_plane.apiserver.kubeconfig, CONFIG) as started:
        started.wait()
        with Registered(control_plane, by_url(started, "alone", ALONE)):
            yield started


@pytest.mark.fault(29)
def test_a_dry_run_is_answered_as_the_real_request_and_leaves_no_trace(
    control_plane: ControlPlane, replica: Replica, fault_report: FaultReport
) -> None:
    hooked = control_plane.create_namespace(ALONE)
    control_plane.api.create(service("it", hooked, {"app": "it"}))
    probe = workload("Pod", "probe", hooked, {"app": "it"})
    until(lambda: constraints(control_plane.api.create(probe, dryRun="All")), "the Service")
    until(lambda: verdict_lines(replica, hooked), "the line of the probe")  # written after a reply
    before, events = counted(replica), our_events(control_plane, hooked)
    first = len(verdict_lines(replica, hooked))
    calls = replica.metric("admission_requests_total", dry_run="true")

    objects = list(attempts(hooked))
    dry = [answer(send(control_plane, obj, dryRun="All")) for obj in objects]
    until(lambda: len(verdict_lines(replica, hooked)) == first + LINES, "the lines of the dry runs")
    dry_calls = replica.metric("admission_requests_total", dry_run="true") - calls

    assert {status for status, _, _ in dry} == {201, 422}
    assert dry_calls >= len(objects)
    assert all(line["dry_run"] for line in verdict_lines(replica, hooked)[first:])
    assert counted(replica) == before
    assert our_events(control_plane, hooked) == events
    assert stored(control_plane, hooked) == 0

    real = [answer(send(control_plane, obj)) for obj in objects]
    assert real == dry
    assert replica.metric("admission_requests_total", dry_run="true") == calls + dry_calls
    assert counted(replica) != before
    until(
        lambda: len(verdict_lines(replica, hooked)) == first + 2 * LINES,
        "the lines of the real ones",
    )
    assert not any("dry_run" in line for line in verdict_lines(replica, hooked)[first + LINES :])
    fault_report.record(
        load="none",
        calls=2 * len(objects),
        failed=0,
        outcome=f"{len(objects)} dry runs: the real answers, no Event, none counted as real",
    )
