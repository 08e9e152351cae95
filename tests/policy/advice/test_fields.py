from typing import Any

import pytest
from msgspec.structs import replace

from tests.build import Json, pod, policy, spread
from tests.policy.advice.subjects import (
    NO_MATCH_LABEL_KEYS,
    ROLLOUT,
    admission,
    audit,
    check_rule,
    deployed,
    running,
    subject,
    workload,
)
from webhook.policy.advice.advise import advise
from webhook.policy.advice.fields import (
    JUDGED_KEYS,
    correct_keys,
    counts_revisions_together,
)
from webhook.policy.advice.storage import StorageClass
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import (
    DAEMON_SET,
    DEPLOYMENT,
    REPLICA_SET,
    STATEFUL_SET,
)
from webhook.policy.model import HOSTNAME, GroupKind
from webhook.policy.paths import TemplatePath

HASH = "pod-template-hash"
ROLLOUT_HASH = "rollouts-pod-template-hash"
REVISION = "controller-revision-hash"
INDEX = "batch.kubernetes.io/job-completion-index"
JOB = GroupKind("batch", "Job")
CLONE_SET = GroupKind("apps.kruise.io", "CloneSet")
SHARDS = GroupKind("example.com", "Shards")  # a kind whose controller is unknown
HASHED = {"matchExpressions": [{"key": HASH, "operator": "Exists"}]}
PARTS: TemplatePath = ("spec", "template")


def keyed(*keys: str, kind: GroupKind = DEPLOYMENT, **changes: Any) -> Subject:
    """Make a workload with one constraint that has these matchLabelKeys."""
    obj = workload(spread(matchLabelKeys=list(keys)), kind=kind, **changes)
    return subject(obj, PARTS if kind in {ROLLOUT, SHARDS, CLONE_SET} else None)


def bare(*keys: str, labels: Json | None = None) -> Subject:
    return subject(pod(spread(matchLabelKeys=list(keys)), labels=labels))


CANARY: Json = {"canary": {"canaryMetadata": {"labels": {"role": "canary"}}, "steps": []}}
SHARD = running("a1", "b1", labels={"app": "web", "shard": "1"})

# subject, what its matchLabelKeys are corrected to; None if there is no finding
KEYS: dict[str, tuple[Subject, list[str] | None]] = {
    "the hash of a Deployment": (keyed(HASH), None),
    "a label of the template": (keyed("app"), None),
    "no keys": (deployed(spread()), None),
    "a misspelled hash": (keyed("pod-template-hsh"), [HASH]),
    "a misspelled label": (
        keyed("app.kubernetes.io/versoin", labels={"app.kubernetes.io/version": "1"}),
        ["app.kubernetes.io/version"],
    ),
    "a label without its prefix": (
        keyed("version", labels={"app.kubernetes.io/version": "1"}),
        ["app.kubernetes.io/version"],
    ),
    "a label of another domain with the same name": (
        keyed("shop.example.com/version", labels={"app.kubernetes.io/version": "1"}),
        [],
    ),
    "a key of nothing": (keyed("tier"), []),
    "a key of nothing beside another": (keyed("tier", HASH), [HASH]),
    "a misspelled hash beside the hash": (keyed(HASH, "pod-template-hsh"), [HASH]),
    "the same misspelled key twice": (keyed("pod-template-hsh", "pod-template-hsh"), [HASH]),
    "the hash of Deployments on a StatefulSet": (keyed(HASH, kind=STATEFUL_SET), [REVISION]),
    "misspelled, on a StatefulSet": (keyed("pod-template-hsh", kind=STATEFUL_SET), [REVISION]),
    "the index on a StatefulSet": (
        keyed("apps.kubernetes.io/pod-index", kind=STATEFUL_SET),
        [],
    ),
    "the name on a StatefulSet": (
        keyed("app", "statefulset.kubernetes.io/pod-name", kind=STATEFUL_SET), ["app"]
    ),
    "the hash of Deployments on a DaemonSet": (keyed(HASH, kind=DAEMON_SET), [REVISION]),
    "the hash of Deployments on a DaemonSet that counts all nodes": (
        subject(
            workload(spread(matchLabelKeys=[HASH], nodeAffinityPolicy="Ignore"), kind=DAEMON_SET)
        ),
        [],
    ),
    "the hash of Deployments on a Job": (keyed(HASH, kind=JOB), []),
    "the name of a Job": (keyed("job-name", kind=JOB), None),
    "the index of a Job that has none": (keyed(INDEX, kind=JOB), []),
    "the index of an indexed Job": (keyed(INDEX, kind=JOB, completionMode="Indexed"), []),
    "the uid of a Job": (keyed("batch.kubernetes.io/controller-uid", kind=JOB), None),
    "the hash of Rollouts": (keyed(ROLLOUT_HASH, kind=ROLLOUT), None),
    "the hash of Deployments on a Rollout": (keyed(HASH, kind=ROLLOUT), [ROLLOUT_HASH]),
    "a label that a Rollout gives to its canary": (
        keyed("role", kind=ROLLOUT, strategy=CANARY), None
    ),
    "a label that no Rollout gives": (keyed("role", kind=ROLLOUT), []),
    "the hash of Rollouts on a Deployment that one may refer to": (keyed(ROLLOUT_HASH), None),
    "the hash of Rollouts on a Deployment that none refers to": (
        replace(keyed(ROLLOUT_HASH), is_unreferred=True), [HASH]
    ),
    "the hash of Rollouts on a Deployment whose pods lack it": (
        replace(keyed(ROLLOUT_HASH), running=(running("a1", labels={"app": "web", HASH: "1"}),)),
        [HASH],
    ),
    "the hash of Rollouts on a Deployment with pods of a Rollout": (
        replace(keyed(ROLLOUT_HASH), running=(running("a1", labels={ROLLOUT_HASH: "1"}),)), None
    ),
    "the hash of Rollouts on a Deployment that one refers to": (
        replace(keyed(ROLLOUT_HASH), creator=ROLLOUT), None
    ),
    "the hash of Rollouts on a StatefulSet": (
        keyed(ROLLOUT_HASH, kind=STATEFUL_SET), [REVISION]
    ),
    "a CloneSet, whose pods carry both": (keyed(HASH, REVISION, kind=CLONE_SET), None),
    "a label of a service mesh": (keyed("service.istio.io/canonical-revision"), None),
    "an unknown controller": (keyed("anything", kind=SHARDS), None),
    "an unknown controller, whose pods carry it": (
        replace(keyed("shard", kind=SHARDS), running=(SHARD,)), None
    ),
    "an unknown controller, whose pods carry a label like it": (
        replace(keyed("shrd", kind=SHARDS), running=(SHARD,)), ["shard"]
    ),
    "an unknown controller, whose pods carry a hash": (
        replace(
            keyed(HASH, kind=SHARDS), running=(running("a1", labels={"app": "web", REVISION: "1"}),)
        ),
        [REVISION],
    ),
    "a label that a webhook gives to running pods": (
        replace(keyed("shard"), running=(SHARD,)), None
    ),
    "a ReplicaSet of its own": (keyed(HASH, kind=REPLICA_SET), []),
    "a ReplicaSet of a Deployment": (
        keyed(HASH, kind=REPLICA_SET, labels={"app": "web", HASH: "5d4f"}), None
    ),
    "a Deployment of a Rollout with its own hash": (
        replace(keyed(HASH), creator=ROLLOUT), [ROLLOUT_HASH]
    ),
    "a Deployment with pods beside those of a Rollout": (
        replace(keyed(HASH), creator=ROLLOUT, is_shared=True), None
    ),
    "a misspelled key of a Deployment with pods beside those of a Rollout": (
        replace(keyed("pod-template-hsh"), creator=ROLLOUT, is_shared=True), [HASH]
    ),
    "a Deployment of a Rollout with both hashes": (
        replace(keyed(HASH, ROLLOUT_HASH), creator=ROLLOUT), None
    ),
    "a pod of its own": (bare(HASH), []),
    "a pod of a Deployment": (bare(HASH, labels={"app": "web", HASH: "5d4f"}), None),
    "a part, whose labels stand elsewhere": (keyed("tier", labels={}), None),
}  # fmt: skip


@pytest.mark.parametrize(("judged", "corrected"), KEYS.values(), ids=KEYS.keys())
def test_keys_that_pods_never_carry(judged: Subject, corrected: list[str] | None) -> None:
    violations = check_rule("TSC117", judged, admission())

    listed = f"matchLabelKeys: [{', '.join(corrected or ())}]"
    instead = listed if corrected else "# leave matchLabelKeys out"
    assert {one.instead for one in violations} == (set() if corrected is None else {instead})
    assert check_rule("TSC117", judged, audit()) == violations


def test_a_finding_names_one_key_and_the_label_to_use() -> None:
    (one,) = check_rule("TSC117", keyed("app", HASH, kind=STATEFUL_SET), admission())
    two = check_rule("TSC117", keyed("tier", "shard"), admission())

    assert one.field == "spec.template.spec.topologySpreadConstraints[0].matchLabelKeys[1]"
    assert one.problem == (
        f"its pods never carry {HASH}, so kube-scheduler ignores it; they carry {REVISION}"
    )
    assert one.brief == f"matchLabelKeys names {HASH}; its pods carry {REVISION}"
    assert two[0].brief == "matchLabelKeys names tier; its pods never carry it"
    assert [violation.problem for violation in two] == [
        "its pods never carry tier, so kube-scheduler ignores it",
        "its pods never carry shard, so kube-scheduler ignores it",
    ]


ZONAL = StorageClass(name="gp3", provisioner="ebs.csi.aws.com")
CLAIMS: Json = {"volumeClaimTemplates": [{"spec": {"storageClassName": "gp3"}}]}
LEFT_OUT = "# leave matchLabelKeys out"
REPLACED = f"matchLabelKeys: [{REVISION}]"

# changes of a constraint, of a StatefulSet, StorageClasses, what to write
RETURNING: dict[str, tuple[Json, Json, list[StorageClass], str]] = {
    "volumes of a zone": ({}, CLAIMS, [ZONAL], LEFT_OUT),
    "a misspelled key": (
        {"matchLabelKeys": ["controller-revision-hsh"]}, CLAIMS, [ZONAL], LEFT_OUT
    ),
    "a key beside it": (
        {"matchLabelKeys": ["app", HASH]}, CLAIMS, [ZONAL], "matchLabelKeys: [app]"
    ),
    "a key of nothing": ({"matchLabelKeys": ["tier"]}, CLAIMS, [ZONAL], LEFT_OUT),
    "shared volumes": ({}, CLAIMS, [replace(ZONAL, provisioner="efs.csi.aws.com")], REPLACED),
    "volumes of an unknown class": ({}, CLAIMS, [], LEFT_OUT),
    "no claims": ({}, {}, [ZONAL], REPLACED),
    "a soft constraint": ({"whenUnsatisfiable": "ScheduleAnyway"}, CLAIMS, [ZONAL], REPLACED),
    "nodes": ({"topologyKey": HOSTNAME}, CLAIMS, [ZONAL], LEFT_OUT),
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "claims", "classes", "instead"), RETURNING.values(), ids=RETURNING.keys()
)
def test_a_revision_is_not_counted_apart_where_volumes_keep_pods(
    changes: Json, claims: Json, classes: list[StorageClass], instead: str
) -> None:
    constraint = spread(**{"matchLabelKeys": [HASH], **changes})
    judged = subject(workload(constraint, kind=STATEFUL_SET, **claims))

    (violation,) = check_rule("TSC117", judged, audit(storage_classes=classes))
    (apart,) = check_rule("TSC117", replace(judged, claims=False), admission())

    assert violation.instead == instead
    assert ("can access its volume" in violation.problem) is (violation.instead != apart.instead)


def test_an_admission_knows_no_classes_and_counts_no_revision_apart() -> None:
    constraint = spread(matchLabelKeys=[HASH])
    judged = subject(workload(constraint, kind=STATEFUL_SET, **CLAIMS))

    (violation,) = check_rule("TSC117", judged, admission())

    assert violation.instead == LEFT_OUT
    assert violation.brief == f"matchLabelKeys names {HASH}; its pods never carry it"


def test_a_corrected_key_is_not_one_that_the_selector_has_already() -> None:
    judged = deployed(spread(labelSelector=HASHED, matchLabelKeys=["pod-template-hsh"]))

    assert correct_keys(judged.constraints[0], judged) == [""]


def test_the_pods_of_a_cron_job_carry_the_labels_of_its_jobs() -> None:
    job = workload(spread(matchLabelKeys=["job-name", HASH]), kind=JOB)
    cron_job = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "web"},
        "spec": {"jobTemplate": {"spec": job["spec"]}},
    }

    (violation,) = check_rule("TSC117", subject(cron_job), admission())

    assert violation.instead == "matchLabelKeys: [job-name]"


def test_keys_that_a_gate_holds_back_have_no_effect_anyway() -> None:
    config = policy(gates=NO_MATCH_LABEL_KEYS)

    advice = advise(keyed("tier"), admission(config=config))

    assert "TSC117" not in {finding.rule for finding in advice.warned}


def test_a_warning_names_the_key_and_the_label_in_full() -> None:
    for kind, revision in ((STATEFUL_SET, REVISION), (ROLLOUT, ROLLOUT_HASH)):
        advice = advise(keyed(HASH, kind=kind), admission())
        (line,) = (finding.line for finding in advice.warned if finding.rule == "TSC117")

        assert line.endswith(f"names {HASH}; its pods carry {revision}")


def test_the_time_for_many_keys_is_limited() -> None:
    many = [f"pod-template-hsh{number}" for number in range(JUDGED_KEYS + 5)]

    judged = keyed(*many)
    corrected = correct_keys(judged.constraints[0], judged)

    assert corrected == [HASH, *[""] * (JUDGED_KEYS - 1), *many[JUDGED_KEYS:]]


def test_kinds_without_a_surge_count_no_two_revisions() -> None:
    (constraint,) = keyed("app", kind=STATEFUL_SET).constraints

    assert counts_revisions_together(constraint, keyed("app"))
    assert not counts_revisions_together(constraint, keyed("app", kind=STATEFUL_SET))
