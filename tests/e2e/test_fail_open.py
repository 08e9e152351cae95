"""Pods that were created while no replica answered, under Ignore: the next audit finds each."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane import kubelet
from tests.controlplane.api import Json
from tests.controlplane.fixtures import NewControlPlane
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.customkinds import define
from tests.e2e.fleet import Fleet
from tests.e2e.objects import constraints, rounds, service, workload
from tests.e2e.oracles import admission_annotations
from tests.e2e.replica import MARK
from tests.faults.plugin import FaultReport
from tests.server.audits import crds

DEPLOYMENTS = rounds(3, 20)
PODS = 2  # of each Deployment
RULE = "TSC115"  # running pods lack the defaults of their profile
GROUP = "openreports.io"
PATIENCE_S = 120.0
AUDITS = {"audit_interval": "1s", "policy_reports": GROUP}


@pytest.fixture
def plane(new_control_plane: NewControlPlane) -> ControlPlane:
    plane = new_control_plane(audit=True)
    define(plane, crds.needed(GROUP))
    kubelet.join(plane.api, "node-a", {"topology.kubernetes.io/zone": "a"})
    return plane


@pytest.fixture
def fleet(plane: ControlPlane, tmp_path: Path) -> Iterator[Fleet]:
    """Servers under Ignore that audit every second."""
    name: Json = {"name": "evenspread-audit", "namespace": plane.create_namespace()}
    plane.api.create({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": name})
    settings: Json = {"namespace": name["namespace"], **AUDITS}
    with Fleet(plane, tmp_path, policy="Ignore", **settings) as started:
        yield started


def create(plane: ControlPlane, namespace: str, prefix: str) -> None:
    """Create Deployments, and wait until all of their pods are bound."""
    before = len(bound(plane, namespace))
    for number in range(DEPLOYMENTS):
        labels = {"app": "it", "name": f"{prefix}-{number}"}
        deployment = workload("Deployment", f"{prefix}-{number}", namespace, labels)
        deployment["spec"]["replicas"] = PODS
        plane.api.create(deployment)
    wanted = before + DEPLOYMENTS * PODS
    until(lambda: len(bound(plane, namespace)) == wanted, "its pods", patience_s=PATIENCE_S)


def bound(plane: ControlPlane, namespace: str) -> list[Json]:
    pods = plane.api.items("v1", "Pod", namespace)
    return [pod for pod in pods if "nodeName" in pod["spec"]]


def reported(plane: ControlPlane, namespace: str) -> Counter[str]:
    """How often the report of a namespace names each Deployment for RULE."""
    found = Counter[str]()
    for report in plane.api.items("openreports.io/v1alpha1", "Report", namespace):
        for result in report["results"]:
            if result["rule"] == RULE:
                found.update(resource["name"] for resource in result["resources"])
    return found


@pytest.mark.fault(31)
def test_an_audit_finds_each_pod_that_failed_open_exactly_once(
    plane: ControlPlane, fleet: Fleet, fault_report: FaultReport
) -> None:
    namespace = plane.create_namespace(MARK)
    plane.api.create(service("it", namespace, {"app": "it"}))
    until(lambda: admitted(plane, namespace), "the Service to be known")
    create(plane, namespace, "admitted")

    fleet.stop()
    create(plane, namespace, "evaded")
    evaded = {f"evaded-{number}": 1 for number in range(DEPLOYMENTS)}
    bare = [pod for pod in bound(plane, namespace) if not constraints(pod)]
    assert len(bare) == DEPLOYMENTS * PODS
    assert admission_annotations(plane.apiserver)["failed-open"] >= len(bare)

    fleet.start()
    until(lambda: reported(plane, namespace) == evaded, "a report", patience_s=PATIENCE_S)
    (auditor,) = until(
        lambda: [replica for replica in fleet.replicas if replica.metric("audit_leader")],
        "an auditor",
    )
    audits = auditor.metric("audits_total", result="success")
    until(lambda: auditor.metric("audits_total", result="success") > audits + 1, "a next audit")
    assert reported(plane, namespace) == evaded
    assert auditor.metric("findings", rule=RULE) == DEPLOYMENTS

    for pod in bare:
        plane.api.delete(pod)
    until(lambda: not reported(plane, namespace), "an audit without it", patience_s=PATIENCE_S)
    fault_report.record(
        load="none",
        calls=2 * DEPLOYMENTS * PODS,
        failed=len(bare),
        outcome=f"{len(bare)} pods of {DEPLOYMENTS} Deployments failed open; the audit reports "
        "each Deployment once, and none after their pods were recreated",
    )


def admitted(plane: ControlPlane, namespace: str) -> bool:
    tried = workload("Pod", "tried", namespace, {"app": "it"})
    return len(constraints(plane.api.create(tried, dryRun="All"))) > 0
