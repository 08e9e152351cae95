import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.__main__ import read
from tests.conformance.case import Answer, Case
from tests.controlplane.assets import known_versions
from tests.controlplane.plane import ControlPlane
from tests.oracle.build import built_program
from tests.oracle.cases import judge_cases, make_cases
from tests.required import ENVTEST, skip_or_fail

NUMBER = 600
DATA = Path(__file__).parent.parent / "conformance" / "data"
RECORDED = [
    file
    for suite in ("selector", "placement", "filters")
    for file in DATA.glob(f"{suite}.jsonl.gz")
]
"""The recorded answers that are complete: of other suites the judge gives more, or fewer parts."""


def _find_program(version: str) -> Path:
    program = built_program(known_versions()[version])
    if not program.is_file():
        skip_or_fail("no judge to ask: run `make oracle`", ENVTEST)
    return program


def _pods(case: Case) -> Iterator[dict[str, Any]]:
    yield case["pod"]
    yield from case["cluster"]["pods"]


def test_clusters_have_every_member_that_the_filters_read() -> None:
    cases = make_cases("filters", 7, 100, "1.37")

    assert {case["kubernetes"] for case in cases} == {"1.37"}
    assert {member for case in cases for member in case["cluster"]} == {
        "csiNodes",
        "namespaces",
        "nodes",
        "persistentVolumeClaims",
        "persistentVolumes",
        "pods",
        "replicaSets",
        "replicationControllers",
        "services",
        "statefulSets",
        "storageClasses",
    }


def test_pods_are_pending_running_finished_and_lost() -> None:
    cases = make_cases("filters", 7, 100, "1.36")
    pods = [pod for case in cases for pod in case["cluster"]["pods"]]
    nodes = {pod["spec"].get("nodeName", "none") for pod in pods}

    assert {pod["status"]["phase"] for pod in pods} == {"Running", "Pending", "Succeeded", "Failed"}
    assert {"n0", "gone", "none"} <= nodes
    assert any("deletionTimestamp" in pod["metadata"] for pod in pods)
    assert all("nodeName" not in case["pod"]["spec"] for case in cases)


def test_volumes_of_a_cluster_differ_in_size() -> None:
    for case in make_cases("filters", 7, 100, "1.36"):
        volumes = case["cluster"].get("persistentVolumes", ())
        sizes = [volume["spec"]["capacity"]["storage"] for volume in volumes]
        assert len(set(sizes)) == len(sizes)


REASONS = (
    "node(s) were unschedulable",
    "node(s) had untolerated taint(s)",
    "node(s) didn't match Pod's node affinity/selector",
    "node(s) didn't satisfy plugin(s) [NodeAffinity]",
    "pod affinity terms conflict",
    "node(s) didn't have free ports for the requested pod ports",
    "Too many pods",
    "Insufficient cpu",
    "Insufficient memory",
    "Insufficient ephemeral-storage",
    "Insufficient hugepages-2Mi",
    "Insufficient example.com/gpu",
    "node(s) had no available disk",
    (
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
        "already in-use by another pod"
    ),
    "node(s) exceed max volume count",
    "persistentvolumeclaim ... not found",
    "persistentvolumeclaim ... is being deleted",
    "persistentvolumeclaim ... bound to non-existent persistentvolume ...",
    "persistentvolume ... not found",
    "pod has unbound immediate PersistentVolumeClaims",
    "node(s) didn't match PersistentVolume's node affinity",
    "node(s) didn't find available persistent volumes to bind",
    "node(s) had no available volume zone",
    "node(s) didn't match pod topology spread constraints",
    "node(s) didn't match pod topology spread constraints (missing required label)",
    "node(s) didn't match pod affinity rules",
    "node(s) didn't match pod anti-affinity rules",
    "node(s) didn't satisfy existing pods anti-affinity rules",
)


@pytest.mark.integration
@pytest.mark.parametrize("version", known_versions())
def test_every_filter_rejects_nodes_and_some_pods_fit(version: str) -> None:
    cases = make_cases("filters", 11, NUMBER, version)
    answers = judge_cases(_find_program(version), "filters", cases)
    reasons = Counter(reason for answer in answers for reason in _reasons(answer))

    assert [reason for reason in REASONS if not reasons[reason]] == []
    fitting = [answer for answer in answers if answer == {"message": "", "fits": True}]
    assert 0.15 < len(fitting) / len(cases) < 0.3
    for case, answer in zip(cases, answers, strict=True):
        if answer not in fitting:
            names = {node["metadata"]["name"] for node in case["cluster"]["nodes"]}
            assert answer["nodes"].keys() == names, f"{case['id']}: {answer['message']}"


def _reasons(answer: Answer) -> Iterator[str]:
    for reasons in answer.get("nodes", {}).values():
        for reason in reasons:
            yield re.sub('"[^"]*"', "...", reason)


@pytest.mark.integration
@pytest.mark.parametrize("version", known_versions())
def test_kube_apiserver_accepts_the_pods(version: str) -> None:
    cases = [
        {"object": {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod["spec"]}}
        for case in make_cases("filters", 11, 200, version)
        for pod in _pods(case)
        for metadata in [{m: pod["metadata"][m] for m in ("name", "namespace", "labels")}]
    ]
    answers = judge_cases(_find_program(version), "validation", cases)

    assert [answer for answer in answers if answer["code"] != 201] == []


KINDS = {
    "nodes": ("v1", "Node"),
    "persistentVolumes": ("v1", "PersistentVolume"),
    "persistentVolumeClaims": ("v1", "PersistentVolumeClaim"),
    "storageClasses": ("storage.k8s.io/v1", "StorageClass"),
    "csiNodes": ("storage.k8s.io/v1", "CSINode"),
}


@pytest.mark.integration
def test_kube_apiserver_accepts_nodes_and_storage(control_plane: ControlPlane) -> None:
    for case in make_cases("filters", 11, 40, "1.36"):
        for member, (version, kind) in KINDS.items():
            for obj in case["cluster"].get(member, ()):
                created = {"apiVersion": version, "kind": kind, **obj}
                if "namespace" in obj["metadata"]:  # most of which do not exist there
                    created["metadata"] = {**obj["metadata"], "namespace": "default"}
                control_plane.api.create(created, dryRun="All")


@pytest.mark.integration
@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.name)
def test_the_judge_gives_the_recorded_answers(file: Path) -> None:
    suite, cases = file.name.removesuffix(".jsonl.gz"), list(read(file))
    answers = judge_cases(_find_program("1.36"), suite, cases)

    differing = [
        (case["id"], case["expect"], answer)
        for case, answer in zip(cases, answers, strict=True)
        if answer != case["expect"]
    ]
    assert differing == []
