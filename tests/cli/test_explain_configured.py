"""``explain --config`` places the pod that ``review`` shows."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.shop import NODE

FACTS = (
    NODE % ("a1", "a1", "a", "false")
    + NODE % ("b1", "b1", "b", "true")
    + """\
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: web}}
---
apiVersion: v1
kind: Pod
metadata: {name: web-1, namespace: shop, labels: {app: web}}
spec: {nodeName: a1}
"""
)
CONFIG = """\
apiVersion: evenspread.io/v1alpha1
kind: SpreadConfiguration
mode: %s
fieldDefaults: %s
rules: {TSC101: {action: %s}}
profiles:
- name: cluster
  merge: PerTopologyKey
  defaultConstraints:
  - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: new, namespace: shop, labels: {app: web}}
spec:
  containers: [{name: c, image: web}]
  topologySpreadConstraints: [%s]
"""
OWN = "{%smaxSkew: 2, topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: %s}}}"
SOFT = "whenUnsatisfiable: ScheduleAnyway, "

# mode, fieldDefaults, action of TSC101; constraint; keys, whether review denies
CASES: dict[str, tuple[tuple[str, str, str], str, list[str], bool]] = {
    "apply": (
        ("apply", "none", "warn"), OWN % (SOFT, "web"),
        ["kubernetes.io/hostname", "topology.kubernetes.io/zone"], False,
    ),
    "recommend": (
        ("recommend", "none", "warn"), OWN % (SOFT, "web"), ["kubernetes.io/hostname"], False
    ),
    "an omitted field that is set": (
        ("apply", "whenUnsatisfiable", "warn"), OWN % ("", "web"),
        ["kubernetes.io/hostname", "topology.kubernetes.io/zone"], False,
    ),
    "an omitted field": (("apply", "none", "warn"), OWN % ("", "web"), [], True),
    "a policy rule": (("apply", "none", "deny"), OWN % (SOFT, "x"), [], True),
    "a policy rule in recommend mode": (
        ("recommend", "none", "deny"), OWN % (SOFT, "x"), ["kubernetes.io/hostname"], False
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_explain_agrees_with_review(
    folder: Path, run: Run, case: tuple[tuple[str, str, str], str, list[str], bool]
) -> None:
    settings, constraint, keys, is_denied = case
    for name, text in (
        ("facts.yaml", FACTS), ("config.yaml", CONFIG % settings), ("pod.yaml", POD % constraint)
    ):  # fmt: skip
        (folder / name).write_text(text)
    shared = ("-f", "pod.yaml", "--facts", "facts.yaml", "--config", "config.yaml", "-o", "json")

    reviewed = run("review", *shared)
    explained = run("explain", *shared)

    answer: Any = explained.documents[0]["explanation"]
    assert [one["topologyKey"] for one in answer.get("constraints", [])] == keys
    assert bool(answer.get("refused")) is is_denied
    assert (reviewed.code == 1) is is_denied
    assert explained.code == (1 if is_denied or len(keys) > 1 else 0)


def test_what_a_policy_rule_denies_is_refused_by_evenspread(folder: Path, run: Run) -> None:
    (folder / "config.yaml").write_text(CONFIG % ("apply", "none", "deny"))
    (folder / "pod.yaml").write_text(POD % (OWN % (SOFT, "x")))

    ran = run("explain", "-f", "pod.yaml", "--config", "config.yaml")

    first, hint = ran.out.splitlines()
    assert first.startswith("Pod shop/new is refused by evenspread: spec.topologySpreadConstraints")
    assert hint == "nothing is placed: first correct what evenspread refuses"


def test_a_pod_that_waits_keeps_its_constraints_in_any_mode(folder: Path, run: Run) -> None:
    waiting = POD % "" + "---\n"
    (folder / "facts.yaml").write_text(waiting + FACTS)
    (folder / "config.yaml").write_text(CONFIG % ("apply", "none", "warn"))

    ran = run(
        "explain", "pod/new", "-n", "shop", "--facts", "facts.yaml", "--config", "config.yaml"
    )

    assert ran.out.startswith("Pod shop/new can be placed on 1 of 2 nodes")
    assert "default 1: zone, maxSkew 5" in ran.out
