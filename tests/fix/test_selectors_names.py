"""Labels with which a controller names its workload, in a selector or in matchLabelKeys."""

import pytest

from tests.fix.fixed import options, reasons, run_fix

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: web, namespace: shop}
spec:
  parallelism: 3
  template:
    spec:
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway, labelSelector: }
      containers: []
"""


KNATIVE = JOB.replace("batch/v1\nkind: Job", "serving.knative.dev/v1\nkind: Service").replace(
    "  parallelism: 3\n", ""
)


def test_the_pods_of_a_knative_service_without_labels_are_selected_by_its_name() -> None:
    outcome = run_fix(KNATIVE, options("TSC102"))

    by_name = "labelSelector: {matchLabels: {serving.knative.dev/service: web}}}"
    assert outcome.texts["web.yaml"] == KNATIVE.replace("labelSelector: }", by_name)
    assert not outcome.left


def test_a_selector_of_a_label_that_names_the_revision_is_left() -> None:
    text = KNATIVE.replace("labelSelector: }", "labelSelector: {matchLabels: {app: web}}}")

    outcome = run_fix(text, options("TSC101"))

    reason = (
        "its controller sets app to another value: leave it out, and select its pods by "
        "serving.knative.dev/service"
    )
    assert reasons(outcome.left) == {"TSC101": reason}


JOB_SET = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: web, namespace: shop}
spec:
  replicatedJobs:
  - name: main
    template:
      spec:
        parallelism: 3
        template:
          spec:
            topologySpreadConstraints:
            - {maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway, labelSelector: }
            containers: []
"""
NAME, TEMPLATE = "jobset.sigs.k8s.io/jobset-name", "jobset.sigs.k8s.io/replicatedjob-name"


LABELS = "metadata: {labels: {app: web, tier: a}}\n          "


@pytest.mark.parametrize(
    ("part", "labels"),
    [
        ("", ""),
        (f", {TEMPLATE}: main", ""),
        ("", LABELS),
        (f", {TEMPLATE}: main", LABELS),
        (", app: web", LABELS),
        (", tier: a", LABELS),
    ],
)
def test_another_name_of_a_job_set_is_corrected(part: str, labels: str) -> None:
    names = f"{{matchLabels: {{{NAME}: %s{part}}}}}"
    text = JOB_SET.replace("labelSelector: ", f"labelSelector: {names}")
    text = text.replace(
        "          spec:\n            top", f"          {labels}spec:\n            top"
    )

    outcome = run_fix(text % "other", options("TSC101"))

    assert outcome.texts["web.yaml"] == text % "web"
    assert not outcome.left


@pytest.mark.parametrize(
    ("pairs", "reason"),
    [
        (f"{NAME}: web, {TEMPLATE}: other", f"its controller sets {TEMPLATE} to another value"),
        (f"{NAME}: other, tier: b", "its pods have another "),
        (f"{NAME}: web, role: b", "its pods have no label role: add it to them"),
    ],
)
def test_a_selector_by_the_name_of_a_job_set_with_another_label_is_left(
    pairs: str, reason: str
) -> None:
    text = JOB_SET.replace("labelSelector: ", f"labelSelector: {{matchLabels: {{{pairs}}}}}")

    outcome = run_fix(
        text.replace("spec:\n            top", f"{LABELS}spec:\n            top"), options("TSC101")
    )

    assert reasons(outcome.left)["TSC101"].startswith(reason)


def test_the_name_of_a_template_like_that_of_its_job_set_is_left() -> None:
    by_part = f"labelSelector: {{matchLabels: {{{TEMPLATE}: driver}}}}"
    text = JOB_SET.replace("name: main", "name: web").replace("labelSelector: ", by_part)

    outcome = run_fix(text, options("TSC101"))

    assert reasons(outcome.left) == {
        "TSC101": f"it does not name {NAME}, which identifies its pods"
    }


def test_a_selector_of_the_pods_of_another_job_set_is_left() -> None:
    by_name = f"labelSelector: {{matchLabels: {{{NAME}: other}}}}"
    other = JOB_SET.replace("name: web", "name: other").replace("labelSelector: ", by_name)
    text = f"{JOB_SET.replace('labelSelector: ', by_name)}---\n{other}"

    outcome = run_fix(text, options("TSC101"))

    assert outcome.texts["web.yaml"] == text
    assert reasons(outcome.left) == {
        "TSC101": "it selects the pods of JobSet/other, which may be intended"
    }


def test_the_pods_of_a_job_without_labels_are_selected_by_its_name() -> None:
    outcome = run_fix(JOB, options("TSC102"))

    by_name = "labelSelector: {matchLabels: {batch.kubernetes.io/job-name: web}}}"
    assert outcome.texts["web.yaml"] == JOB.replace("labelSelector: }", by_name)
    assert not outcome.left


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("{matchLabels: {%s: web}}", "labelSelector: {matchLabels: {%s: web}}"),
        (
            "{matchLabels: {team: x, %s: web}}",
            "labelSelector: {matchLabels: {team: x}}, matchLabelKeys: [%s]",
        ),
    ],
)
@pytest.mark.parametrize("key", ["batch.kubernetes.io/job-name", "job-name"])
def test_the_name_of_a_job_is_in_the_selector_or_in_match_label_keys(
    key: str, written: str, expected: str
) -> None:
    """The value that the API server adds is known: the same pods are counted."""
    labels = JOB.replace("    spec:\n", "    metadata: {labels: {team: x}}\n    spec:\n")
    both = f"labelSelector: {written % key}, matchLabelKeys: [{key}]"

    outcome = run_fix(labels.replace("labelSelector: ", both), options("TSC008"))

    assert outcome.texts["web.yaml"] == labels.replace("labelSelector: ", expected % key)
    assert not outcome.left


@pytest.mark.parametrize(
    ("name", "key", "head"),
    [
        ("other", "job-name", ""),
        ("web-0", "apps.kubernetes.io/pod-index", "apiVersion: apps/v1\nkind: StatefulSet"),
    ],
)
def test_another_name_than_that_of_the_job_is_left(name: str, key: str, head: str) -> None:
    both = f"labelSelector: {{matchLabels: {{{key}: {name}}}}}, matchLabelKeys: [{key}]"
    text = JOB.replace("apiVersion: batch/v1\nkind: Job", head) if head else JOB

    outcome = run_fix(text.replace("labelSelector: ", both), options("TSC008"))

    reason = f"whether {key} belongs here or in the selector cannot be known"
    assert reasons(outcome.left)["TSC008"] == reason
