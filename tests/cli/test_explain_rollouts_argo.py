"""What-ifs of Argo Rollouts in the middle of an update, from manifests to exit codes."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.shop import ZONES

CANARY = """\
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: pay, namespace: shop, uid: r}
spec:
  replicas: 4
  selector: {matchLabels: {app: pay}}
  strategy:
    canary: {maxSurge: 1, maxUnavailable: %(unavailable)s, steps: [{setWeight: 25}, {pause: {}}]}
  template: {metadata: {labels: {app: pay}}, spec: {containers: [{name: pay, image: "pay:2"}]}}
status: {currentPodHash: b, stableRS: a, currentStepIndex: 1, abort: %(abort)s}
"""
CANARY_SET = """---
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: pay-%(hash)s
  namespace: shop
  uid: s-%(hash)s
  creationTimestamp: "%(created)s"
  labels: &labels {app: pay, rollouts-pod-template-hash: %(hash)s}
  ownerReferences:
  - {apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: pay, uid: r, controller: true}
spec:
  replicas: %(size)s
  selector: {matchLabels: *labels}
  template: {metadata: {labels: *labels}, spec: {containers: [{name: pay, image: "pay:%(hash)s"}]}}
"""
CANARY_POD = """---
apiVersion: v1
kind: Pod
metadata:
  name: pay-%(hash)s-%(index)s
  namespace: shop
  labels: {app: pay, rollouts-pod-template-hash: %(hash)s}
  ownerReferences:
  - {apiVersion: apps/v1, kind: ReplicaSet, name: pay-%(hash)s, uid: s-%(hash)s, controller: true}
spec: {nodeName: a1, containers: [{name: pay, image: "pay:%(hash)s"}]}
status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
"""


def in_canary(times: tuple[str, str], sizes: tuple[int, int], **rollout: Any) -> str:
    """Write a Rollout in the middle of a canary from hash a to b, with times of its sets."""
    parts = [CANARY % {"unavailable": 0, "abort": "false", **rollout}]
    for name, created, size in zip("ab", times, sizes, strict=True):
        parts.append(CANARY_SET % {"hash": name, "created": created, "size": size})
        parts += [CANARY_POD % {"hash": name, "index": index} for index in range(size)]
    return "".join([*parts, ZONES])


EARLY, LATE = "2026-11-01T00:00:00Z", "2026-11-20T00:00:00Z"


@pytest.mark.parametrize("times", [(EARLY, LATE), (LATE, EARLY)])
@pytest.mark.parametrize("rollout", [{}, {"unavailable": 1, "abort": "true"}])
def test_the_canary_that_runs_gives_way_whatever_its_age(
    times: tuple[str, str], rollout: dict[str, Any], folder: Path, run: Run
) -> None:
    (folder / "pay.yaml").write_text(in_canary(times, (3, 1), **rollout))
    arguments = ("-n", "shop", "--facts", "pay.yaml", "--what-if", "rollout", "-o", "json")

    ran = run("explain", "ro/pay", *arguments)

    (document,) = ran.documents
    assert (ran.code, document["rollout"]["finishes"]) == (0, True)
    assert document["rollout"]["steps"][0]["action"].startswith("new 0 -> 1")
    assert document["rollout"]["canStop"] is False


@pytest.mark.parametrize("times", [(EARLY, LATE), (LATE, EARLY)])
def test_a_stable_replica_set_that_is_too_small_creates_pods(
    times: tuple[str, str], folder: Path, run: Run
) -> None:
    """At a weight of 25 %, three pods of four are stable; the surge is one pod."""
    (folder / "pay.yaml").write_text(in_canary(times, (1, 3)))
    arguments = ("-n", "shop", "--facts", "pay.yaml", "--what-if", "rollout", "-o", "json")

    ran = run("explain", "ro/pay", *arguments)

    (document,) = ran.documents
    first = document["rollout"]["steps"][0]
    assert ran.code == 0
    assert (first["action"], first["old"], first["new"]) == ("old 4 -> 5", 5, 0)


# the hash that the active Service selects, the exit code, and what the sentence contains
PROMOTIONS = {
    "the preview gives way": ("a", 0, "finishes in 2 steps"),
    "both old sets are in use": ("b", 1, "stops at step 1, with 0 of 1 new pod: "),
}


@pytest.mark.parametrize(("active", "code", "part"), PROMOTIONS.values(), ids=PROMOTIONS.keys())
def test_a_preview_gives_way_to_the_next_one(
    active: str, code: int, part: str, folder: Path, run: Run
) -> None:
    """Two of three nodes have a pod with the host port of the new one, and the last is cordoned."""
    replaced = {
        "replicas: 4": "replicas: 1",
        "canary: {maxSurge: 1, maxUnavailable: 0, steps: [{setWeight: 25}, {pause: {}}]}": (
            "blueGreen: {}"
        ),
        "currentStepIndex: 1": f"blueGreen: {{activeSelector: {active}}}",
        "name: pay, image": "name: pay, ports: [{containerPort: 80, hostPort: 80}], image",
    }
    text = in_canary((LATE, EARLY), (1, 1))
    for old, new in replaced.items():
        text = text.replace(old, new)
    before, name, after = text.partition("  name: pay-b-0\n")
    (folder / "pay.yaml").write_text(before + name + after.replace("nodeName: a1", "nodeName: b1"))
    arguments = ("-n", "shop", "--facts", "pay.yaml", "--cordon", "c1", "--what-if", "rollout")

    ran = run("explain", "ro/pay", *arguments)

    assert (ran.code, part in ran.out) == (code, True)
