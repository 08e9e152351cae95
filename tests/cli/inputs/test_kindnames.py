import pytest

from webhook.cli.inputs.kindnames import (
    find_kinds,
    reject_kind,
    suggest_kind,
    suggest_words,
    write_kind,
)
from webhook.config.configuration import Configuration
from webhook.policy.kinds import BUILT_IN_TEMPLATES, KNOWN_TEMPLATES
from webhook.policy.model import GroupKind


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("deploy", True),
        ("PODS", True),
        ("rollout.argoproj.io", True),
        ("rollouts.v1alpha1.argoproj.io", True),
        ("deployments.v1.apps", True),
        ("deployments.v2.apps", False),
        ("deployments.v1.batch", False),
        ("deployments.v1", False),
        ("web-1", False),
        ("all", False),
    ],
)
def test_words_that_name_kinds(word: str, expected: bool) -> None:
    assert bool(find_kinds(word, Configuration().pod_templates)) is expected


# short name -> the groups and kinds that it names
SHORT_NAMES = {
    "po": ["/Pod"],
    "rc": ["/ReplicationController"],
    "deploy": ["apps/Deployment"],
    "rs": ["apps/ReplicaSet"],
    "ds": ["apps/DaemonSet"],
    "cj": ["batch/CronJob"],
    "ro": ["argoproj.io/Rollout"],
    "dc": ["apps.openshift.io/DeploymentConfig"],
    "ksvc": ["serving.knative.dev/Service"],
    "lws": ["leaderworkerset.x-k8s.io/LeaderWorkerSet"],
    "sts": ["apps/StatefulSet", "apps.kruise.io/StatefulSet"],
}


@pytest.mark.parametrize(("word", "kinds"), SHORT_NAMES.items())
def test_kinds_have_the_short_names_of_kubectl(word: str, kinds: list[str]) -> None:
    found = find_kinds(word, Configuration().pod_templates)

    assert [f"{kind.group}/{kind.kind}" for kind in found] == kinds


# word, the suggestion
SIMILAR = {
    "exchanged letters": ("deplyo", "did you mean deploy?"),
    "a missing letter": ("Deploymnt", "did you mean deployment?"),
    "a plural": ("statefullsets", "did you mean statefulsets?"),
    "a short name of another kind": ("svc", ""),
    "another word": ("node", ""),
}


@pytest.mark.parametrize(("word", "advice"), SIMILAR.values(), ids=SIMILAR.keys())
def test_the_most_similar_kind_is_suggested(word: str, advice: str) -> None:
    assert suggest_kind(word, KNOWN_TEMPLATES) == advice


def test_a_word_that_resembles_no_kind_has_a_list_of_them() -> None:
    assert reject_kind("svc", BUILT_IN_TEMPLATES) == (
        "'svc' is not a kind with a pod template: use one of cronjob, daemonset, deployment, job, "
        "pod, podtemplate, replicaset, replicationcontroller, statefulset"
    )
    assert reject_kind("deplyo", BUILT_IN_TEMPLATES) == (
        "'deplyo' is not a kind with a pod template: did you mean deploy?"
    )


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        (GroupKind("apps", "DaemonSet"), "daemonset"),
        (GroupKind("apps.kruise.io", "DaemonSet"), "daemonset.apps.kruise.io"),
        (GroupKind("serving.knative.dev", "Service"), "service.serving.knative.dev"),
        (GroupKind("argoproj.io", "Rollout"), "rollout"),
        (GroupKind("example.com", "Widget"), "widget"),
    ],
)
def test_ambiguous_kinds_have_their_group(kind: GroupKind, word: str) -> None:
    assert write_kind(kind) == word


@pytest.mark.parametrize("kind", KNOWN_TEMPLATES)
def test_written_kinds_name_themselves(kind: GroupKind) -> None:
    assert find_kinds(write_kind(kind), KNOWN_TEMPLATES)[0] == kind


def test_no_words_are_no_suggestion() -> None:
    assert suggest_words(()) == ""
    assert suggest_words(("a", "b")) == "did you mean a or b?"
