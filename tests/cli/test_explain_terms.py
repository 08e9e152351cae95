"""Explanations begin with what comes before constraints."""

from pathlib import Path

import pytest

from tests.cli.conftest import Run

WORKLOAD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {%s}
"""
NODES = """\
---
{apiVersion: v1, kind: Node, metadata: {name: a1, labels: {kubernetes.io/hostname: a1}}}
---
{apiVersion: v1, kind: Node, metadata: {name: b1, labels: {kubernetes.io/hostname: b1}}}
"""
HARD = (
    "topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, "
    "whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]"
)

# specification, options, exit code, parts of the output
TERMS = {
    "a node": (
        f"nodeName: a1, {HARD}", (), 0,
        ("is bound to node a1 by spec.nodeName", "none is evaluated for pods with spec.nodeName"),
    ),
    "replicas on a node": (f"nodeName: a1, {HARD}", ("--what-if",), 0, ("placed   a1 (2)",)),
    "a cordoned node": ("nodeName: a1", ("--cordon", "a1"), 0, ("placed   a1 (2)",)),
    "an absent node": ("nodeName: x", (), 1, ("this node does not exist",)),
    "another scheduler": (
        "schedulerName: volcano", (), 0,
        ("is placed by scheduler 'volcano', whose rules", "those of volcano are not known"),
    ),
    "replicas of another scheduler": (
        "schedulerName: volcano", ("--what-if",), 0, ("scheduler 'volcano' places these replicas",)
    ),
    "its own constraints": (
        f"schedulerName: volcano, {HARD}", (), 0, ("by those of kube-scheduler", "constraint 0"),
    ),
    "gates": (
        "schedulingGates: [{name: quota}]", (), 0,
        ("waits for its scheduling gates (quota); without them, it can be placed on 2 of 2",),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TERMS.values(), ids=TERMS.keys())
def test_explanations_begin_with_the_terms(
    folder: Path, run: Run, case: tuple[str, tuple[str, ...], int, tuple[str, ...]]
) -> None:
    spec, options, code, parts = case
    (folder / "web.yaml").write_text((WORKLOAD % spec) + NODES)

    ran = run("explain", "deploy/web", "-n", "shop", "--facts", "web.yaml", *options)

    assert (ran.code, ran.err) == (code, "")
    assert [part for part in parts if part not in ran.out] == []
