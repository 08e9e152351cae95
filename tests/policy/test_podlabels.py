import pytest

from webhook.policy.kinds import (
    BUILT_IN_TEMPLATES,
    DEPLOYMENT,
    JOB,
    LEADER_WORKER_SET,
    POD_TEMPLATE,
    REPLICA_SET,
    ROLLOUT,
    SHIPPED_TEMPLATES,
)
from webhook.policy.model import GroupKind
from webhook.policy.podlabels import (
    ADDED_LABELS,
    PER_POD_KEYS,
    REVISION_HASH,
    REVISION_KEYS,
    added_keys,
    differing_keys,
    find_owner_by_hash,
    find_owner_by_labels,
    grouped_keys,
    may_carry,
    member_keys,
    naming_keys,
    revision_key,
    spell_key,
    unique_keys,
)

JOB_SET = GroupKind("jobset.x-k8s.io", "JobSet")
KNATIVE = GroupKind("serving.knative.dev", "Service")
REVISION = GroupKind("serving.knative.dev", "Revision")
UNKNOWN = GroupKind("example.com", "Shards")


@pytest.mark.parametrize(
    ("name", "labels", "owner"),
    [
        ("web-app-6d4c", {"pod-template-hash": "6d4c"}, (DEPLOYMENT, "web-app")),
        ("web-6d4c", {"rollouts-pod-template-hash": "6d4c"}, (ROLLOUT, "web")),
        ("web-6d4c", {"pod-template-hash": "4c"}, None),
        ("web-6d4c-1", {"pod-template-hash": "6d4c"}, None),
        ("-6d4c", {"pod-template-hash": "6d4c"}, None),
        ("web-", {"pod-template-hash": ""}, None),
        ("web-6d4c", {}, None),
    ],
)
def test_the_name_of_a_replica_set_shows_its_owner(
    name: str, labels: dict[str, str], owner: tuple[GroupKind, str] | None
) -> None:
    assert find_owner_by_hash(name, labels) == owner


@pytest.mark.parametrize(
    ("kind", "labels", "owner"),
    [
        (REPLICA_SET, {"pod-template-hash": "1"}, (DEPLOYMENT, "web")),
        (REPLICA_SET, {"serving.knative.dev/service": "web"}, None),
        (REVISION, {"serving.knative.dev/service": "web"}, (KNATIVE, "web")),
        (REVISION, {"pod-template-hash": "1"}, None),
        (JOB, {"pod-template-hash": "1"}, None),
    ],
)
def test_labels_show_the_owner_of_an_unknown_controller(
    kind: GroupKind, labels: dict[str, str], owner: tuple[GroupKind, str] | None
) -> None:
    assert find_owner_by_labels(kind, "web-1", labels) == owner


def test_every_kind_that_is_shipped_has_a_row() -> None:
    known = {*BUILT_IN_TEMPLATES, *SHIPPED_TEMPLATES} - {POD_TEMPLATE}

    assert known <= ADDED_LABELS.keys()


@pytest.mark.parametrize(
    ("key", "known"),
    [
        ("jobset.sigs.k8s.io/replicated-job-name", "jobset.sigs.k8s.io/replicatedjob-name"),
        ("jobset.sigs.k8s.io/JobSet_Name", "jobset.sigs.k8s.io/jobset-name"),
        ("leaderworkerset.sigs.k8s.io/groupindex", "leaderworkerset.sigs.k8s.io/group-index"),
        ("jobset.sigs.k8s.io/jobset-name", ""),
        ("jobset.sigs.k8s.io/a-later-one", ""),
    ],
)
def test_another_spelling_of_a_known_label(key: str, known: str) -> None:
    kind = JOB_SET if key.startswith("jobset") else LEADER_WORKER_SET

    assert spell_key(key) == known
    assert may_carry(kind, key) is not bool(known)


def test_labels_that_every_pod_of_a_kind_has() -> None:
    assert added_keys(DEPLOYMENT) == {"pod-template-hash"}
    assert added_keys(UNKNOWN) == frozenset()


@pytest.mark.parametrize("kind", ADDED_LABELS, ids=str)
def test_the_revision_is_one_of_the_added_labels(kind: GroupKind) -> None:
    added = ADDED_LABELS[kind]

    assert not added.revision or added.revision in added.keys
    assert revision_key(kind) == added.revision
    assert all(may_carry(kind, key) for key in added.keys)
    assert unique_keys(kind) == added.unique <= PER_POD_KEYS
    assert grouped_keys(kind) == added.grouped
    assert member_keys(kind) == added.members
    differing = added.grouped | added.members | PER_POD_KEYS
    assert differing_keys(kind) - differing <= {REVISION_HASH}
    assert differing <= differing_keys(kind)


CARRIED = [
    (DEPLOYMENT, "pod-template-hash", True),
    (DEPLOYMENT, "controller-revision-hash", False),
    (DEPLOYMENT, "app.kubernetes.io/name", False),
    (DEPLOYMENT, "security.istio.io/tlsMode", True),
    (DEPLOYMENT, "notistio.io/rev", False),
    (DEPLOYMENT, "istio.io", False),
    (JOB, "batch.kubernetes.io/job-name", True),
    (JOB, "jobset.sigs.k8s.io/job-index", False),
    (JOB_SET, "jobset.sigs.k8s.io/job-index", True),
    (JOB_SET, "job-name", True),
    (KNATIVE, "serving.knative.dev/service", True),
    (KNATIVE, "pod-template-hash", True),
    (UNKNOWN, "anything", True),
]


@pytest.mark.parametrize(("kind", "key", "expected"), CARRIED)
def test_labels_that_pods_may_carry_beside_those_of_their_template(
    kind: GroupKind, key: str, expected: bool
) -> None:
    assert may_carry(kind, key) is expected


def test_an_unknown_kind_has_no_revision_and_no_label_that_is_unique() -> None:
    assert unique_keys(UNKNOWN) == frozenset()
    assert (grouped_keys(UNKNOWN), member_keys(UNKNOWN)) == (frozenset(), frozenset())
    assert differing_keys(UNKNOWN) == PER_POD_KEYS
    assert revision_key(UNKNOWN) == ""
    assert revision_key(DEPLOYMENT) in REVISION_KEYS


def test_controllers_of_some_kinds_name_the_workload_in_labels() -> None:
    assert naming_keys(JOB) == ("batch.kubernetes.io/job-name",)
    assert naming_keys(DEPLOYMENT) == ()
    assert naming_keys(UNKNOWN) == ()


def test_labels_that_name_a_workload_are_on_all_its_pods() -> None:
    for kind, added in ADDED_LABELS.items():
        assert added.keys.issuperset(added.naming), kind
