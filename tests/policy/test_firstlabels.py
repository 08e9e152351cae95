"""Labels of first pods, with placeholders for what no file contains."""

from typing import Any

import pytest

from webhook.policy.firstlabels import (
    HASH,
    UID,
    PodOwner,
    foresee_label,
    label_first_pod,
    name_controller,
    number_uid,
)
from webhook.policy.kinds import (
    CRON_JOB,
    DEPLOYMENT,
    JOB,
    JOB_SET,
    KNATIVE_SERVICE,
    STATEFUL_SET,
)
from webhook.policy.model import GroupKind

UNKNOWN = GroupKind("example.com", "Shards")
OWNER = PodOwner("web", "web-0", part="workers")
TEMPLATE = {"app": "shop"}
NAMES = {"batch.kubernetes.io/job-name": "web-0", "job-name": "web-0"}
UIDS = {"batch.kubernetes.io/controller-uid": UID, "controller-uid": UID}
INDEX = {"batch.kubernetes.io/job-completion-index": "0"}
INDEXED = {"completionMode": "Indexed"}

# kind, the object, labels of the first pod
LABELLED: dict[str, tuple[GroupKind, dict[str, Any], dict[str, str]]] = {
    "an unknown kind": (UNKNOWN, {}, {}),
    "the hash of a revision": (DEPLOYMENT, {}, {"pod-template-hash": HASH}),
    "a Job": (JOB, {}, NAMES | UIDS),
    "a Job with an index": (JOB, {"spec": INDEXED}, NAMES | UIDS | INDEX),
    "a CronJob with an index": (
        CRON_JOB, {"spec": {"jobTemplate": {"spec": INDEXED}}}, NAMES | UIDS | INDEX
    ),
    "a Job that selects its pods itself": (JOB, {"spec": {"manualSelector": True}}, {}),
    "a JobSet": (
        JOB_SET,
        {},
        NAMES | UIDS | INDEX | {
            "jobset.sigs.k8s.io/job-index": "0",
            "jobset.sigs.k8s.io/job-key": HASH,
            "jobset.sigs.k8s.io/jobset-name": "web",
            "jobset.sigs.k8s.io/replicatedjob-name": "workers",
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "value", "added"), LABELLED.values(), ids=LABELLED.keys())
def test_the_first_pod_has_the_labels_that_its_controllers_add(
    kind: GroupKind, value: object, added: dict[str, str]
) -> None:
    assert label_first_pod(kind, value, OWNER, TEMPLATE) == TEMPLATE | added


def test_a_stored_job_has_its_labels_in_its_template() -> None:
    stored = {"job-name": "real", "controller-uid": "u1"}

    labels = label_first_pod(JOB, {}, OWNER, stored)

    assert (labels["job-name"], labels["controller-uid"]) == ("real", "u1")


def test_a_knative_service_keeps_the_app_of_its_template() -> None:
    owner, written = PodOwner("web", "web"), {"app": "shop"}

    labels = label_first_pod(KNATIVE_SERVICE, {}, owner, written)
    default = label_first_pod(KNATIVE_SERVICE, {}, owner, {})

    assert (labels["app"], default["app"]) == ("shop", "web-00001")


def test_a_controller_replaces_the_hash_in_a_template() -> None:
    assert label_first_pod(DEPLOYMENT, {}, OWNER, {"pod-template-hash": "old"}) == {
        "pod-template-hash": HASH
    }


CREATORS = [
    (STATEFUL_SET, "web"),
    (JOB, "web"),
    (CRON_JOB, "web-2"),
    (JOB_SET, "web-workers-2"),
    (UNKNOWN, "web"),
]


@pytest.mark.parametrize(("kind", "name"), CREATORS)
def test_the_object_that_creates_pods_is_named_as_by_its_controller(
    kind: GroupKind, name: str
) -> None:
    assert name_controller(kind, PodOwner("web", "", part="workers", run=2)) == name


def test_groups_have_different_placeholders() -> None:
    groups = [PodOwner("web", "web", run=number) for number in range(2)]
    keys = ("jobset.sigs.k8s.io/job-key", "leaderworkerset.sigs.k8s.io/group-key")

    assert [foresee_label(key, groups[0]) for key in keys] == [HASH, HASH]
    assert [foresee_label(key, groups[1]) for key in keys] == [f"{HASH}-1", f"{HASH}-1"]
    assert (number_uid(0), number_uid(12)) == (UID, f"{UID[:-2]}12")
