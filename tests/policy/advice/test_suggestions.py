import pytest
from msgspec.structs import replace

from tests.build import Json, pod, spread
from tests.policy.advice.subjects import audit, deployed, subject, workload
from webhook.policy.advice.subject import Subject, SubjectPod
from webhook.policy.advice.suggestions import (
    ADD_LABELS,
    constraint_selector,
    find_distinction,
    identifying_labels,
    order_by_naming,
    own_selector,
    suggest_narrower,
    suggest_selector,
)
from webhook.policy.kinds import (
    CRON_JOB,
    DEPLOYMENT,
    DEPLOYMENT_CONFIG,
    JOB,
    JOB_SET,
    KNATIVE_SERVICE,
    LEADER_WORKER_SET,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    STATEFUL_SET,
)
from webhook.policy.model import Constraint, GroupKind, LabelSelector, ObjectMeta

SELECTORS: dict[str, tuple[Json, dict[str, str]]] = {
    "a label that names it": ({"app": "web", "tier": "x"}, {"app": "web"}),
    "labels that name it": (
        {"app.kubernetes.io/name": "web", "app.kubernetes.io/instance": "a", "zone": "x"},
        {"app.kubernetes.io/name": "web", "app.kubernetes.io/instance": "a"},
    ),
    "other labels only": ({"tier": "x", "part": "y"}, {"part": "y", "tier": "x"}),
    "no labels": ({}, {}),
}


@pytest.mark.parametrize(("labels", "expected"), SELECTORS.values(), ids=SELECTORS.keys())
def test_a_selector_of_its_own(labels: Json, expected: dict[str, str]) -> None:
    assert own_selector(deployed(labels=labels), None).match_labels == expected


NAME, INSTANCE = "app.kubernetes.io/name", "app.kubernetes.io/instance"
COMPONENT, HASH = "app.kubernetes.io/component", "pod-template-hash"
REDIS = {NAME: "redis", INSTANCE: "a"}
REPLICA, MASTER = {**REDIS, COMPONENT: "replica"}, {**REDIS, COMPONENT: "master"}
JOB_UID = "batch.kubernetes.io/controller-uid"
POD_INDEX = "apps.kubernetes.io/pod-index"
PATH = ("spec", "template")

# kind, matchLabels of its own selector, labels of its pods, what identifies them
IDENTITIES: dict[str, tuple[GroupKind, Json, Json, Json]] = {
    "its own selector": (STATEFUL_SET, REPLICA, {**REPLICA, "version": "7"}, REPLICA),
    "fewer labels than those that name it": (STATEFUL_SET, {NAME: "redis"}, REDIS, {NAME: "redis"}),
    "labels that its pods lack": (STATEFUL_SET, MASTER, REPLICA, {}),
    "a revision's hash": (REPLICA_SET, {"a": "b", HASH: "x"}, {"a": "b", HASH: "x"}, {"a": "b"}),
    "nothing but a hash": (REPLICA_SET, {HASH: "x"}, {"a": "b", HASH: "x"}, {}),
    "the index of a pod": (STATEFUL_SET, {POD_INDEX: "0"}, {POD_INDEX: "0"}, {}),
    "the run of a Job": (JOB, {JOB_UID: "1"}, {"a": "b", JOB_UID: "1"}, {}),
    "the deployment of a DeploymentConfig": (
        DEPLOYMENT_CONFIG, {"a": "b", "deployment": "web-1"}, {"a": "b", "deployment": "web-1"},
        {"a": "b"},
    ),
    "a custom kind": (
        GroupKind("example.com", "Web"), {"a": "b"}, {"a": "b", "app": "x"}, {"a": "b"}
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "pairs", "labels", "expected"), IDENTITIES.values(), ids=IDENTITIES.keys()
)
def test_a_workload_is_identified_by_its_own_selector(
    kind: GroupKind, pairs: Json, labels: Json, expected: Json
) -> None:
    flat = kind in (REPLICATION_CONTROLLER, DEPLOYMENT_CONFIG)
    selector = pairs if flat else {"matchLabels": pairs}
    judged = subject(workload(kind=kind, labels=labels, selector=selector), PATH)

    assert identifying_labels(judged) == expected
    if expected:
        assert own_selector(judged, None).match_labels == expected


def replicas_of_redis(labels: Json = REPLICA, selected: Json = REDIS, replicas: int = 3) -> Subject:
    selector = {"matchLabels": selected}
    return subject(workload(kind=STATEFUL_SET, labels=labels, selector=selector, replicas=replicas))


# kind, matchLabels of its own selector, labels of its template, whether these are refused
REFUSED: dict[str, tuple[GroupKind, Json, Json, bool]] = {
    "alike": (DEPLOYMENT, {"app": "web"}, {"app": "web", "tier": "x"}, False),
    "misspelled": (DEPLOYMENT, {"app": "web"}, {"app": "wep"}, True),
    "missing": (STATEFUL_SET, {"app": "web", "tier": "x"}, {"tier": "x"}, True),
    "no selector": (DEPLOYMENT, {}, {"app": "web"}, False),
    "generated": (JOB, {JOB_UID: "1"}, {"a": "b"}, False),
}


@pytest.mark.parametrize(
    ("kind", "pairs", "labels", "refused"), REFUSED.values(), ids=REFUSED.keys()
)
def test_labels_that_the_selector_of_the_workload_does_not_match_come_first(
    kind: GroupKind, pairs: Json, labels: Json, *, refused: bool
) -> None:
    judged = subject(workload(kind=kind, labels=labels, selector={"matchLabels": pairs}), PATH)

    written = suggest_selector(judged, Constraint(), None)

    first = "# first make the labels of the template match spec.selector, which requires app: web"
    assert (written == first) is refused


MEMBERS = {"StatefulSet/web": REPLICA, "StatefulSet/redis-master": MASTER}

OWN: dict[str, tuple[Subject, Json]] = {
    "a label that excludes another": (replicas_of_redis(), REPLICA),
    "no label that excludes another": (replicas_of_redis(REDIS), REDIS),
    "a single replica": (replicas_of_redis(replicas=1), REDIS),
    "no selector of its own": (subject(workload(kind=STATEFUL_SET, labels=REPLICA)), REPLICA),
    "a Pod": (subject(pod(labels=REPLICA)), REDIS),
}


@pytest.mark.parametrize(("judged", "expected"), OWN.values(), ids=OWN.keys())
def test_a_selector_counts_no_other_workloads(judged: Subject, expected: Json) -> None:
    assert own_selector(judged, audit(members=MEMBERS).cluster).match_labels == expected


ABC = {"a": "1", "b": "1", "c": "1"}
# own selector, labels of other workloads, what to add to app=web
DISTINCTIONS: dict[str, tuple[Json, list[Json], Json | None]] = {
    "no others": ({"a": "1"}, [{"app": "shop"}], {}),
    "one of its own selector": ({"app": "web", "c": "1"}, [{"app": "web"}], {"c": "1"}),
    "another one": ({"app": "web", "c": "1"}, [{"app": "web", "c": "1"}], {"a": "1"}),
    "all of its own selector before others": (
        {"app": "web", "b": "1", "c": "1"},
        [{"app": "web", "b": "1"}, {"app": "web", "c": "1"}],
        {"b": "1", "c": "1"},
    ),
    "none": ({"app": "web"}, [{"app": "web", **ABC}], None),
}


@pytest.mark.parametrize(
    ("selected", "others", "expected"), DISTINCTIONS.values(), ids=DISTINCTIONS.keys()
)
def test_labels_that_distinguish_a_workload(
    selected: Json, others: list[Json], expected: Json | None
) -> None:
    judged = deployed(labels={"app": "web", **ABC, HASH: "x"}, selector={"matchLabels": selected})
    cluster = audit(members={f"Deployment/{i}": labels for i, labels in enumerate(others)}).cluster
    assert cluster is not None

    assert find_distinction(judged, LabelSelector({"app": "web"}), cluster) == expected


# labelSelector and matchLabelKeys of a constraint, labels of others, what to write
NARROWER: dict[str, tuple[Json, list[str], Json, str]] = {
    "one label more": (
        {"matchLabels": {NAME: "redis"}}, [], {**REDIS, INSTANCE: "b"},
        f"labelSelector: {{matchLabels: {{{INSTANCE}: a, {NAME}: redis}}}}",
    ),
    "without a key of matchLabelKeys": (
        {}, [NAME], {**REDIS, INSTANCE: "b"},
        f"labelSelector: {{matchLabels: {{{INSTANCE}: a}}}}",
    ),
    "no label of its own": (
        {"matchLabels": {NAME: "redis"}}, [], REDIS,
        "# give its pods a label that no others have, and add it to the labelSelector",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("written", "keys", "others", "expected"), NARROWER.values(), ids=NARROWER.keys()
)
def test_a_selector_that_counts_no_others(
    written: Json, keys: list[str], others: Json, expected: str
) -> None:
    constraint = spread(labelSelector=written, matchLabelKeys=keys)
    judged = deployed(constraint, labels=REDIS, selector={"matchLabels": REDIS})
    cluster = audit(members={"Deployment/other": others}).cluster
    assert cluster is not None
    counted = LabelSelector({NAME: "redis"})

    assert suggest_narrower(judged, judged.constraints[0], counted, cluster) == expected


# labelSelector and matchLabelKeys of a constraint, what to select beside them
BESIDE: dict[str, tuple[Json, list[str], Json]] = {
    "a key that is added": ({}, [COMPONENT], REDIS),
    "a key that is selected as well": ({"matchLabels": MASTER}, [COMPONENT], REPLICA),
    "all keys": ({}, list(REPLICA), REPLICA),
}


@pytest.mark.parametrize(("written", "keys", "expected"), BESIDE.values(), ids=BESIDE.keys())
def test_a_selector_beside_match_label_keys(written: Json, keys: list[str], expected: Json) -> None:
    constraint = spread(labelSelector=written, matchLabelKeys=keys)
    judged = deployed(constraint, labels=REPLICA, selector={"matchLabels": REPLICA})

    assert constraint_selector(judged, judged.constraints[0], None).match_labels == expected


def test_a_selector_in_yaml() -> None:
    judged = deployed(spread())

    suggested = suggest_selector(judged, judged.constraints[0], None)
    assert suggested == "labelSelector: {matchLabels: {app: web}}"


# selector of a Job named web, what is suggested
JOB_NAMES: dict[str, tuple[Json, str]] = {
    "another Job": ({"job-name": "wbe"}, "{job-name: web}"),
    "another Job, and a label of its pods": (
        {"app": "web", "job-name": "wbe"}, "{app: web, job-name: web}"
    ),
    "its name, and another label": ({"app": "wbe", "job-name": "web"}, "{job-name: web}"),
    "another label": ({"app": "wbe"}, "{app: web}"),
}  # fmt: skip


@pytest.mark.parametrize(("written", "suggested"), JOB_NAMES.values(), ids=JOB_NAMES.keys())
def test_the_name_of_a_job_is_corrected(written: Json, suggested: str) -> None:
    job = subject(workload(spread(labelSelector={"matchLabels": written}), kind=JOB))

    assert suggest_selector(job, job.constraints[0], None) == (
        f"labelSelector: {{matchLabels: {suggested}}}"
    )


def test_expressions_that_the_pods_meet_are_kept() -> None:
    written = [
        {"key": "app", "operator": "In", "values": ["wbe"]},
        {"key": "tier", "operator": "NotIn", "values": ["canary"]},
        {"key": "stage", "operator": "Exists"},
        {"key": "zone", "operator": "In", "values": ["a"]},
        {"key": HASH, "operator": "Exists"},
        {"key": "team", "operator": "Gt", "values": ["1"]},
    ]
    judged = deployed(
        spread(labelSelector={"matchExpressions": written}, matchLabelKeys=["stage"]),
        labels={"app": "web", "stage": "live", "zone": "b"},
        selector={"matchLabels": {"app": "web"}},
    )

    assert suggest_selector(judged, judged.constraints[0], None) == (
        "labelSelector: {matchLabels: {app: web}, matchExpressions: "
        "[{key: tier, operator: NotIn, values: [canary]}]}"
    )


SERVER: Json = {"agones.dev/gameserver": "web", "game": "arena", "role": "server"}

# labels of a Pod named web, selector of its constraint, what is suggested
CORRECTED: dict[str, tuple[Json, Json, str]] = {
    "a value": (SERVER, {"game": "arean"}, "labelSelector: {matchLabels: {game: arena}}"),
    "nothing of it": (
        SERVER, {"tier": "x"}, "labelSelector: {matchLabels: {game: arena, role: server}}"
    ),
    "no labels but its own": ({"run": "web"}, {"run": "wbe"}, ADD_LABELS),
    "another label than its application": (
        {"app": "web", "tier": "front"}, {"tier": "fornt"},
        "labelSelector: {matchLabels: {tier: front}}",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("labels", "written", "expected"), CORRECTED.values(), ids=CORRECTED)
def test_the_selector_of_a_pod_is_corrected(labels: Json, written: Json, expected: str) -> None:
    made = pod(spread(labelSelector={"matchLabels": written}), labels=labels)
    made["metadata"]["name"] = "web"
    judged = subject(made)

    assert suggest_selector(judged, judged.constraints[0], None) == expected


def test_pods_of_unknown_controllers_are_not_distinguished_by_their_names() -> None:
    made = pod(labels=SERVER)
    made["metadata"]["name"] = "web"
    judged = replace(subject(made), kind=GroupKind("agones.dev", "GameServer"))
    cluster = audit(members={"GameServer/other": {**SERVER, "agones.dev/gameserver": "x"}}).cluster

    assert own_selector(judged, cluster).match_labels == {"game": "arena", "role": "server"}
    bare = replace(judged, pod=SubjectPod())
    assert own_selector(bare, cluster) == LabelSelector()


MOVED: dict[str, tuple[list[str], str]] = {
    "the only key": (["app"], "\nmatchLabelKeys: null"),
    "one of two keys": (["app", HASH], f"\nmatchLabelKeys: [{HASH}]"),
    "another key": ([HASH], ""),
}


@pytest.mark.parametrize(("keys", "written"), MOVED.values(), ids=MOVED.keys())
def test_no_key_is_suggested_in_both_fields(keys: list[str], written: str) -> None:
    constraint = spread(labelSelector={"matchLabels": {"run": "web"}}, matchLabelKeys=keys)
    judged = deployed(constraint)

    suggested = suggest_selector(judged, judged.constraints[0], None)

    assert suggested == f"labelSelector: {{matchLabels: {{app: web}}}}{written}"


NAMED: dict[str, tuple[GroupKind, dict[str, str]]] = {
    "a Job": (JOB, {"batch.kubernetes.io/job-name": "web"}),
    "a CronJob, whose Jobs have other names": (CRON_JOB, {}),
    "a JobSet": (
        JOB_SET,
        {
            "jobset.sigs.k8s.io/jobset-name": "web",
            "jobset.sigs.k8s.io/replicatedjob-name": "workers",
        },
    ),
    "a LeaderWorkerSet": (LEADER_WORKER_SET, {"leaderworkerset.sigs.k8s.io/name": "web"}),
    "a Knative Service": (KNATIVE_SERVICE, {"serving.knative.dev/service": "web"}),
    "a DeploymentConfig": (DEPLOYMENT_CONFIG, {"deploymentconfig": "web"}),
    "a BroadcastJob": (
        GroupKind("apps.kruise.io", "BroadcastJob"),
        {"broadcastjob-name": "web"},
    ),
    "a Deployment": (DEPLOYMENT, {}),
    "an unknown kind": (GroupKind("example.com", "Shards"), {}),
}


@pytest.mark.parametrize(("kind", "expected"), NAMED.values(), ids=NAMED.keys())
def test_a_selector_by_the_labels_with_which_a_controller_names_a_workload(
    kind: GroupKind, expected: dict[str, str]
) -> None:
    judged = subject(workload(kind=JOB, labels={}), kind=kind, part="workers")

    assert own_selector(judged, None).match_labels == expected


def test_no_selector_of_pods_without_labels() -> None:
    generated = replace(subject(workload(spread(), kind=JOB, labels={})), metadata=ObjectMeta())

    for judged in (generated, deployed(spread(), labels={})):
        assert suggest_selector(judged, judged.constraints[0], None) == ADD_LABELS


def test_labels_that_name_come_first() -> None:
    labels = {"a": "1", "app": "web", "z": "2", "app.kubernetes.io/name": "web"}

    assert list(order_by_naming(labels)) == ["app.kubernetes.io/name", "app", "a", "z"]
