from typing import Any

import pytest

from tests.cli.inputs.manifestclusters import cluster_of_text
from tests.cli.inputs.targetcases import JOB_SET, NODES, NOW, POD, PODS, REVISION, TEMPLATES, WEB
from webhook.cli.inputs.observedworkloads import (
    ObservedWorkload,
    observe_bare_pod,
    observe_workload,
)
from webhook.cli.inputs.placementtargets import TargetOptions
from webhook.cli.inputs.subjects import ExplainSubject, find
from webhook.policy import kinds

TEXT = NODES + WEB + REVISION % ("h1", 1, "web") + PODS
DB = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: []}}
---
apiVersion: v1
kind: Pod
metadata: {name: db-0, namespace: shop, labels: {app: db}}
spec: {nodeName: n1}
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: sum, namespace: shop}
spec:
  completions: 5
  completionMode: Indexed
  selector: {matchLabels: {app: sum}}
  template: {metadata: {labels: {app: sum}}, spec: {containers: []}}
status: {completedIndexes: "0"}
---
apiVersion: v1
kind: Pod
metadata:
  name: sum-1-x
  namespace: shop
  labels: {app: sum, batch.kubernetes.io/job-completion-index: "1"}
spec: {nodeName: n1}
"""
SCALER = """\
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 6
  maxReplicas: 9
"""


def observe(name: str, text: str = TEXT, **options: Any) -> ObservedWorkload:
    cluster = cluster_of_text(text)
    (subject,) = find(name, "shop", TEMPLATES, cluster)
    return observe_workload(subject, cluster, TargetOptions(now=NOW, **options))


def test_a_deployment_has_its_pods_and_its_replica_set() -> None:
    found = observe("deploy/web")

    assert [pod.metadata.name for pod in found.own] == ["web-1", "web-2"]
    assert found.running == {"n1": 2}
    assert found.revision.is_owned
    assert (found.revisions, found.ordinal, found.scaled.number) == (None, 0, 4)


def test_a_deployment_without_replicas_has_one() -> None:
    text = TEXT.replace("replicas: 4", "paused: false")

    assert observe("deploy/web", text).scaled.number == 1


def test_a_stateful_set_has_the_ordinal_of_its_next_pod() -> None:
    found = observe("sts/db", TEXT + "---\n" + DB)

    assert found.revisions is not None
    assert found.ordinal == 1


def test_an_indexed_job_has_the_first_index_that_is_neither_settled_nor_running() -> None:
    found = observe("job/sum", TEXT + "---\n" + JOB)

    assert found.settled == frozenset({0})
    assert found.ordinal == 2


def test_a_job_set_has_the_first_place_that_is_free() -> None:
    found = observe("jobset/js", NODES + JOB_SET)

    assert found.members == frozenset({0})
    assert found.ordinal == 1


@pytest.mark.parametrize(
    ("options", "sizes"),
    [
        ({}, {"web-h1": 3, "web-h2": 1}),
        ({"simulates": True, "scale": 12}, {"web-h1": 9, "web-h2": 3}),
        ({"rolls_out": True}, {}),
    ],
)
def test_a_paused_deployment_has_the_sizes_of_its_replica_sets(
    options: dict[str, Any], sizes: dict[str, int]
) -> None:
    strategy = "{rollingUpdate: {maxSurge: 0}}"
    web = WEB.replace("replicas: 4", f"paused: true, strategy: {strategy}, replicas: 4")
    web = web.replace("---", "status: {replicas: 4}\n---")
    sets = [
        (REVISION % (name, number, "web")).replace("spec: {", f"spec: {{replicas: {size}, ")
        for name, number, size in (("h1", 1, 3), ("h2", 2, 1))
    ]

    found = observe("deploy/web", "".join((NODES, web, *sets, PODS)), **options)

    assert {one.name: one.size for one in found.sets} == sizes
    assert found.revision.subject.name == ("web-h1" if sizes else "web-h2")


@pytest.mark.parametrize(("simulates", "replicas"), [(False, 4), (True, 6)])
def test_autoscalers_matter_only_to_what_ifs(simulates: bool, replicas: int) -> None:
    assert observe("deploy/web", TEXT + SCALER, simulates=simulates).scaled.number == replicas


def test_a_bare_pod_is_its_own_next_one() -> None:
    subject = ExplainSubject(kinds.POD, (), "shop", {"metadata": {"name": "one"}}, exists=False)

    found = observe_bare_pod(subject)

    assert (found.selected, found.ordinal, found.part) == ([], 0, "")
    assert found.revision.subject is subject


def test_a_stateful_set_awaits_the_end_of_the_pod_of_the_same_name() -> None:
    name = "  name: web-1"
    ending = (POD % "web-1").replace(name, f"  deletionTimestamp: '2026-11-27T10:00:00Z'\n{name}")
    owned = ending.replace("kind: ReplicaSet, name: web-h1", "kind: StatefulSet, name: web")
    web = WEB.replace("kind: Deployment", "kind: StatefulSet")
    first = owned.replace("web-1", "web-0").replace("  deletionTimestamp", "  creationTimestamp")

    assert observe("sts/web", web + first + owned).awaited == {"web-1"}


@pytest.mark.parametrize(
    ("policy", "awaited", "index"),
    [("Failed", frozenset({"sum-1-x"}), 1), ("TerminatingOrFailed", frozenset[str](), 1)],
)
def test_a_job_awaits_the_end_of_pods_that_it_replaces_late(
    policy: str, awaited: frozenset[str], index: int
) -> None:
    job = JOB.replace("containers: []", "containers: [{name: c}]").replace(
        "  completions: 5", f"  completions: 5\n  podReplacementPolicy: {policy}"
    )
    ending = job.replace("  name: sum-1-x", "  deletionTimestamp: 'x'\n  name: sum-1-x")

    found = observe("job/sum", ending)

    assert (found.awaited, found.ordinal) == (awaited, index)
    assert found.demand is not None
    assert found.demand.awaited == len(awaited)
