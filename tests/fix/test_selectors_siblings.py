"""Selectors that remedies write count no pods of siblings."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.build import Json, pod, spread
from tests.fix.fixed import objects, options, run_fix
from webhook.audit.snapshot import Snapshot
from webhook.fix.evaluate import Evaluation
from webhook.policy.kinds import DEPLOYMENT, STATEFUL_SET
from webhook.policy.model import GroupKind

SIBLINGS = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: master, namespace: shop}
spec:
  selector: {matchLabels: {app: redis, role: master}}
  template: {metadata: {labels: {app: redis, role: master}}, spec: {containers: []}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: replicas, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: redis, role: replica}}
  template:
    metadata: {labels: {app: redis, role: replica, version: "7"}}
    spec:
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway, @}
      containers: []
"""
_REPLICAS = "labelSelector: {matchLabels: {app: redis, role: replica}}"

# rule, selector and keys as written and as fixed
OF_SIBLINGS: dict[str, tuple[str, str, str]] = {
    "null": ("TSC102", "labelSelector: ", _REPLICAS),
    "empty": ("TSC102", "labelSelector: {}", _REPLICAS),
    "another application": ("TSC101", "labelSelector: {matchLabels: {app: x}}", _REPLICAS),
    "another application, with a key": (
        "TSC101",
        "labelSelector: {matchLabels: {app: x}}, matchLabelKeys: [role]",
        "labelSelector: {matchLabels: {app: redis}}, matchLabelKeys: [role]",
    ),
    "a key alone": (
        "TSC008",
        "matchLabelKeys: [role], labelSelector: ",
        "matchLabelKeys: [role], labelSelector: {matchLabels: {app: redis}}",
    ),
}


@pytest.mark.parametrize(
    ("rule", "written", "expected"), OF_SIBLINGS.values(), ids=OF_SIBLINGS.keys()
)
def test_the_selector_written_counts_no_siblings(rule: str, written: str, expected: str) -> None:
    outcome = run_fix(SIBLINGS.replace("@", written), options(rule))

    assert outcome.texts["web.yaml"] == SIBLINGS.replace("@", expected)
    assert not outcome.left


LABELLED = """\
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web, tier: front}}
spec:
  topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: zone
    whenUnsatisfiable: DoNotSchedule
    labelSelector: {matchLabels: {%s}}
"""
# labels of a selector, after the fix
NARROW = {
    "another application of the same tier": ("app: wbe, tier: front", "app: web, tier: front"),
    "another tier": ("app: web, tier: back", "app: web, tier: back"),
    "a value that is no misspelling": ("game: arena, role: client", "game: arena, role: client"),
    "a label that the pod lacks": ("app: wbe, run: web", "app: wbe, run: web"),
}


@pytest.mark.parametrize(("before", "after"), NARROW.values(), ids=NARROW.keys())
def test_other_labels_of_the_pod_stay_in_its_selector(before: str, after: str) -> None:
    assert run_fix(LABELLED % before, options("TSC101")).texts["web.yaml"] == LABELLED % after


UNNAMED = LABELLED.replace("{app: web, tier: front}", "{id: web, game: arena, role: server}")
# labels of a selector, after the fix
CORRECTED = {
    "another value": ("game: arean", "game: arena"),
    "another value beside one that is met": (
        "game: arean, role: server",
        "game: arena, role: server",
    ),
    "a value that is no misspelling": ("game: arena, role: client", "game: arena, role: client"),
    "a label that the pod lacks": ("game: arean, run: web", "game: arean, run: web"),
}


@pytest.mark.parametrize(("before", "after"), CORRECTED.values(), ids=CORRECTED.keys())
def test_the_selector_of_a_pod_without_an_application_gets_its_values(
    before: str, after: str
) -> None:
    assert run_fix(UNNAMED % before, options("TSC101")).texts["web.yaml"] == UNNAMED % after


_KEYS: st.SearchStrategy[str] = st.sampled_from(
    ["app", "app.kubernetes.io/name", "app.kubernetes.io/component", "tier"]
)
_LABELS = st.dictionaries(_KEYS, st.sampled_from("ab"))
_KINDS = st.sampled_from([DEPLOYMENT, STATEFUL_SET, GroupKind("argoproj.io", "Rollout")])
_SPREADING = st.sampled_from(
    [
        [],
        [spread(labelSelector=None)],
        [spread(labelSelector={})],
        [spread(labelSelector=None, matchLabelKeys=["tier"])],
    ]
)


@st.composite
def charts(draw: st.DrawFn) -> list[Json]:
    """Build workloads of one chart whose selectors differ in one label."""
    differs = draw(_KEYS)
    members = [(draw(_KINDS), draw(_LABELS), draw(_LABELS), draw(_SPREADING)) for _ in "abc"]
    return [
        _build_member(kind, {**selected, differs: f"x{i}"}, more, constraints)
        for i, (kind, selected, more, constraints) in enumerate(members)
    ]


def _build_member(kind: GroupKind, selected: Json, more: Json, constraints: list[Json]) -> Json:
    """Build a workload of three replicas with labels that are selected, and more."""
    return {
        "apiVersion": f"{kind.group}/v1",
        "kind": kind.kind,
        "metadata": {"name": "-".join(selected.values()), "namespace": "shop"},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": selected},
            "template": pod(*constraints, labels={**more, **selected}),
        },
    }


@given(charts())
def test_no_selector_that_is_written_counts_siblings(chart: list[Json]) -> None:
    text = yaml.safe_dump_all(chart)
    outcome = run_fix(text, options("TSC008", "TSC021", "TSC102", "TSC110"))

    after = objects(outcome.texts["web.yaml"])
    evaluated = Evaluation.of_documents(after, Snapshot(), options()).evaluate_objects()
    rules = {finding.rule for one in evaluated for finding in one.findings}
    assert not rules & {"TSC102", "TSC110", "TSC113"}
