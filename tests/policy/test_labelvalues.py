"""Values of the labels that controllers add, by the name of the workload."""

import pytest

from webhook.policy import kinds
from webhook.policy.labelvalues import LabelValues, find_values, renew_labels
from webhook.policy.model import GroupKind
from webhook.policy.podlabels import COMPLETION_INDEX, JOB_NAME

POD_NAME, POD_INDEX = "statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index"
LEGACY = "job-name"

# kind, key; the outline, and what it differs by
VALUES: dict[str, tuple[GroupKind, str, str, str]] = {
    "a Job": (kinds.JOB, JOB_NAME, "web", ""),
    "a Job, by the older label": (kinds.JOB, LEGACY, "web", ""),
    "the index of a pod": (kinds.JOB, COMPLETION_INDEX, "<ordinal>", "pod"),
    "a CronJob": (kinds.CRON_JOB, LEGACY, "web-<minutes>", "Job"),
    "a JobSet": (kinds.JOB_SET, LEGACY, "web-workers-<index>", "Job"),
    "the name of a JobSet": (kinds.JOB_SET, "jobset.sigs.k8s.io/jobset-name", "web", ""),
    "a StatefulSet": (kinds.STATEFUL_SET, POD_NAME, "web-<ordinal>", "pod"),
    "an ordinal": (kinds.STATEFUL_SET, POD_INDEX, "<ordinal>", "pod"),
    "the name of a Knative Revision": (kinds.KNATIVE_SERVICE, "app", "web-<revision>", "revision"),
    "the version of a DeploymentConfig": (
        kinds.DEPLOYMENT_CONFIG,
        "deployment",
        "web-<revision>",
        "revision",
    ),
    "a UID": (kinds.JOB, "controller-uid", "<uid>", "object"),
    "a group": (
        kinds.LEADER_WORKER_SET,
        "leaderworkerset.sigs.k8s.io/group-index",
        "<group>",
        "group",
    ),
}


@pytest.mark.parametrize(("kind", "key", "outline", "varies"), VALUES.values(), ids=VALUES.keys())
def test_the_values_of_a_label(kind: GroupKind, key: str, outline: str, varies: str) -> None:
    found = find_values(kind, key, "web", "workers")

    assert found is not None
    assert (found.outline, found.varies) == (outline, varies)


UNKNOWN = {
    "a hash": (kinds.DEPLOYMENT, "pod-template-hash", "web"),
    "the generation of a revision": (kinds.DAEMON_SET, "pod-template-generation", "web"),
    "a long name, of which a revision has a hash": (kinds.KNATIVE_SERVICE, "app", 58 * "w"),
    "a label of another kind": (kinds.DEPLOYMENT, LEGACY, "web"),
    "an unknown kind": (GroupKind("example.com", "Shards"), LEGACY, "web"),
    "a name that is not known": (kinds.JOB, LEGACY, ""),
    "a set of a group": (kinds.LEADER_WORKER_SET, POD_NAME, "web"),
}


@pytest.mark.parametrize(("kind", "key", "name"), UNKNOWN.values(), ids=UNKNOWN.keys())
def test_values_that_are_not_known(kind: GroupKind, key: str, name: str) -> None:
    assert find_values(kind, key, name) is None


@pytest.mark.parametrize(
    ("outline", "value", "allowed"),
    [
        ("web", "web", True),
        ("web", "other", False),
        ("web-<ordinal>", "web-12", True),
        ("web-<ordinal>", "web-012", False),
        ("web-<ordinal>", "other-0", False),
        ("w.b-<minutes>", "wxb-1", False),
        ("<uid>", "1f2e", False),
        ("web-<revision>", "web", False),
        ("web-<revision>", "web-00012", True),
        ("web-<revision>", "web-blue", True),
        ("web-<revision>", "webs-00012", False),
    ],
)
def test_values_that_pods_may_have(outline: str, value: str, allowed: bool) -> None:
    assert LabelValues(outline).allows(value) is allowed


WORKER = "leaderworkerset.sigs.k8s.io/worker-index"


@pytest.mark.parametrize(
    ("members", "outline", "varies", "limits"),
    [
        (range(1, 4), "<worker>", "pod", ", from 1 to 3"),
        (range(1, 2**31), "<worker>", "pod", ", from 1"),
        (range(1), "0", "", ""),
    ],
)
def test_the_number_of_a_pod_in_its_group(
    members: range, outline: str, varies: str, limits: str
) -> None:
    found = find_values(kinds.LEADER_WORKER_SET, WORKER, "web", numbers=members)

    assert found is not None
    assert (found.outline, found.varies, found.limits) == (outline, varies, limits)
    values = "0", "1", "3", "4", "01", "x", "9" * 5000
    assert [one for one in values if found.allows(one)] == [
        one for one in values[:4] if int(one) in members
    ]


@pytest.mark.parametrize("members", [None, range(0)])
def test_groups_of_which_the_pods_are_not_known(members: range | None) -> None:
    assert find_values(kinds.LEADER_WORKER_SET, WORKER, "web", numbers=members) is None


@pytest.mark.parametrize(
    ("key", "value"), [(JOB_NAME, "web-w-{}"), ("jobset.sigs.k8s.io/job-index", "{}")]
)
def test_the_numbers_of_the_jobs_of_a_job_set(key: str, value: str) -> None:
    found = find_values(kinds.JOB_SET, key, "web", "w", range(2))
    unknown = find_values(kinds.JOB_SET, key, "web", "w", range(0))

    assert found is not None
    assert unknown is not None
    assert found.limits == ", from 0 to 1"
    values = [value.format(number) for number in (0, 1, 2)]
    assert [found.allows(one) for one in values] == [True, True, False]
    assert [unknown.allows(one) for one in values] == [True, True, True]


def test_one_more_pod_has_the_first_number_that_is_free() -> None:
    pods = [{"app": "web", POD_INDEX: str(i), POD_NAME: f"web-{i}"} for i in (2, 0)]

    renewed = renew_labels(pods[0], (POD_INDEX, POD_NAME), pods)

    assert renewed == {"app": "web", POD_INDEX: "1", POD_NAME: "web-1"}


def test_labels_that_pods_share_stay() -> None:
    shared = {"app": "web"}

    assert renew_labels(shared, (POD_INDEX,), [shared]) == shared


def test_a_value_without_a_number_gets_one() -> None:
    assert renew_labels({"id": "abc"}, ("id",), [{"id": "abc"}]) == {"id": "abc-0"}
