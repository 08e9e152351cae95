"""Pods that kube-apiserver refuses or stores otherwise than their template has it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests import strategies
from tests.build import spread, template, workload
from tests.policy.api.test_predict import (
    APART,
    BAD,
    DEPLOYMENT,
    KEYED,
    LEGACY,
    NEWEST,
    OLD_LABEL,
    STATEFUL_SET,
    TWICE,
    submit,
)
from webhook.policy.api.gates import Gates
from webhook.policy.api.predict import (
    REFUSED,
    REFUSED_LATER,
    Request,
    is_stored_object,
    predict_response,
)
from webhook.policy.kinds import POD
from webhook.policy.model import GroupKind, ObjectMeta, PodTemplate
from webhook.policy.paths import constraints_field


def labelled(made: PodTemplate, **labels: str) -> PodTemplate:
    return replace(made, metadata=ObjectMeta(labels=labels))


HASH = "pod-template-hash"
BY_HASH = spread(matchLabelKeys=[HASH], labelSelector={"matchLabels": {HASH: "6d4c"}})
REPEATED = spread(matchLabelKeys=[HASH, "app", "app"], labelSelector={})
BADLY_LABELLED = labelled(template(workload(DEPLOYMENT, KEYED)), app=".web")
CONTROLLED = replace(submit(POD, APART), kind=GroupKind("example.io", "Web"))

# request, gates, the constraints and keys for which its pods are refused
REFUSALS: dict[str, tuple[Request, Gates, list[tuple[int, int]]]] = {
    "a key of the template": (submit(DEPLOYMENT, OLD_LABEL, APART), NEWEST, [(1, 0)]),
    "a key that the controller adds": (submit(DEPLOYMENT, BY_HASH), NEWEST, [(0, 0)]),
    "a key that none adds": (submit(STATEFUL_SET, BY_HASH), NEWEST, []),
    "a repeated key": (submit(DEPLOYMENT, REPEATED), NEWEST, [(0, 2)]),
    "a key that the list has too often by itself": (submit(DEPLOYMENT, TWICE), NEWEST, []),
    "before keys are merged": (submit(DEPLOYMENT, APART), LEGACY, []),
    "a label that pods cannot have": (
        replace(submit(DEPLOYMENT), template=BADLY_LABELLED),
        NEWEST,
        [],
    ),
    "a pod in place of its unknown controller": (CONTROLLED, NEWEST, []),
}


@pytest.mark.parametrize(("sent", "in_force", "keys"), REFUSALS.values(), ids=REFUSALS.keys())
def test_the_pods_of_an_accepted_template_are_refused(
    sent: Request, in_force: Gates, keys: list[tuple[int, int]]
) -> None:
    refused = predict_response(sent, in_force).refused

    at = constraints_field(sent.path)
    fields = [f"{at}[{i}].matchLabelKeys[{j}]" for i, j in keys]
    assert [one.error.field for one in refused] == fields
    assert all(one.error.message.endswith(REFUSED) for one in refused)
    assert REFUSED.startswith("exists in both matchLabelKeys and labelSelector")


KEY_IN_BOTH: dict[str, object] = {
    "matchLabelKeys": ["app"],
    "labelSelector": {"matchLabels": {"app": "web"}},
}

BROKEN: dict[str, tuple[dict[str, object], list[str]]] = {
    "another field": (spread(maxSkew=0, **KEY_IN_BOTH), ["TSC001"]),
    "several fields": (spread(maxSkew=0, minDomains=0, **KEY_IN_BOTH), ["TSC001", "TSC005"]),
    "the mode": (
        spread(whenUnsatisfiable="ScheduleAnyway", minDomains=3, **KEY_IN_BOTH),
        ["TSC006"],
    ),
}


@pytest.mark.parametrize(("constraint", "rules"), BROKEN.values(), ids=BROKEN.keys())
def test_the_pods_of_a_refused_template_would_be_refused_too(
    constraint: dict[str, object], rules: list[str]
) -> None:
    answer = predict_response(submit(DEPLOYMENT, constraint), NEWEST)

    assert [finding.rule for finding in answer.findings] == rules
    assert [one.error.field[-17:] for one in answer.refused] == ["matchLabelKeys[0]"]
    assert [one.error.problem for one in answer.refused] == [REFUSED_LATER]


def test_a_key_that_kube_apiserver_reports_itself_is_reported_once() -> None:
    answer = predict_response(submit(DEPLOYMENT, spread(maxSkew=0, **KEY_IN_BOTH)), LEGACY)

    assert [finding.rule for finding in answer.findings] == ["TSC001", "TSC008"]
    assert answer.refused == []


@given(st.lists(strategies.good_json_constraints, max_size=3))
def test_a_violation_elsewhere_hides_no_refused_pods(
    constraints: list[dict[str, object]],
) -> None:
    sent, beside = submit(DEPLOYMENT, *constraints), submit(DEPLOYMENT, *constraints, BAD)

    refused = [one.error.field for one in predict_response(sent, NEWEST).refused]

    assert [one.error.field for one in predict_response(beside, NEWEST).refused] == refused


@given(st.lists(strategies.good_json_constraints, max_size=3), st.sampled_from(("", "-", ".web")))
def test_labels_that_no_pod_can_have_are_no_reason(
    constraints: list[dict[str, object]], value: str
) -> None:
    made = template(workload(DEPLOYMENT, *constraints))
    keys = {key for constraint in made.constraints for key in constraint.match_label_keys or ()}
    sent = replace(submit(DEPLOYMENT), template=labelled(made, **dict.fromkeys(keys, value)))

    refused = predict_response(sent, NEWEST).refused

    assert {violation.rule for violation in refused} <= {"TSC008"}


IDENTITY = {"uid": "u", "resourceVersion": "1"}
OWNED = {"ownerReferences": [{"kind": "Node"}, {"kind": "ReplicaSet", "controller": True}]}
RUNS = {"phase": "Running"}

# metadata, status, whether an API server stored the pod
DUMPS: dict[str, tuple[Any, Any, bool]] = {
    "as it was stored": (IDENTITY, None, True),
    "without the version": ({"uid": "u"}, RUNS, False),
    "without the uid": ({"resourceVersion": "1"}, RUNS, False),
    "an empty version": (IDENTITY | {"resourceVersion": ""}, None, False),
    "values of a wrong type": ({"uid": 1, "resourceVersion": 2}, None, False),
    "of a controller, with its phase": (OWNED, RUNS, True),
    "of a controller, without a phase": (OWNED, {"phase": ""}, False),
    "of a controller, with a phase of a wrong type": (OWNED, {"phase": 1}, False),
    "of a controller, without a status": (OWNED, None, False),
    "of another owner": ({"ownerReferences": OWNED["ownerReferences"][:1]}, RUNS, False),
    "owners of a wrong type": ({"ownerReferences": "web"}, RUNS, False),
    "of no controller": ({}, RUNS, False),
}


@pytest.mark.parametrize(("metadata", "status", "stored"), DUMPS.values(), ids=DUMPS.keys())
def test_a_dump_shows_that_a_pod_was_stored(metadata: Any, status: Any, stored: bool) -> None:
    assert is_stored_object({"metadata": metadata, "status": status}) is stored


def test_the_pods_of_a_statefulset_are_refused_that_is_not_judged_itself() -> None:
    answer = predict_response(submit(STATEFUL_SET, BAD), LEGACY)

    assert answer.findings == []
    assert answer.violations == answer.refused
    (refused,) = answer.refused
    assert refused.rule == "TSC001"
    assert refused.error.field.endswith("[0].maxSkew")
    assert refused.error.message == (
        "Invalid value: 0: must be greater than zero: kube-apiserver accepts this object, and "
        "refuses all its pods"
    )
