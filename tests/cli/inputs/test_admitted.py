"""Objects of manifests are explained as the server would admit them."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.cli.inputs.manifestclusters import cluster_of_text
from tests.policy.placement.clusters import gates
from webhook.cli.inputs.admitted import ServerAdmission
from webhook.cli.inputs.subjects import ExplainSubject, decode_template
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.errors import SourceError
from webhook.policy.defaulting.profiles import (
    FieldDefaults,
    Merge,
    Mode,
    Policy,
    Profile,
    ScaleDown,
)
from webhook.policy.facts import Facts
from webhook.policy.kinds import DEPLOYMENT, POD, ROLLOUT
from webhook.policy.model import Constraint, GroupKind, LabelSelector
from webhook.policy.rule_entry import Action

DEFAULT = Constraint(max_skew=1, topology_key="zone", when_unsatisfiable="DoNotSchedule")
POLICY = Policy(gates=gates(), profiles=(Profile(name="all", constraints=(DEFAULT,)),))
RECOMMEND = replace(POLICY, mode=Mode.RECOMMEND)
OWN: dict[str, Any] = {
    "maxSkew": 1, "topologyKey": "rack", "labelSelector": {"matchLabels": {"app": "web"}}
}  # fmt: skip
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": True}


def pod(*constraints: Any, **metadata: Any) -> dict[str, Any]:
    known = {"name": "web", "labels": {"app": "web"}, "ownerReferences": [OWNER], **metadata}
    spec = {"containers": [{"name": "c"}], "topologySpreadConstraints": list(constraints)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": known, "spec": spec}


def deployment(*constraints: Any) -> dict[str, Any]:
    spec = {"replicas": 2, "template": pod(*constraints)}
    return {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec
    }  # fmt: skip


def subject_of(value: dict[str, Any], kind: GroupKind = POD, **changes: Any) -> ExplainSubject:
    path = () if kind == POD else ("spec", "template")
    return ExplainSubject(kind, path, "shop", value, **{"exists": False, **changes})


def facts() -> Facts:
    """The facts of a cluster with a Service that selects the pods."""
    service = "{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: %s}"
    text = service % "{selector: {app: web}}"
    return cluster_of_text(text).facts("shop")


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


ROLLOUT_POLICY = replace(POLICY, pod_templates={ROLLOUT: ("spec", "template")})
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
        ServerAdmission(policy).admit(subject_of(value, kind), facts())


def test_metadata_of_a_wrong_type_is_left_to_the_reader_of_the_object() -> None:
    admitted = ServerAdmission(POLICY).admit(subject_of({**pod(), "metadata": 7}), facts())

    assert admitted.subject.value["metadata"] == {"namespace": "shop"}


def decode(value: dict[str, Any]) -> ApiPod:
    return decode_template(subject_of(value))


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
