"""Fields that are misspelt, misplaced or written twice."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fix.fixed import deployment, options, reasons, run_fix
from webhook.manifests import Document, parse

# constraints of a Deployment -> the rules that are fixed, and a part of the result
HIDDEN = {
    "a misspelled selector beside matchLabelKeys": (
        (
            "      topologySpreadConstraints:\n"
            "      - maxSkew: 1\n"
            "        topologyKey: a\n"
            "        whenUnsatisfiable: ScheduleAnyway\n"
            "        labelselector: {matchLabels: {app: web}} # one\n"
            "        matchLabelKeys: [pod-template-hash]\n"
        ),
        ["TSC011"],
        "        labelSelector: {matchLabels: {app: web}} # one\n",
    ),
    "a misspelled list, and a misspelled field in it": (
        (
            "      topologySpreadConstraint:\n"
            "      - maxskew: 1\n"
            "        topologyKey: a\n"
            "        whenUnsatisfiable: ScheduleAnyway\n"
            "        labelSelector: {matchLabels: {app: web}}\n"
            "        matchLabelKeys: [pod-template-hash]\n"
        ),
        ["TSC011", "TSC011"],
        "      topologySpreadConstraints:\n      - maxSkew: 1\n",
    ),
    "a field beside the list": (
        (
            "      topologySpreadConstraints:\n"
            "      - maxSkew: 1\n"
            "        topologyKey: a\n"
            "        whenUnsatisfiable: ScheduleAnyway\n"
            "        matchLabelKeys: [pod-template-hash]\n"
            "      labelSelector: {matchLabels: {app: web}}\n"
        ),
        ["TSC011"],
        "matchLabels:\n            app: web\n",
    ),
    "labels without matchLabels, in brackets": (
        (
            "      topologySpreadConstraints:\n"
            "      - {maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway,\n"
            "         labelSelector: {app: web}, matchLabelKeys: [pod-template-hash]}\n"
        ),
        ["TSC011"],
        "labelSelector: {matchLabels: {app: web}}, matchLabelKeys",
    ),
    "a violation that a misspelling hid": (
        (
            "      topologySpreadConstraints:\n"
            "      - maxSkew: 1\n"
            "        topologyKey: a\n"
            "        whenUnsatisfiable: ScheduleAnyway\n"
            "        labelSelector: {matchLabels: {app: web}}\n"
            "        matchLabelKeys: [pod-template-hash]\n"
            "        minDomain: 0\n"
        ),
        ["TSC011", "TSC005", "TSC006"],
        "pod-template-hash]\n",
    ),
}


@pytest.mark.parametrize(("text", "rules", "part"), HIDDEN.values(), ids=HIDDEN.keys())
def test_a_field_is_renamed_or_moved_and_never_written_twice(
    text: str, rules: list[str], part: str
) -> None:
    outcome = run_fix(deployment(text))

    assert [finding.rule for finding in outcome.fixed] == rules
    assert outcome.left == ()
    assert part in outcome.texts["web.yaml"]


LEFT = {
    "a list that is there twice": (
        "      topologySpreadConstraint: []\n      topologySpreadConstraints: []\n",
        "TSC011",
        "is written as well: join the two",
    ),
    "a field without a known name": (
        "      topologySpreadConstraints:\n      - {maxSkew: 1, namespaces: [a]}\n",
        "TSC011",
        "what is intended cannot be known",
    ),
    "a key that is written twice": (
        "      topologySpreadConstraints:\n      - {maxSkew: 1, maxSkew: 2}\n",
        "TSC012",
        "which of the values is intended",
    ),
    "a null in place of a constraint": (
        "      topologySpreadConstraints: [null]\n", "TSC001", "is not written"
    ),
    "a field of an object with a type error": (
        "      topologySpreadConstraints: [{maxSkew: x, minDomain: 1}]\n",
        "TSC011",
        "first correct the values of wrong types",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "rule", "reason"), LEFT.values(), ids=LEFT.keys())
def test_a_field_is_left_if_the_intention_is_unknown(text: str, rule: str, reason: str) -> None:
    outcome = run_fix(deployment(text), options(rule))

    assert outcome.fixed == ()
    assert reason in reasons(outcome.left)[rule]


JOBS = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train, namespace: shop}
spec:
  topologySpreadConstraints:
  - {maxSkew: 1, minDomain: 2, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}
  replicatedJobs:
  - name: workers
    replicas: 2
    template: {spec: {template: {metadata: {labels: {app: w}}, spec: {containers: []}}}}
  - name: leaders
    replicas: 2
    template: {spec: {template: {metadata: {labels: {app: l}}, spec: {containers: []}}}}
"""


def test_a_list_beside_several_templates_is_left_and_replaced_by_none() -> None:
    """Neither template gets other constraints: one of them was meant to have these."""
    outcome = run_fix(JOBS)

    assert [finding.wrote for finding in outcome.fixed] == ["renamed minDomain to minDomains"]
    assert reasons(outcome.left) == {"TSC011": "which pod template is intended cannot be known"}


def test_a_list_in_one_of_several_replicated_jobs_is_moved_into_its_template() -> None:
    outer = "  topologySpreadConstraints:\n  - {maxSkew: 1, minDomain: 2"
    inner = "  replicatedJobs:\n  - topologySpreadConstraints: [{maxSkew: 1, minDomains: 2"
    before, constraint, after = JOBS.replace(outer, inner).partition("DoNotSchedule}\n")
    text = before + constraint.replace("}", "}]") + after.replace("  replicatedJobs:\n  -", "   ")

    outcome = run_fix(text, options("TSC011"))

    (fixed,) = outcome.fixed
    assert fixed.wrote == (
        "moved spec.replicatedJobs[0].topologySpreadConstraints to "
        "spec.replicatedJobs[0].template.spec.template.spec.topologySpreadConstraints"
    )
    assert outcome.left == ()


odd_constraints = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2) | st.sampled_from(["web", "DoNotSchedule", ""]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["maxSkew", "maxskew", "minDomain", "topologyKey", "whenUnsatisfiable",
             "labelSelector", "labelselector", "matchLabels", "matchLabelKeys", "app"]
        ),
        inner,
        max_size=5,
    ),
    max_leaves=12,
)  # fmt: skip


@given(odd_constraints, st.sampled_from(["topologySpreadConstraints", "topologySpreadConstraint"]))
def test_odd_constraints_never_stop_the_command(value: Any, name: str) -> None:
    text = deployment(f"      {name}: {json.dumps(value)}\n")

    outcome = run_fix(text)

    assert outcome.problems == ()
    (document,) = parse(outcome.texts["web.yaml"], "web.yaml")
    assert isinstance(document, Document)


DUPLICATE = """\
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  topologySpreadConstraints:
  - maxSkew: 2
    maxSkew: 0
    topologyKey: zone
    whenUnsatisfiable: DoNotSchedule
    labelSelector: {matchLabels: {app: web}}
"""


def test_a_field_that_is_written_twice_stays() -> None:
    outcome = run_fix(DUPLICATE)

    assert outcome.texts["web.yaml"] == DUPLICATE
    assert reasons(outcome.left)["TSC001"] == (
        "first keep one of the fields spec.topologySpreadConstraints[0].maxSkew"
    )
