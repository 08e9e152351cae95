"""Objects are refused for violations of API rules, unless an API server stored them."""

from typing import Any

import pytest

from tests.policy.placement.clusters import gates
from webhook.cli.inputs.refusals import find_refusals
from webhook.cli.inputs.subjects import ExplainSubject
from webhook.policy.api.gates import resolve
from webhook.policy.api.versions import Version
from webhook.policy.kinds import DAEMON_SET, DEPLOYMENT, JOB, POD, STATEFUL_SET
from webhook.policy.model import GroupKind

STORED = {"uid": "u1", "resourceVersion": "1"}
ZERO: dict[str, Any] = {"maxSkew": 0}
BOTH: dict[str, Any] = {"matchLabelKeys": ["pod-template-hash"]}
SELECTOR: dict[str, Any] = {"matchLabels": {"pod-template-hash": "h"}}

# kind, metadata, members of the constraint, rules
CASES: dict[str, tuple[GroupKind, dict[str, Any], dict[str, Any], list[str]]] = {
    "a valid Deployment": (DEPLOYMENT, {}, {}, []),
    "a Deployment": (DEPLOYMENT, {}, ZERO, ["TSC001"]),
    "a Deployment that is stored, by an error of another server": (
        DEPLOYMENT, STORED, ZERO, ["TSC001"],
    ),
    "a pod": (POD, {}, ZERO, ["TSC001"]),
    "a pod that is stored": (POD, STORED, ZERO, []),
    "a Deployment that is accepted, and its pods are not": (
        DEPLOYMENT, {}, BOTH | {"labelSelector": SELECTOR}, ["TSC008"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "metadata", "members", "rules"), CASES.values(), ids=CASES.keys())
def test_refusals(
    kind: GroupKind, metadata: dict[str, Any], members: dict[str, Any], rules: list[str]
) -> None:
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    pod = {"spec": {"topologySpreadConstraints": [constraint | members]}}
    value = {"metadata": metadata, "spec": {"template": pod}} if kind == DEPLOYMENT else pod
    path = ("spec", "template") if kind == DEPLOYMENT else ()
    subject = ExplainSubject(kind, path, "shop", {"metadata": metadata, **value}, exists=False)

    found = find_refusals(subject, gates())

    assert [refusal.rule for refusal in found] == rules


def test_a_refusal_has_the_words_of_kube_apiserver() -> None:
    constraint = {"maxSkew": 0, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    pod = {"metadata": None, "spec": {"topologySpreadConstraints": [constraint]}}

    (refusal,) = find_refusals(ExplainSubject(POD, (), "shop", pod, exists=False), gates())

    assert refusal.field == "spec.topologySpreadConstraints[0].maxSkew"
    assert refusal.message == "Invalid value: 0: must be greater than zero"


# minor version of Kubernetes, the last members of the fields that are refused
LIMITS: dict[str, tuple[int, list[str]]] = {
    "1.36 drops the limit": (36, ["replicas"]),
    "1.37 keeps it": (37, ["replicas", "maxUnavailable"]),
}


@pytest.mark.parametrize(("minor", "fields"), LIMITS.values(), ids=LIMITS.keys())
def test_replicas_and_the_strategy_are_refused_without_a_rule(
    minor: int, fields: list[str]
) -> None:
    strategy = {"rollingUpdate": {"maxUnavailable": "150%"}}
    spec = {"replicas": "3", "updateStrategy": strategy, "template": {"spec": {}}}
    path = ("spec", "template")
    subject = ExplainSubject(STATEFUL_SET, path, "shop", {"spec": spec}, exists=True)

    found = find_refusals(subject, resolve(Version(1, minor), {}))

    assert {refusal.rule for refusal in found} == {""}
    assert [refusal.field.rpartition(".")[2] for refusal in found] == fields


WHOLE = {"containers": [{"name": "c", "image": "i"}]}

# kind, members of the specification, specification of the pods, fields that are refused
FIELDS: dict[str, tuple[GroupKind, dict[str, Any], dict[str, Any], list[str]]] = {
    "a DaemonSet": (
        DAEMON_SET, {"updateStrategy": {"rollingUpdate": {"maxSurge": 1}}}, {}, ["maxSurge"]
    ),
    "a Job": (JOB, {"parallelism": -2}, {}, ["parallelism"]),
    "a selector of other pods": (
        DEPLOYMENT, {"selector": {"matchLabels": {"app": "nope"}}}, {}, ["labels"]
    ),
    "no selector": (DEPLOYMENT, {}, WHOLE, ["selector", "labels"]),
    "no selector in a snapshot": (DEPLOYMENT, {}, {}, []),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "members", "pod", "fields"), FIELDS.values(), ids=FIELDS.keys())
def test_fields_that_are_refused_by_kind(
    kind: GroupKind, members: dict[str, Any], pod: dict[str, Any], fields: list[str]
) -> None:
    spec = {"template": {"metadata": {"labels": {"app": "web"}}, "spec": pod}, **members}
    subject = ExplainSubject(kind, ("spec", "template"), "shop", {"spec": spec}, exists=False)

    found = find_refusals(subject, gates())

    assert [refusal.field.rpartition(".")[2] for refusal in found] == fields
