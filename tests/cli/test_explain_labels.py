"""Explanations know the labels that controllers add, and which pods are replicas."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.shop import NODE

NODES = "".join(
    NODE % (f"{zone}{number}", f"{zone}{number}", zone, "false")
    for zone in "abc"
    for number in "12"
)
CONSTRAINT = (
    "{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, "
    "labelSelector: {matchLabels: {%s}}%s}"
)
PATHS = {
    "Job": "spec: {parallelism: 6, template: %s}",
    "CronJob": "spec: {jobTemplate: {spec: {parallelism: 6, template: %s}}}",
    "StatefulSet": "spec: {replicas: 6, selector: {matchLabels: {team: x}}, template: %s}",
    "JobSet": "spec: {replicatedJobs: [{name: w, template: {spec: {template: %s}}}]}",
    "LeaderWorkerSet": "spec: {replicas: 3, leaderWorkerTemplate: {size: 2, workerTemplate: %s}}",
    "Service": "spec: {template: %s}",
    "Deployment": "spec: {replicas: 6, selector: {matchLabels: {team: x}}, template: %s}",
}


def write_workload(folder: Path, version: str, kind: str, labels: str, keys: str = "") -> None:
    constraint = CONSTRAINT % (labels, f", matchLabelKeys: [{keys}]" if keys else "")
    template = "{metadata: {labels: {team: x}}, spec: {topologySpreadConstraints: [%s]}}"
    (folder / "x.yaml").write_text(
        f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: load, namespace: shop}}\n"
        f"{PATHS[kind] % (template % constraint)}\n"
    )
    (folder / "nodes.yaml").write_text(NODES)


def write_pods(folder: Path, labels: str, owner: str) -> None:
    pods = [POD % (node, labels, owner, node) for node in ("b1", "b2")]
    (folder / "nodes.yaml").write_text(f"{NODES}{''.join(pods)}")


def explain(run: Run, *options: str) -> Any:
    ran = run("explain", "-f", "x.yaml", "--facts", "nodes.yaml", "-o", "json", *options)
    assert ran.err == ""
    return json.loads(ran.out)


# API version, kind, labels that the constraint selects by
LABELLED = {
    "a Job": ("batch/v1", "Job", "job-name: load"),
    "a Job, by the newer label": ("batch/v1", "Job", "batch.kubernetes.io/job-name: load"),
    "a JobSet": ("jobset.x-k8s.io/v1alpha2", "JobSet", "jobset.sigs.k8s.io/jobset-name: load"),
    "a LeaderWorkerSet": (
        "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet",
        "leaderworkerset.sigs.k8s.io/name: load",
    ),
    "a Service of Knative": (
        "serving.knative.dev/v1", "Service", "serving.knative.dev/service: load"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("version", "kind", "labels"), LABELLED.values(), ids=LABELLED.keys())
def test_pods_are_selected_by_what_their_controller_adds(
    folder: Path, run: Run, version: str, kind: str, labels: str
) -> None:
    write_workload(folder, version, kind, labels)

    result = explain(run)

    assert result["explanation"]["constraints"][0]["selectsPod"]


@pytest.mark.parametrize("kind", ["Job", "CronJob"])
def test_a_what_if_spreads_the_pods_of_a_job(folder: Path, run: Run, kind: str) -> None:
    write_workload(folder, "batch/v1", kind, "", "job-name")

    result = explain(run, "--what-if")

    assert list(result["whatIf"]["placed"].values()) == [1] * 6


POD = """\
---
apiVersion: v1
kind: Pod
metadata: {name: old-%s, namespace: shop, labels: {team: x%s}%s}
spec: {nodeName: %s}
"""
OWNED = ", ownerReferences: [{kind: ReplicaSet, name: old-zz, controller: true}]"


def test_pods_of_another_revision_do_not_count_with_match_label_keys(
    folder: Path, run: Run
) -> None:
    write_workload(folder, "apps/v1", "Deployment", "team: x", "pod-template-hash")
    write_pods(folder, ", pod-template-hash: zz", OWNED)

    explanation = explain(run)["explanation"]

    assert explanation["sentence"] == "can be placed on 6 of 6 nodes"
    assert explanation["constraints"][0]["selector"] == "pod-template-hash=hash,team=x"


def test_pods_that_no_controller_adopts_are_no_replicas(folder: Path, run: Run) -> None:
    write_workload(folder, "apps/v1", "Deployment", "team: x")
    write_pods(folder, "", "")

    what_if = explain(run, "--what-if")["whatIf"]

    assert (what_if["running"], sum(what_if["placed"].values())) == (0, 6)
