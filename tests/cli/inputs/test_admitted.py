"""Objects of manifests are explained as the server would admit them."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.cli.inputs.reviewed import OWN, POLICY, decode, deployment, facts, pod, subject_of
from webhook.cli.inputs.admitted import ServerAdmission
from webhook.policy.defaulting.profiles import (
    FieldDefaults,
    Merge,
    Mode,
    Policy,
    ScaleDown,
)
from webhook.policy.kinds import DEPLOYMENT, POD
from webhook.policy.model import GroupKind, LabelSelector
from webhook.policy.rule_entry import Action

RECOMMEND = replace(POLICY, mode=Mode.RECOMMEND)


def constraints_of(value: dict[str, Any]) -> list[tuple[str, str]]:
    constraints = value["spec"].get("template", value)["spec"]["topologySpreadConstraints"]
    return [(one["topologyKey"], one.get("whenUnsatisfiable", "")) for one in constraints]


HARD = "DoNotSchedule"
# policy, kind, manifest; keys and actions of its constraints
ADMITTED: dict[str, tuple[Policy | None, GroupKind, dict[str, Any], list[tuple[str, str]]]] = {
    "no server": (None, POD, pod(), []),
    "a pod without constraints": (POLICY, POD, pod(), [("zone", HARD)]),
    "a pod in recommend mode": (RECOMMEND, POD, pod(), []),
    "a pod that was stored": (POLICY, POD, pod(uid="u", resourceVersion="1"), []),
    "an omitted field": (POLICY, POD, pod(OWN), [("rack", HARD)]),
    "an omitted field of a template": (POLICY, DEPLOYMENT, deployment(OWN), [("rack", HARD)]),
    "an omitted field in recommend mode": (
        RECOMMEND, DEPLOYMENT, deployment(OWN), [("rack", "")]
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ADMITTED.values(), ids=ADMITTED.keys())
def test_a_manifest_gets_what_the_server_adds(
    case: tuple[Policy | None, GroupKind, dict[str, Any], list[tuple[str, str]]],
) -> None:
    policy, kind, manifest, expected = case

    admitted = ServerAdmission(policy).admit(subject_of(manifest, kind), facts())

    assert constraints_of(admitted.subject.value) == expected
    assert admitted.refused == ()


def test_an_object_of_the_cluster_is_admitted_already() -> None:
    subject = subject_of(pod(), exists=True)

    assert ServerAdmission(POLICY).admit(subject, facts()).subject is subject


# actions, constraint, rule
DENIED: dict[str, tuple[dict[str, Action], dict[str, Any], str]] = {
    "by an API rule": ({}, {**OWN, "maxSkew": 0}, "TSC001"),
    "by a policy rule": (
        {"TSC101": Action.DENY}, {**OWN, "labelSelector": {"matchLabels": {"app": "x"}}}, "TSC101"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("actions", "constraint", "rule"), DENIED.values(), ids=DENIED.keys())
def test_what_the_server_denies_is_refused(
    actions: dict[str, Action], constraint: dict[str, Any], rule: str
) -> None:
    policy = replace(POLICY, actions={**POLICY.actions, **actions})
    subject = subject_of(deployment(constraint), DEPLOYMENT)

    admitted = ServerAdmission(policy).admit(subject, facts())

    assert [refusal.rule for refusal in admitted.refused] == [rule]
    assert admitted.subject is subject


def test_a_created_pod_gets_defaults_selectors_and_the_label_of_ranks() -> None:
    profile = replace(
        POLICY.profiles[0], scale_down=ScaleDown.KEEP_SPREAD, merge=Merge.PER_TOPOLOGY_KEY,
        complete_selectors=True,
    )  # fmt: skip
    policy = replace(POLICY, profiles=(profile,), field_defaults=FieldDefaults.ALL)
    created = decode(pod({"topologyKey": "rack"}))

    admitted = ServerAdmission(policy).admit_pod(created, "shop", facts())

    selector = LabelSelector({"app": "web"})
    found = [(one.topology_key, one.max_skew, one.label_selector) for one in admitted.constraints]
    assert found == [("rack", 1, selector), ("zone", 1, selector)]
    assert admitted.labels == {"app": "web", "evenspread.io/scale-down": "keep-spread"}


def test_a_created_pod_stays_as_it_is_without_a_server_and_in_recommend_mode() -> None:
    created = decode(pod())

    for policy in (None, RECOMMEND):
        assert ServerAdmission(policy).admit_pod(created, "shop", facts()) == created


def test_a_created_pod_that_the_server_denies_stays_as_it_is() -> None:
    created = decode(pod({**OWN, "maxSkew": 0}))

    assert ServerAdmission(POLICY).admit_pod(created, "shop", facts()) == created
