"""Lists of constraints in objects of kinds that no rule judges, and the kinds that are meant."""

from typing import Any

import pytest

from tests.build import Json
from webhook.config.configuration import Configuration
from webhook.policy.kinds import (
    DEPLOYMENT,
    JOB,
    JOB_SET,
    KNATIVE_SERVICE,
    POD,
    ROLLOUT,
)
from webhook.policy.model import GroupKind, group_of
from webhook.policy.unjudged import (
    describe_unjudged,
    find_unjudged_lists,
    is_in_template,
    suggest_kind,
)

ENTRY: Json = {"topologyKey": "zone"}
LIST: Json = {"topologySpreadConstraints": [ENTRY]}
TEXT = '{"spec": {"topologySpreadConstraints": [{"topologyKey": "zone"}]}}'
IN_SPEC = ("spec", "topologySpreadConstraints")
FLEET = GroupKind("example.io", "Fleet")

# object, kind, the lists that are not judged
UNJUDGED: dict[str, tuple[Any, GroupKind, list[tuple[str | int, ...]]]] = {
    "a list under the specification": ({"spec": LIST}, FLEET, [IN_SPEC]),
    "a list deep in it": (
        {"spec": {"a": {"b": LIST}}}, FLEET, [("spec", "a", "b", "topologySpreadConstraints")]
    ),
    "a list in a list": (
        {"spec": {"nodeSets": [{}, {"podTemplate": {"spec": LIST}}]}},
        FLEET,
        [("spec", "nodeSets", 1, "podTemplate", *IN_SPEC)],
    ),
    "several lists in their order": (
        {"spec": {"kafka": {"pod": LIST}, "sets": [LIST, LIST], **LIST, "entityOperator": LIST}},
        FLEET,
        [
            ("spec", "kafka", "pod", "topologySpreadConstraints"),
            ("spec", "sets", 0, "topologySpreadConstraints"),
            ("spec", "sets", 1, "topologySpreadConstraints"),
            IN_SPEC,
            ("spec", "entityOperator", "topologySpreadConstraints"),
        ],
    ),
    "a status beside a specification": ({"status": LIST, "spec": LIST}, FLEET, [IN_SPEC]),
    "annotations and managed fields": (
        {"metadata": {"annotations": LIST, "managedFields": [LIST]}}, FLEET, []
    ),
    "the object that was applied, as a text": (
        {"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": TEXT}}},
        FLEET,
        [],
    ),
    "data of a ConfigMap": ({"data": {"values.yaml": TEXT}}, GroupKind("", "ConfigMap"), []),
    "a schema of a custom kind": (
        {"spec": {"versions": [{"schema": {"openAPIV3Schema": LIST}}]}},
        GroupKind("apiextensions.k8s.io", "CustomResourceDefinition"),
        [],
    ),
    "defaults of kube-scheduler": (
        {"profiles": [{"pluginConfig": [{"args": LIST}]}]},
        GroupKind("kubescheduler.config.k8s.io", "KubeSchedulerConfiguration"),
        [],
    ),
    "a patch of a policy": (
        {"spec": {"rules": [{"mutate": {"patchStrategicMerge": {"spec": LIST}}}]}}, FLEET, []
    ),
    "an empty list": ({"spec": {"topologySpreadConstraints": []}}, FLEET, []),
    "beside a text that is no UTF-8": ({"spec": LIST, "text": "\ud800"}, FLEET, [IN_SPEC]),
    "a schema": ({"properties": LIST}, FLEET, []),
    "values of a chart": ({"values": LIST}, FLEET, []),
    "a pattern of a policy": ({"spec": {"rules": [{"pattern": LIST}]}}, FLEET, []),
    "too many levels": ({"spec": {"a": [[[[[[[[[[[LIST]]]]]]]]]]]}}, FLEET, []),
    "a misspelled kind": ({"spec": LIST}, GroupKind("apps", "Deploymnet"), [IN_SPEC]),
    "a misspelled group": ({"spec": LIST}, GroupKind("app", "Deployment"), [IN_SPEC]),
    "a group of older versions": ({"spec": LIST}, GroupKind("extensions", "DaemonSet"), [IN_SPEC]),
    "the core group": ({"spec": LIST}, GroupKind("", "StatefulSet"), [IN_SPEC]),
    "a group with the domain": ({"spec": LIST}, GroupKind("apps.k8s.io", "Deployment"), [IN_SPEC]),
    "a copy of another object": ({"data": LIST}, GroupKind("apps", "ControllerRevision"), []),
    "a kind of Kubernetes": ({"spec": LIST}, GroupKind("node.k8s.io", "X"), []),
    "a custom kind with the domain of Kubernetes": (
        {"spec": {"executor": {"template": {"spec": LIST}}}},
        GroupKind("sparkoperator.k8s.io", "SparkApplication"),
        [("spec", "executor", "template", *IN_SPEC)],
    ),
    "a kind without pods": ({"spec": LIST}, GroupKind("", "Node"), []),
    "a suite of tests": ({"objects": [LIST]}, GroupKind("evenspread.io", "SpreadTest"), []),
    "no object": ([], FLEET, []),
}  # fmt: skip


@pytest.mark.parametrize(("value", "kind", "paths"), UNJUDGED.values(), ids=UNJUDGED.keys())
def test_lists_of_a_kind_that_is_not_judged(
    value: Any, kind: GroupKind, paths: list[tuple[str | int, ...]]
) -> None:
    assert list(find_unjudged_lists(value, kind, None)) == paths


@pytest.mark.parametrize(
    ("outer", "expected"),
    [(("spec",), False), (("spec", "kafka"), False), (("spec", "podTemplate", "spec"), True)],
)
def test_a_specification_in_another_is_a_pod_template(
    outer: tuple[str, ...], *, expected: bool
) -> None:
    assert is_in_template((*outer, "topologySpreadConstraints")) is expected


# group and kind, the kind that is meant
MEANT: dict[str, tuple[str, str, GroupKind | None]] = {
    "the group": ("app", "Deployment", DEPLOYMENT),
    "no group": ("", "Deployment", DEPLOYMENT),
    "an older group": ("extensions", "Deployment", DEPLOYMENT),
    "the case": ("apps", "deployment", DEPLOYMENT),
    "the letters": ("apps", "Deploymnet", DEPLOYMENT),
    "the plural": ("batch", "Jobs", JOB),
    "both": ("app", "deploymnet", DEPLOYMENT),
    "the group of a pod": ("apps", "Pod", POD),
    "a custom kind without its domain": ("argoproj", "Rollout", ROLLOUT),
    "a custom kind": ("argoproj.io", "Rolout", ROLLOUT),
    "the group of a custom kind": ("jobset.k8s.io", "JobSet", JOB_SET),
    "a group with the domain of Kubernetes": ("apps.k8s.io", "Deployment", DEPLOYMENT),
    "a kind of the same name elsewhere": ("", "Service", KNATIVE_SERVICE),
    "a custom kind of another group": ("example.io", "Deployment", None),
    "a kind that resembles none": ("apps", "Fleet", None),
    "a long word": ("apps", "Deployment" * 100, None),
}


@pytest.mark.parametrize(("group", "kind", "meant"), MEANT.values(), ids=MEANT.keys())
def test_the_kind_that_is_meant(group: str, kind: str, meant: GroupKind | None) -> None:
    assert suggest_kind(GroupKind(group, kind), Configuration().pod_templates) == meant


IN_TEMPLATE = ("spec", "template", *IN_SPEC)

FORMATTED = "spec.template.spec.topologySpreadConstraints"
CONFIGURE = "name the kind in podTemplates of a configuration (--config)"

# path, apiVersion, kind, the end of the message
MESSAGES: dict[str, tuple[tuple[str, ...], str, str, str]] = {
    "a misspelled group": (
        IN_TEMPLATE,
        "app/v1",
        "Deployment",
        (
            f"{FORMATTED} of Deployment.app is not judged: app/v1 has no kind Deployment with a "
            "pod template; did you mean apiVersion: apps/v1?"
        ),
    ),
    "a misspelled kind": (
        IN_TEMPLATE,
        "apps/v1",
        "Deploymnet",
        "apps/v1 has no kind Deploymnet with a pod template; did you mean kind: Deployment?",
    ),
    "both": (
        IN_TEMPLATE,
        "v1",
        "deployment",
        "did you mean apiVersion: apps/v1 and kind: Deployment?",
    ),
    "the group of a custom kind": (
        IN_TEMPLATE,
        "apps/v1",
        "Rollout",
        "did you mean an apiVersion of argoproj.io?",
    ),
    "a kind that resembles none": (
        IN_TEMPLATE,
        "apps/v1",
        "Fleet",
        "apps/v1 has no kind Fleet with a pod template; correct kind or apiVersion",
    ),
    "a custom kind": (
        IN_TEMPLATE,
        "example.io/v1",
        "Fleet",
        f"of Fleet.example.io is not judged: {CONFIGURE}",
    ),
    "a list in a custom kind": (
        IN_SPEC,
        "example.io/v1",
        "Fleet",
        CONFIGURE.replace("podTemplates", "constraintLists"),
    ),
    "a misspelled custom kind": (
        IN_TEMPLATE,
        "argoproj.io/v1",
        "Rolout",
        f"is not judged: did you mean kind: Rollout? Otherwise {CONFIGURE}",
    ),
}


@pytest.mark.parametrize(
    ("path", "api_version", "kind", "end"), MESSAGES.values(), ids=MESSAGES.keys()
)
def test_the_message_says_what_to_do(
    path: tuple[str, ...], api_version: str, kind: str, end: str
) -> None:
    group_kind = GroupKind(group_of(api_version), kind)

    described = describe_unjudged(path, api_version, group_kind, Configuration().pod_templates)

    assert described.endswith(end)
