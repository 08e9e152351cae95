"""Pods that were created while no replica answered, under Ignore: the next audit finds each."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane import kubelet
from tests.controlplane.api import Json
from tests.controlplane.fixtures import NewControlPlane
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import AUDIT_PATIENCE_S, until
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
LACKING = re.compile(r"(\d+) of (?:its )?(\d+) pods? lack")
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
    wait_for_pods(plane, namespace, before + DEPLOYMENTS * PODS)


def add_pod(plane: ControlPlane, namespace: str, name: str) -> None:
    """Scale a Deployment up by one pod, and wait until it is bound."""
    before = len(bound(plane, namespace))
    deployment = workload("Deployment", name, namespace, {})
    plane.api.merge(deployment, {"spec": {"replicas": PODS + 1}})
    wait_for_pods(plane, namespace, before + 1)


def wait_for_pods(plane: ControlPlane, namespace: str, number: int) -> None:
    until(lambda: len(bound(plane, namespace)) == number, "its pods", patience_s=PATIENCE_S)


def bound(plane: ControlPlane, namespace: str) -> list[Json]:
    pods = plane.api.items("v1", "Pod", namespace)
    return [pod for pod in pods if "nodeName" in pod["spec"]]


def reported(plane: ControlPlane, namespace: str) -> list[tuple[str, int, int]]:
    """
    List what the report of a namespace says for RULE, sorted.

    Each entry has the name of a Deployment, the number of its pods that lack the defaults, and that
    of all its pods.
    """
    found = list[tuple[str, int, int]]()
    for report in plane.api.items("openreports.io/v1alpha1", "Report", namespace):
        for result in report["results"]:
            if result["rule"] == RULE:
                lacking, total = map(int, LACKING.findall(json.dumps(result))[0])
                found += [(resource["name"], lacking, total) for resource in result["resources"]]
    return sorted(found)


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
    add_pod(plane, namespace, "admitted-0")
    evaded = [(f"evaded-{number}", PODS, PODS) for number in range(DEPLOYMENTS)]
    evaded = sorted([*evaded, ("admitted-0", 1, PODS + 1)])
    bare = [pod for pod in bound(plane, namespace) if not constraints(pod)]
    assert len(bare) == sum(lacking for _, lacking, _ in evaded) == DEPLOYMENTS * PODS + 1
    assert admission_annotations(plane.apiserver)["failed-open"] >= len(bare)

    fleet.start()
    until(lambda: reported(plane, namespace) == evaded, "a report", patience_s=AUDIT_PATIENCE_S)
    (auditor,) = until(
        lambda: [replica for replica in fleet.replicas if replica.metric("audit_leader")],
        "an auditor",
    )
    audits = auditor.metric("audits_total", result="success")
    until(
        lambda: auditor.metric("audits_total", result="success") > audits + 1,
        "a next audit",
        patience_s=AUDIT_PATIENCE_S,
    )
    assert reported(plane, namespace) == evaded
    assert auditor.metric("findings", rule=RULE) == DEPLOYMENTS + 1

    for pod in bare:
        plane.api.delete(pod)
    until(
        lambda: not reported(plane, namespace), "an audit without it", patience_s=AUDIT_PATIENCE_S
    )
    fault_report.record(
        load="none",
        calls=2 * DEPLOYMENTS * PODS + 1,
        failed=len(bare),
        outcome=f"{len(bare)} pods of {len(evaded)} Deployments failed open; the audit reports "
        "each Deployment once, with the number of these pods, and none after they were recreated",
    )


def admitted(plane: ControlPlane, namespace: str) -> bool:
    tried = workload("Pod", "tried", namespace, {"app": "it"})
    return len(constraints(plane.api.create(tried, dryRun="All"))) > 0
