"""Objects and pods are reviewed as by the server, also those that lists of an API server have."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.cli.inputs.reviewed import OWN, POLICY, decode, deployment, facts, pod, subject_of
from webhook.cli.inputs.offlinereviews import (
    describe_refusal,
    patch_pod,
    review_pod,
    review_subject,
)
from webhook.errors import SourceError
from webhook.explain.explanation import Refusal
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.kinds import DEPLOYMENT, POD, ROLLOUT
from webhook.policy.model import GroupKind
from webhook.policy.request import Hook

ROLLOUT_POLICY = replace(
    POLICY, pod_templates={**POLICY.pod_templates, ROLLOUT: ("spec", "template")}
)
UNREADABLE: dict[str, tuple[Policy, GroupKind, dict[str, Any], str]] = {
    "of Kubernetes": (POLICY, POD, {**pod(), "spec": 7}, "Pod shop/web: the server would answer"),
    "of a custom kind": (
        ROLLOUT_POLICY,
        ROLLOUT,
        {
            **deployment(),
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "Rollout",
            "spec": {"template": pod(7)},
        },
        "Rollout shop/web: .* cannot be read",
    ),
}


@pytest.mark.parametrize(
    ("policy", "kind", "value", "problem"), UNREADABLE.values(), ids=UNREADABLE.keys()
)
def test_an_object_that_the_server_cannot_read_is_a_problem(
    policy: Policy, kind: GroupKind, value: dict[str, Any], problem: str
) -> None:
    with pytest.raises(SourceError, match=problem):
        review_subject(subject_of(value, kind), policy, facts())


def test_metadata_of_a_wrong_type_is_left_to_the_reader_of_the_object() -> None:
    first, last = review_subject(subject_of({**pod(), "metadata": 7}), POLICY, facts())

    assert first.after["metadata"] == {"namespace": "shop"}
    assert last.verdict.allowed


# kind -> an object as a list of an API server has it
LISTED: dict[GroupKind, dict[str, Any]] = {
    DEPLOYMENT: deployment(OWN),
    ROLLOUT: deployment(OWN),
}


@pytest.mark.parametrize(("kind", "value"), LISTED.items(), ids=map(str, LISTED))
def test_an_item_of_a_list_gets_its_kind(kind: GroupKind, value: dict[str, Any]) -> None:
    item = {name: member for name, member in value.items() if name in ("metadata", "spec")}

    results = review_subject(subject_of(item, kind), ROLLOUT_POLICY, facts())

    (written,) = results[0].after["spec"]["template"]["spec"]["topologySpreadConstraints"]
    assert results[0].after["kind"] == kind.kind
    assert written["whenUnsatisfiable"] == "DoNotSchedule"


def test_a_pod_gets_the_patch_of_its_verdict() -> None:
    created = decode(pod())

    verdict = review_pod(created, "shop", Hook.MUTATE, POLICY, facts())
    patched = patch_pod(created, verdict)

    assert [one.topology_key for one in patched.constraints] == ["zone"]
    last = review_pod(patched, "shop", Hook.VALIDATE, POLICY, facts())
    assert last.allowed
    assert patch_pod(patched, last) is patched


def test_a_refusal_names_the_rule_and_the_field() -> None:
    created = decode(pod({**OWN, "maxSkew": 0}))

    verdict = review_pod(created, "shop", Hook.VALIDATE, POLICY, facts())

    field = "spec.topologySpreadConstraints[0].maxSkew"
    message = "Invalid value: 0: must be greater than zero"
    assert Refusal("TSC001", field, message) in map(describe_refusal, verdict.findings)
