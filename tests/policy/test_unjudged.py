"""Lists of constraints in objects of kinds that no rule judges, and the kinds that are meant."""

from typing import Any

import pytest

from tests.build import Json
from webhook.config.configuration import Configuration
from webhook.policy.kinds import (
    CRON_JOB,
    DEPLOYMENT,
    JOB,
    JOB_SET,
    KNATIVE_SERVICE,
    KNOWN_TEMPLATES,
    LEADER_WORKER_SET,
    POD,
    REPLICA_SET,
    ROLLOUT,
)
from webhook.policy.model import GroupKind, group_of
from webhook.policy.places import TemplatePlaces
from webhook.policy.unjudged import (
    describe_misplaced,
    describe_unjudged,
    find_misplaced_lists,
    find_unjudged_list,
    is_in_template,
    suggest_kind,
)

ENTRY: Json = {"topologyKey": "zone"}
LIST: Json = {"topologySpreadConstraints": [ENTRY]}
IN_SPEC = ("spec", "topologySpreadConstraints")
FLEET = GroupKind("example.io", "Fleet")

UNJUDGED: dict[str, tuple[Any, GroupKind, Any]] = {
    "a list under the specification": ({"spec": LIST}, FLEET, IN_SPEC),
    "a list deep in it": (
        {"spec": {"a": {"b": LIST}}}, FLEET, ("spec", "a", "b", "topologySpreadConstraints")
    ),
    "a list in a list": (
        {"spec": {"nodeSets": [{}, {"podTemplate": {"spec": LIST}}]}},
        FLEET,
        ("spec", "nodeSets", 1, "podTemplate", *IN_SPEC),
    ),
    "an empty list": ({"spec": {"topologySpreadConstraints": []}}, FLEET, None),
    "a schema": ({"properties": LIST}, FLEET, None),
    "values of a chart": ({"values": LIST}, FLEET, None),
    "a pattern of a policy": ({"spec": {"rules": [{"pattern": LIST}]}}, FLEET, None),
    "too many levels": ({"spec": {"a": [[[[[[[[[[[LIST]]]]]]]]]]]}}, FLEET, None),
    "a misspelled kind": ({"spec": LIST}, GroupKind("apps", "Deploymnet"), IN_SPEC),
    "a misspelled group": ({"spec": LIST}, GroupKind("app", "Deployment"), IN_SPEC),
    "a group of older versions": ({"spec": LIST}, GroupKind("extensions", "DaemonSet"), IN_SPEC),
    "the core group": ({"spec": LIST}, GroupKind("", "StatefulSet"), IN_SPEC),
    "a group with the domain": ({"spec": LIST}, GroupKind("apps.k8s.io", "Deployment"), IN_SPEC),
    "a copy of another object": ({"data": LIST}, GroupKind("apps", "ControllerRevision"), None),
    "a kind of Kubernetes": ({"spec": LIST}, GroupKind("x.k8s.io", "X"), None),
    "a kind without pods": ({"spec": LIST}, GroupKind("", "Node"), None),
    "a suite of tests": ({"objects": [LIST]}, GroupKind("evenspread.io", "SpreadTest"), None),
    "no object": ([], FLEET, None),
}  # fmt: skip


@pytest.mark.parametrize(("value", "kind", "path"), UNJUDGED.values(), ids=UNJUDGED.keys())
def test_a_list_that_is_not_judged(value: Any, kind: GroupKind, path: Any) -> None:
    assert find_unjudged_list(value, kind) == path


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


TEMPLATE: Json = {"template": {"spec": LIST}}
LISTED = ("template", *IN_SPEC)

# object, kind, the lists that are not judged
MISPLACED: dict[str, tuple[Any, GroupKind, list[tuple[str | int, ...]]]] = {
    "a misspelled specification": ({"Spec": TEMPLATE}, REPLICA_SET, [("Spec", *LISTED)]),
    "a misspelled template": (
        {"spec": {"Template": {"spec": LIST}}}, DEPLOYMENT, [("spec", "Template", *IN_SPEC)]
    ),
    "a missing specification": (
        {"spec": {"jobTemplate": TEMPLATE}}, CRON_JOB, [("spec", "jobTemplate", *LISTED)]
    ),
    "no specification": (TEMPLATE, DEPLOYMENT, [LISTED]),
    "a custom kind": ({"Spec": TEMPLATE}, ROLLOUT, [("Spec", *LISTED)]),
    "a list of templates": (
        {"spec": {"ReplicatedJobs": [{"template": {"spec": TEMPLATE}}]}},
        JOB_SET,
        [("spec", "ReplicatedJobs", 0, "template", "spec", *LISTED)],
    ),
    "beside a judged list": (
        {"spec": TEMPLATE, "Spec": TEMPLATE}, DEPLOYMENT, [("Spec", *LISTED)]
    ),
    "several": (
        {"Spec": TEMPLATE, "Specs": TEMPLATE},
        DEPLOYMENT,
        [("Spec", *LISTED), ("Specs", *LISTED)],
    ),
    "a judged list": ({"spec": TEMPLATE}, DEPLOYMENT, []),
    "the list of a pod": ({"spec": LIST}, POD, []),
    "a judged list in a list": (
        {"spec": {"replicatedJobs": [{"template": {"spec": TEMPLATE}}]}}, JOB_SET, []
    ),
    "a list that is an unknown field": ({"spec": LIST}, DEPLOYMENT, []),
    "an unknown field of a container": (
        {"spec": {"template": {"spec": {"containers": [LIST]}}}}, DEPLOYMENT, []
    ),
    "an empty list": ({"Spec": {"topologySpreadConstraints": []}}, DEPLOYMENT, []),
    "annotations": ({"metadata": {"annotations": {"a": LIST}}}, DEPLOYMENT, []),
    "a text": ({"Spec": "topologySpreadConstraints: [{}]"}, DEPLOYMENT, []),
    "a status": ({"status": TEMPLATE}, DEPLOYMENT, []),
    "managed fields": ({"metadata": {"managedFields": [{"a": LIST}]}}, DEPLOYMENT, []),
    "an unknown kind": ({"Spec": TEMPLATE}, FLEET, []),
    "no object": ([LIST], DEPLOYMENT, []),
}  # fmt: skip


@pytest.mark.parametrize(("value", "kind", "paths"), MISPLACED.values(), ids=MISPLACED.keys())
def test_lists_at_no_known_place(
    value: Any, kind: GroupKind, paths: list[tuple[str | int, ...]]
) -> None:
    places = Configuration().pod_templates.get(kind, ("spec", "template"))

    assert sorted(find_misplaced_lists(value, kind, places)) == paths


@pytest.mark.parametrize("places", [("spec", "first"), ("Spec", *LISTED)])
def test_places_that_are_configured_replace_the_known_ones(places: TemplatePlaces) -> None:
    assert list(find_misplaced_lists({"Spec": TEMPLATE}, ROLLOUT, places)) == []


IN_ITS_POD = "template.spec.topologySpreadConstraints"

# path, kind, the message
SUGGESTED: dict[str, tuple[tuple[str | int, ...], GroupKind, str]] = {
    "a misspelled specification": (
        ("Spec", *LISTED),
        REPLICA_SET,
        f"Spec.{IN_ITS_POD} of ReplicaSet.apps is not judged: did you mean {FORMATTED}?",
    ),
    "a missing specification": (
        ("spec", "jobTemplate", *LISTED),
        CRON_JOB,
        (
            f"spec.jobTemplate.{IN_ITS_POD} of CronJob.batch is not judged: did you mean "
            f"spec.jobTemplate.spec.{IN_ITS_POD}?"
        ),
    ),
    "a list of templates": (
        ("spec", "ReplicatedJobs", 0, "template", "spec", *LISTED),
        JOB_SET,
        (
            f"spec.ReplicatedJobs[0].template.spec.{IN_ITS_POD} of JobSet.jobset.x-k8s.io is not "
            f"judged: did you mean spec.replicatedJobs[*].template.spec.{IN_ITS_POD}?"
        ),
    ),
    "one of several templates": (
        ("spec", "leaderWorkerTemplate", "workertemplate", *IN_SPEC),
        LEADER_WORKER_SET,
        (
            "spec.leaderWorkerTemplate.workertemplate.spec.topologySpreadConstraints of "
            f"{LEADER_WORKER_SET} is not judged: did you mean "
            "spec.leaderWorkerTemplate.workerTemplate.spec.topologySpreadConstraints?"
        ),
    ),
    "a path that resembles none": (
        ("data", "topologySpreadConstraints"),
        DEPLOYMENT,
        f"data.topologySpreadConstraints of Deployment.apps is not judged: write it at {FORMATTED}",
    ),
    "a path that resembles none of several": (
        ("data", "topologySpreadConstraints"),
        LEADER_WORKER_SET,
        (
            f"data.topologySpreadConstraints of {LEADER_WORKER_SET} is not judged: write it at "
            "spec.leaderWorkerTemplate.leaderTemplate.spec.topologySpreadConstraints or "
            "spec.leaderWorkerTemplate.workerTemplate.spec.topologySpreadConstraints"
        ),
    ),
}


@pytest.mark.parametrize(("path", "kind", "message"), SUGGESTED.values(), ids=SUGGESTED.keys())
def test_the_message_names_the_place_that_is_meant(
    path: tuple[str | int, ...], kind: GroupKind, message: str
) -> None:
    assert describe_misplaced(path, kind, KNOWN_TEMPLATES[kind]) == message
