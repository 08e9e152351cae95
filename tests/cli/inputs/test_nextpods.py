"""The next pod of a workload has the labels that its controllers and webhooks will add."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from webhook.cli.inputs.nextpods import build_next_pod, foresee_selector
from webhook.cli.inputs.revisions import NextRevision
from webhook.cli.inputs.subjects import ExplainSubject
from webhook.policy import kinds
from webhook.policy.firstlabels import HASH, UID
from webhook.policy.model import GroupKind, LabelSelector
from webhook.policy.placement.census import ObservedPod
from webhook.policy.podlabels import COMPLETION_INDEX

FLEET = GroupKind("example.io", "Fleet")
APP = {"app": "web"}
TEMPLATE = {"metadata": {"labels": APP}, "spec": {}}


def subject_of(kind: GroupKind, **members: Any) -> ExplainSubject:
    value = {"metadata": {"name": "web", "uid": "u1"}, "spec": {"template": TEMPLATE}, **members}
    return ExplainSubject(kind, ("spec", "template"), "shop", value, exists=True)


def labels_of(
    kind: GroupKind, replicas: Sequence[Mapping[str, str]] = (), **members: Any
) -> Mapping[str, str]:
    """The labels that a next pod has besides those of its template."""
    part, known = members.pop("part", ""), members.pop("revision", {})
    revision = NextRevision(subject_of(kind, **members), **known)
    pods = [msgspec.convert({"metadata": {"labels": labels}}, ObservedPod) for labels in replicas]
    pod = build_next_pod(revision, pods, part=part)
    assert pod.labels.items() >= APP.items()
    return {key: value for key, value in pod.labels.items() if key not in APP}


def labelled(value: str, key: str = "pod-template-hash") -> dict[str, str]:
    return APP | {key: value}


SET_HASH = "controller-revision-hash"


def test_the_hash_of_a_revision_without_pods_is_a_placeholder() -> None:
    assert labels_of(kinds.DEPLOYMENT) == {"pod-template-hash": HASH}


def test_pods_show_the_hash_of_the_revision_that_most_of_them_have() -> None:
    replicas = [labelled("old"), labelled("h1"), labelled("h1")]

    assert labels_of(kinds.DEPLOYMENT, replicas) == {"pod-template-hash": "h1"}
    new = labels_of(kinds.DEPLOYMENT, replicas, revision={"is_new": True})
    assert new == {"pod-template-hash": HASH}


def test_the_replica_set_of_a_pod_shows_its_labels_itself() -> None:
    replicas = [labelled("old"), APP | {"security.istio.io/tlsMode": "istio"}]

    assert labels_of(kinds.REPLICA_SET, replicas, revision={"is_owned": True}) == {}


def test_the_label_of_a_known_revision_replaces_that_of_most_pods() -> None:
    replicas = [labelled("old", SET_HASH)]

    assert labels_of(kinds.STATEFUL_SET, replicas)[SET_HASH] == "old"
    known = labels_of(kinds.STATEFUL_SET, replicas, revision={"labels": {SET_HASH: "new"}})
    assert known[SET_HASH] == "new"


def test_a_pod_of_a_stateful_set_has_its_ordinal() -> None:
    pod = build_next_pod(NextRevision(subject_of(kinds.STATEFUL_SET)), ordinal=7)

    assert pod.labels["apps.kubernetes.io/pod-index"] == "7"


def test_a_pod_of_a_cron_job_beyond_the_completions_is_one_of_the_next_job() -> None:
    spec = {"completionMode": "Indexed", "completions": 3, "template": TEMPLATE}
    value = {"metadata": {"name": "web"}, "spec": {"jobTemplate": {"spec": spec}}}
    path = ("spec", "jobTemplate", "spec", "template")
    revision = NextRevision(ExplainSubject(kinds.CRON_JOB, path, "shop", value, exists=True))

    pods = [build_next_pod(revision, ordinal=number) for number in (2, 3)]

    assert [pod.labels[COMPLETION_INDEX] for pod in pods] == ["2", "0"]


def test_labels_of_webhooks_are_taken_over_and_those_of_single_pods_are_not() -> None:
    replica = APP | {
        "security.istio.io/tlsMode": "istio",
        "statefulset.kubernetes.io/pod-name": "web-7",
        "removed-from-the-template": "x",
    }

    labels = labels_of(kinds.STATEFUL_SET, [replica])

    assert labels["security.istio.io/tlsMode"] == "istio"
    assert labels["statefulset.kubernetes.io/pod-name"] == "web-0"
    assert "removed-from-the-template" not in labels


def test_pods_show_what_an_unknown_controller_adds() -> None:
    assert labels_of(FLEET, [APP | {"fleet": "web"}]) == {"fleet": "web"}


# kind, part, value of job-name, value of controller-uid
JOBS = {
    "a Job": (kinds.JOB, "", "web", "u1"),
    "a CronJob": (kinds.CRON_JOB, "", "web-0", UID),
    "a JobSet": (kinds.JOB_SET, "workers", "web-workers-0", UID),
}


@pytest.mark.parametrize(("kind", "part", "name", "uid"), JOBS.values(), ids=JOBS.keys())
def test_pods_of_jobs_have_the_name_of_their_job(
    kind: GroupKind, part: str, name: str, uid: str
) -> None:
    labels = labels_of(kind, part=part)

    assert (labels["job-name"], labels["controller-uid"]) == (name, uid)


def test_a_job_without_a_uid_has_a_placeholder() -> None:
    assert labels_of(kinds.JOB, metadata={"name": "web"})["controller-uid"] == UID


SELECTOR = {"matchLabels": {"app": "web"}}

# kind, selector, that of the controller of the pod
SELECTORS: dict[str, tuple[GroupKind, object, dict[str, str]]] = {
    "a Deployment": (kinds.DEPLOYMENT, SELECTOR, {"app": "web", "pod-template-hash": HASH}),
    "a StatefulSet": (kinds.STATEFUL_SET, SELECTOR, {"app": "web"}),
    "no selector": (kinds.REPLICATION_CONTROLLER, None, {"app": "web"}),
    "an empty selector": (kinds.DEPLOYMENT_CONFIG, {}, {"app": "web"}),
}


@pytest.mark.parametrize(("kind", "selector", "pairs"), SELECTORS.values(), ids=SELECTORS.keys())
def test_the_controller_of_the_pod_selects_it(
    kind: GroupKind, selector: object, pairs: dict[str, str]
) -> None:
    subject = subject_of(kind, spec={"selector": selector, "template": TEMPLATE})
    pod = build_next_pod(NextRevision(subject))

    assert foresee_selector(subject, pod) == LabelSelector(pairs)


def test_the_stateful_sets_of_a_leader_worker_set_select_the_leaders_or_a_group() -> None:
    group = {"size": 2, "workerTemplate": TEMPLATE}
    value = {"metadata": {"name": "lws"}, "spec": {"replicas": 3, "leaderWorkerTemplate": group}}
    path = ("spec", "leaderWorkerTemplate", "workerTemplate")
    subject = ExplainSubject(kinds.LEADER_WORKER_SET, path, "shop", value, exists=False)
    leader, worker = (build_next_pod(NextRevision(subject), ordinal=at) for at in (2, 3))

    domain = "leaderworkerset.sigs.k8s.io"
    named = {f"{domain}/name": "lws"}
    leaders = LabelSelector({**named, f"{domain}/worker-index": "0"})
    assert foresee_selector(subject, leader) == leaders
    assert foresee_selector(subject, worker) == LabelSelector(
        {**named, f"{domain}/group-index": "1"}
    )


def test_a_claim_template_replaces_a_volume_of_the_template() -> None:
    volumes = [{"name": "data"}, {"name": "own"}]
    template = {"metadata": {"labels": APP}, "spec": {"volumes": volumes}}
    spec = {"volumeClaimTemplates": [{"metadata": {"name": "data"}}], "template": template}

    pod = build_next_pod(NextRevision(subject_of(kinds.STATEFUL_SET, spec=spec)))

    assert pod.spec is not None
    assert [volume.name for volume in pod.spec.volumes or ()] == ["own"]


def test_the_pods_of_a_job_set_have_the_labels_of_their_jobs() -> None:
    job = {
        "name": "w",
        "replicas": 3,
        "template": {"spec": {"parallelism": 2, "template": TEMPLATE}},
    }
    value = {"metadata": {"name": "web"}, "spec": {"replicatedJobs": [job]}}
    path = ("spec", "replicatedJobs", 0, "template", "spec", "template")
    revision = NextRevision(ExplainSubject(kinds.JOB_SET, path, "shop", value, exists=False))
    first, third = (build_next_pod(revision, part="w", ordinal=at).labels for at in (0, 2))
    running = msgspec.convert({"metadata": {"labels": dict(first)}}, ObservedPod)

    beside = build_next_pod(revision, [running], part="w", ordinal=2).labels

    assert [one["batch.kubernetes.io/job-name"] for one in (first, third)] == ["web-w-0", "web-w-1"]
    assert first["jobset.sigs.k8s.io/job-key"] != third["jobset.sigs.k8s.io/job-key"]
    assert first["controller-uid"] != third["controller-uid"]
    assert third["jobset.sigs.k8s.io/job-index"] == "1"
    assert beside == third
