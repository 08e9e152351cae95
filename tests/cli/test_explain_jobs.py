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
