"""What-ifs of a Job create the pods that its controller still wants."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.shop import NODE

NODES = NODE % ("a1", "a1", "a", "false") + NODE % ("b1", "b1", "b", "true")
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: j, namespace: shop}
spec:
  %s
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, image: web}]
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: web}}
status: {%s}
"""
POD = """\
---
apiVersion: v1
kind: Pod
metadata:
  name: j-%s
  namespace: shop
  labels: {app: web}
  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: j, controller: true}]
spec: {nodeName: %s}
status: {phase: %s}
"""
RUNNING = POD % (0, "a1", "Running")
PENDING = POD % (1, "''", "Pending")
DONE = POD % (2, "a1", "Succeeded")
ENDED = "conditions: [{type: %s, status: 'True'}]"

# spec, status, pods, options; replicas, running, pending, exit code, part of a note
WHAT_IFS: dict[str, tuple[str, str, str, str, tuple[int, int, int, int, str]]] = {
    "one is left": ("{parallelism: 2, completions: 2", "", RUNNING + DONE, "", (1, 1, 0, 0, "")),
    "two are left": ("{parallelism: 2, completions: 3", "", RUNNING + DONE, "", (2, 1, 1, 1, "")),
    "a work queue with a success": (
        "{parallelism: 3", "succeeded: 1", RUNNING + DONE, "", (1, 1, 0, 0, "work queue")
    ),
    "a work queue that loses a pod after a success": (
        "{parallelism: 3", "succeeded: 1", RUNNING + DONE, "zone=a", (0, 0, 0, 0, "work queue")
    ),
    "a work queue with a success, and a pod that waits": (
        "{parallelism: 3", "succeeded: 1", RUNNING + PENDING, "", (2, 1, 1, 1, "work queue")
    ),
    "complete": ("{parallelism: 3", ENDED % "Complete", DONE, "", (0, 0, 0, 0, "ended (Complete)")),
    "failed": ("{parallelism: 3", ENDED % "Failed", "", "", (0, 0, 0, 0, "ended (Failed)")),
    "suspended": ("{suspend: true", "", "", "", (0, 0, 0, 0, "is suspended")),
}  # fmt: skip


@pytest.mark.parametrize("case", WHAT_IFS.values(), ids=WHAT_IFS.keys())
def test_a_what_if_of_a_job_creates_what_its_controller_wants(
    folder: Path, run: Run, case: tuple[str, str, str, str, tuple[int, int, int, int, str]]
) -> None:
    spec, status, pods, lost, (replicas, running, pending, code, note) = case
    lines = "\n  ".join(spec.removeprefix("{").split(", "))
    (folder / "x.yaml").write_text(NODES + JOB % (lines, status) + pods)
    options = ("--without", lost) if lost else ("--what-if",)

    ran = run("explain", "job/j", "-n", "shop", "--facts", "x.yaml", "-o", "json", *options)

    (answer,) = ran.documents
    found = answer["whatIf"]
    assert (found["replicas"], found["running"], found["pending"]) == (replicas, running, pending)
    assert note in " ".join(found.get("notes", []))
    assert ran.code == code


# status, specification, exit code, whether changes are suggested, part of the sentence
JOBS = {
    "ended": (ENDED % "Failed", "parallelism: 9", 0, False, "the Job has ended (Failed); if it"),
    "suspended": ("", "suspend: true", 1, True, "while the workload is suspended; then it cannot"),
}


@pytest.mark.parametrize("case", JOBS.values(), ids=JOBS.keys())
def test_the_next_pod_of_a_job_may_never_be_created(
    folder: Path, run: Run, case: tuple[str, str, int, bool, str]
) -> None:
    status, spec, code, has_changes, sentence = case
    (folder / "x.yaml").write_text(NODES + JOB % (spec, status) + RUNNING)

    ran = run("explain", "job/j", "-n", "shop", "--facts", "x.yaml", "-o", "json")

    explanation = json.loads(ran.out)["explanation"]
    assert sentence in explanation["sentence"]
    assert bool(explanation.get("changes")) is has_changes
    assert ran.code == code


INDEX = "batch.kubernetes.io/job-completion-index"
INDEXED = JOB.replace(
    "        labelSelector: {matchLabels: {app: web}}\n",
    f"        labelSelector: {{matchLabels: {{app: web}}}}\n        matchLabelKeys: [{INDEX}]\n",
)
SPEC = "completionMode: Indexed\n  parallelism: 4\n  completions: 4"


def indexed(number: int, phase: str = "Running") -> str:
    return (POD % (number, "a1", phase)).replace("{app: web}", f"{{app: web, {INDEX}: '{number}'}}")


# status, pods, options; index of the next pod, and what runs, is placed and stays Pending
BY_INDEX: dict[str, tuple[str, str, str, tuple[str, int, int, int]]] = {
    "no pod": ("", "", "--what-if", ("0", 0, 4, 0)),
    "two run": ("", indexed(0) + indexed(1), "--what-if", ("2", 2, 2, 0)),
    "one between has ended": (
        "completedIndexes: '1', succeeded: 1", indexed(0), "--what-if", ("2", 1, 2, 0)
    ),
    "one has succeeded, and is not in the status": (
        "", indexed(0, "Succeeded") + indexed(1), "--what-if", ("2", 1, 2, 0)
    ),
    "one has failed": ("", indexed(0, "Failed") + indexed(1), "--what-if", ("0", 1, 3, 0)),
    "the node of all is lost": ("", indexed(0) + indexed(1), "--without=zone=a", ("2", 0, 0, 4)),
}  # fmt: skip


@pytest.mark.parametrize("case", BY_INDEX.values(), ids=BY_INDEX.keys())
def test_each_new_pod_of_an_indexed_job_has_the_first_free_index(
    folder: Path, run: Run, case: tuple[str, str, str, tuple[str, int, int, int]]
) -> None:
    status, pods, option, (index, *expected) = case
    (folder / "x.yaml").write_text(NODES + INDEXED % (SPEC, status) + pods)
    job = ("explain", "job/j", "-n", "shop", "--facts", "x.yaml")

    assert f"{INDEX}={index}" in run(*job).out
    ran = run(*job, "-o", "json", option)

    found = ran.documents[0]["whatIf"]
    placed = sum(found["placed"].values())
    assert [found["running"], placed, found["pending"]] == expected
    assert ran.code == (1 if found["pending"] else 0)


def test_a_job_without_its_index_in_a_constraint_places_like_pods(folder: Path, run: Run) -> None:
    (folder / "x.yaml").write_text(NODES + JOB % (SPEC, ""))

    ran = run("explain", "job/j", "-n", "shop", "--facts", "x.yaml", "-o", "json", "--what-if")

    assert ran.documents[0]["whatIf"]["pending"] == 3


CRON_JOB = """\
apiVersion: batch/v1
kind: CronJob
metadata: {name: eod, namespace: shop}
spec:
  schedule: "0 22 * * *"
  jobTemplate:
    spec:
      %s
      completionMode: Indexed
      template:
        metadata: {labels: {app: web}}
        spec:
          containers: [{name: c, image: web}]
          topologySpreadConstraints:
          - maxSkew: 1
            minDomains: 3
            topologyKey: topology.kubernetes.io/zone
            whenUnsatisfiable: DoNotSchedule
            labelSelector: {matchLabels: {app: web%s}}
            matchLabelKeys: [%s]
---
apiVersion: batch/v1
kind: Job
metadata:
  name: eod-1
  namespace: shop
  ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: eod, controller: true}]
spec: {template: {spec: {containers: []}}}
"""
ALL = "parallelism: 4\n      completions: 4"
SOME = "parallelism: 2\n      completions: 4"
ONE = f", {INDEX}: '0'"


def run_indexed(number: int, phase: str = "Running") -> str:
    return indexed(number, phase).replace("kind: Job, name: j", "kind: Job, name: eod-1")


# specification, further labels of the selector, pods; index of the next pod, placed, Pending
CRON_JOBS: dict[str, tuple[str, str, str, tuple[str, int, int]]] = {
    "no pod": (ALL, "", "", ("0", 4, 0)),
    "one index is counted": (ALL, ONE, "", ("0", 4, 0)),
    "two run": (ALL, "", run_indexed(0) + run_indexed(2), ("1", 2, 0)),
    "all run": (ALL, "", "".join(map(run_indexed, range(4))), ("0", 0, 0)),
    "one has succeeded": (
        SOME, "", run_indexed(0, "Succeeded") + run_indexed(1), ("2", 1, 0)
    ),
    "all of the last run have succeeded": (
        SOME, "", "".join(run_indexed(one, "Succeeded") for one in range(4)), ("0", 2, 0)
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CRON_JOBS.values(), ids=CRON_JOBS.keys())
def test_the_pods_of_an_indexed_cron_job_have_the_indexes_of_a_job(
    folder: Path, run: Run, case: tuple[str, str, str, tuple[str, int, int]]
) -> None:
    spec, labels, pods, (index, *expected) = case
    both = NODES.replace("unschedulable: true", "unschedulable: false")
    manifest = CRON_JOB % (spec, labels, "" if labels else INDEX)
    (folder / "x.yaml").write_text(both + manifest + pods)
    cron_job = ("explain", "cj/eod", "-n", "shop", "--facts", "x.yaml")

    assert f"{INDEX}={index}" in run(*cron_job).out
    ran = run(*cron_job, "-o", "json", "--what-if")

    found = ran.documents[0]["whatIf"]
    assert [sum(found["placed"].values()), found["pending"]] == expected
    assert ran.code == 0
