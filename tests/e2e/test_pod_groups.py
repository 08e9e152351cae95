"""PodGroups of a real API server, which has them in no stable version, are known to an audit."""

import json

import pytest

from tests.controlplane.api import Json
from tests.controlplane.fixtures import NewControlPlane
from tests.controlplane.plane import ControlPlane
from tests.e2e.objects import workload
from webhook.__main__ import main

SERVED = "api/alpha=true,api/beta=true"  # the version depends on that of Kubernetes
GATES = {"GenericWorkload": True, "TopologyAwareWorkloadScheduling": True}
ZONE = "topology.kubernetes.io/zone"


def test_an_audit_finds_a_constraint_that_a_pod_group_contradicts(
    new_control_plane: NewControlPlane, capsys: pytest.CaptureFixture[str]
) -> None:
    plane = new_control_plane(
        controllers=False,
        scheduler=False,
        service_accounts=False,
        feature_gates=GATES,
        apiserver_flags=(f"--runtime-config={SERVED}",),
    )
    namespace = plane.create_namespace()
    group = create_group(plane, namespace)
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "it"}},
    }
    scheduling = {"schedulingGroup": {"podGroupName": "workers"}}
    members: Json = {**scheduling, "topologySpreadConstraints": [constraint]}
    gang = workload("Deployment", "gang", namespace, {"app": "it"}, **members)
    gang["spec"]["replicas"] = 4
    plane.api.create(gang)

    main(["audit", "-n", namespace, "--kubeconfig", str(plane.apiserver.kubeconfig), "-o", "json"])

    report = json.loads(capsys.readouterr().out)
    problems = [
        finding["problem"]
        for audited in report["workloads"]
        for finding in audited["findings"]
        if finding["rule"] == "TSC121"
    ]
    assert len(problems) == 1, group
    assert problems[0].startswith('PodGroup "workers" keeps all pods in one domain of')


def create_group(plane: ControlPlane, namespace: str) -> Json:
    """Create a PodGroup in the version that the API server has."""
    versions = [
        version["groupVersion"]
        for found in plane.api.call("GET", "/apis")["groups"]
        if found["name"] == "scheduling.k8s.io"
        for version in found["versions"]
        if version["version"] != "v1"
    ]
    return plane.api.create(
        {
            "apiVersion": versions[0],
            "kind": "PodGroup",
            "metadata": {"name": "workers", "namespace": namespace},
            "spec": {
                "schedulingPolicy": {"gang": {"minCount": 4}},
                "schedulingConstraints": {"topology": [{"key": ZONE}]},
            },
        }
    )
