"""Lists of constraints in objects of known and of configured kinds, at places without a path."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.build import Json
from webhook.policy.kinds import (
    CRON_JOB,
    DEPLOYMENT,
    JOB_SET,
    KNOWN_TEMPLATES,
    LEADER_WORKER_SET,
    POD,
    REPLICA_SET,
    ROLLOUT,
)
from webhook.policy.model import GroupKind
from webhook.policy.places import TemplatePatterns
from webhook.policy.unjudged import (
    DEEPEST_LIST,
    describe_unjudged,
    find_unjudged_lists,
    has_known_places,
)

LIST: Json = {"topologySpreadConstraints": [{"topologyKey": "zone"}]}
IN_SPEC = ("spec", "topologySpreadConstraints")
IN_TEMPLATE = ("spec", "template", *IN_SPEC)
FORMATTED = "spec.template.spec.topologySpreadConstraints"
FLEET = GroupKind("example.io", "Fleet")

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
    "no object": ([LIST], DEPLOYMENT, []),
}  # fmt: skip


@pytest.mark.parametrize(("value", "kind", "paths"), MISPLACED.values(), ids=MISPLACED.keys())
def test_lists_at_no_known_place(
    value: Any, kind: GroupKind, paths: list[tuple[str | int, ...]]
) -> None:
    places = KNOWN_TEMPLATES[kind]

    assert list(find_unjudged_lists(value, kind, places)) == paths


def nest_value(path: Sequence[str], value: Any) -> Json:
    """Build an object that has a value at a path."""
    for name in reversed(path):
        value = {name: value}
    assert isinstance(value, dict)
    return value


KAFKA: Json = {
    "spec": {
        "kafka": {"pod": LIST},
        "pools": [{"pod": LIST}, {"pod": LIST}],
        "jobs": [TEMPLATE],
        "template": {"metadata": {"annotations": LIST}, "spec": LIST},
    },
    "status": LIST,
}
IN_POD = ("pod", "topologySpreadConstraints")
IN_KAFKA, IN_POOLS = ("spec", "kafka", *IN_POD), ("spec", "pools", "*", *IN_POD)
JOBS, THE_TEMPLATE = ("spec", "jobs", "*", "template"), ("spec", "template")

# patterns of the configuration, the lists that are not judged
CONFIGURED: dict[str, tuple[tuple[tuple[str, ...], ...], list[tuple[str | int, ...]]]] = {
    "all lists": ((IN_KAFKA, IN_POOLS, JOBS, THE_TEMPLATE), []),
    "all but a list": (
        (IN_POOLS, JOBS, THE_TEMPLATE), [("spec", "kafka", *IN_POD)]
    ),
    "all but a list of lists": (
        (IN_KAFKA, JOBS, THE_TEMPLATE),
        [("spec", "pools", 0, *IN_POD), ("spec", "pools", 1, *IN_POD)],
    ),
    "all but templates": ((IN_KAFKA, IN_POOLS), [("spec", "jobs", 0, *LISTED), IN_TEMPLATE]),
}  # fmt: skip


@pytest.mark.parametrize(("patterns", "paths"), CONFIGURED.values(), ids=CONFIGURED.keys())
@pytest.mark.parametrize("kind", [FLEET, GroupKind("fleet.k8s.io", "Fleet")])
def test_lists_that_no_configured_path_covers(
    patterns: tuple[tuple[str, ...], ...], paths: list[tuple[str | int, ...]], kind: GroupKind
) -> None:
    assert list(find_unjudged_lists(KAFKA, kind, TemplatePatterns(patterns))) == paths


def test_a_configured_path_covers_its_own_list_only() -> None:
    assert list(find_unjudged_lists({"spec": LIST}, FLEET, IN_SPEC)) == []
    assert list(find_unjudged_lists({"spec": LIST}, FLEET, ("spec", "template"))) == [IN_SPEC]


def test_a_list_is_found_beside_one_that_is_judged_below_what_is_searched() -> None:
    deep = (*("a",) * DEEPEST_LIST, LISTED[-1])
    value = nest_value(deep, [{}]) | {"spec": LIST}

    assert list(find_unjudged_lists(value, FLEET, deep)) == [IN_SPEC]


def test_an_unknown_field_in_a_configured_template_is_a_finding_already() -> None:
    value = {"spec": {"template": LIST}}

    assert list(find_unjudged_lists(value, FLEET, ("spec", "template"))) == []


def test_places_that_are_configured_replace_the_known_ones() -> None:
    value = {"spec": {"first": {"spec": LIST}, **TEMPLATE}}

    assert list(find_unjudged_lists(value, ROLLOUT, ("spec", "first"))) == [IN_TEMPLATE]
    assert not has_known_places(("spec", "first"), ROLLOUT)
    assert has_known_places(("spec", "template"), ROLLOUT)


@pytest.mark.parametrize(
    ("path", "advice"),
    [
        (IN_SPEC, "add its path to constraintLists of the configuration (--config)"),
        (
            IN_TEMPLATE,
            "add the path of its pod template to podTemplates of the configuration (--config)",
        ),
    ],
)
def test_the_message_for_a_configured_kind(path: tuple[str, ...], advice: str) -> None:
    described = describe_unjudged(path, "example.io/v1", FLEET, {FLEET: ("spec", "other")})

    assert described.endswith(f" of {FLEET} is not judged: {advice}")


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
    assert describe_unjudged(path, "", kind, KNOWN_TEMPLATES) == message
