"""Selectors of pods that stand for themselves."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.build import Json, pod, spread
from tests.policy.advice.subjects import deployed, running, subject
from webhook.policy.advice.podselectors import correct_requirements, list_shared_labels
from webhook.policy.advice.runningpods import RunningPods
from webhook.policy.advice.subject import Subject, SubjectPod
from webhook.policy.model import GroupKind, LabelSelector, LabelSelectorRequirement, ObjectMeta
from webhook.policy.podlabels import PER_POD_KEYS

GAME_SERVER = GroupKind("agones.dev", "GameServer")
NAME = "arena-x8v4d"
SERVER = "agones.dev/gameserver"
LABELS = {SERVER: NAME, "agones.dev/role": "gameserver", "game": "arena", "owner": NAME}
SHARED = {"agones.dev/role": "gameserver", "game": "arena"}


def stands_alone(constraint: Json | None = None, labels: Json = LABELS, **more: Any) -> Subject:
    """Read a Pod of this name."""
    found = subject(pod(constraint, labels=labels))
    metadata = replace(found.pod.metadata or ObjectMeta(), name=NAME)
    return replace(found, metadata=metadata, pod=replace(found.pod, metadata=metadata), **more)


def expression(key: str, operator: str, *values: str) -> Json:
    return {"key": key, "operator": operator, "values": list(values)}


PAIRS: dict[str, tuple[Json, Json | None]] = {
    "another value": ({"game": "arean"}, {"game": "arena"}),
    "another value beside one that is met": (
        {"agones.dev/role": "gameserver", "game": "arean"}, SHARED
    ),
    "a misspelled key": ({"gmae": "arena"}, {"game": "arena"}),
    "a misspelled key with a prefix": (
        {"agones.dev/rolle": "x"}, {"agones.dev/role": "gameserver"}
    ),
    "a key of another domain": ({"example.com/role": "x", "game": "x"}, {"game": "arena"}),
    "a key that the pod lacks": ({"tier": "x", "game": "arean"}, {"game": "arena"}),
    "only a key that the pod lacks": ({"tier": "x"}, None),
    "the name of another pod": ({SERVER: "arena", "game": "arean"}, {"game": "arena"}),
    "its own name": ({SERVER: NAME, "game": "arean"}, {"game": "arena"}),
    "only its own name": ({"owner": "x"}, None),
}  # fmt: skip


@pytest.mark.parametrize(("written", "expected"), PAIRS.values(), ids=PAIRS.keys())
def test_pairs_get_the_own_values(written: Json, expected: Json | None) -> None:
    judged = stands_alone(spread(labelSelector={"matchLabels": written}))

    found = correct_requirements(judged, judged.constraints[0])

    assert found == (None if expected is None else LabelSelector(expected))


def test_a_label_that_an_unknown_controller_may_add_stays() -> None:
    written = {"fleet": "sea", "game": "arean"}
    judged = stands_alone(spread(labelSelector={"matchLabels": written}), kind=GAME_SERVER)

    found = correct_requirements(judged, judged.constraints[0])

    assert found == LabelSelector({"fleet": "sea", "game": "arena"})


EXPRESSIONS: dict[str, tuple[Json, LabelSelectorRequirement | None]] = {
    "one that is met": (
        expression("game", "NotIn", "x"), LabelSelectorRequirement("game", "NotIn", ("x",))
    ),
    "other values": (
        expression("game", "In", "x", "y"), LabelSelectorRequirement("game", "In", ("arena",))
    ),
    "a misspelled key": (expression("gmae", "Exists"), LabelSelectorRequirement("game", "Exists")),
    "its own value": (expression("game", "NotIn", "arena"), None),
    "a key that the pod lacks": (expression("tier", "In", "x"), None),
}  # fmt: skip


@pytest.mark.parametrize(("written", "expected"), EXPRESSIONS.values(), ids=EXPRESSIONS.keys())
def test_expressions_get_the_own_values(
    written: Json, expected: LabelSelectorRequirement | None
) -> None:
    judged = stands_alone(spread(labelSelector={"matchExpressions": [written]}))

    found = correct_requirements(judged, judged.constraints[0])

    assert found == (expected and LabelSelector(match_expressions=(expected,)))


def test_a_key_that_match_label_keys_add_is_not_written() -> None:
    written = {"gmae": "arena", "agones.dev/role": "x"}
    judged = stands_alone(spread(labelSelector={"matchLabels": written}, matchLabelKeys=["game"]))

    found = correct_requirements(judged, judged.constraints[0])

    assert found == LabelSelector({"agones.dev/role": "gameserver"})


def test_workloads_and_missing_selectors_have_nothing_to_correct() -> None:
    for judged in (
        deployed(spread(labelSelector={"matchLabels": {"app": "wbe"}})),
        stands_alone(spread(labelSelector=None)),
    ):
        assert correct_requirements(judged, judged.constraints[0]) is None


def alike(number: int, **labels: str) -> RunningPods:
    return running(*["a1"] * number, labels=labels)


SHARING: dict[str, tuple[Subject, Json]] = {
    "the name of the pod": (stands_alone(), SHARED),
    "an application of the same name": (stands_alone(labels={"app": NAME}), {"app": NAME}),
    "an application whose name contains that of the pod": (
        stands_alone(labels={"app": f"{NAME}-0"}), {"app": f"{NAME}-0"}
    ),
    "labels that number pods": (
        stands_alone(labels=dict.fromkeys(PER_POD_KEYS, "0") | {"a": "b"}), {"a": "b"}
    ),
    "a pod without a name": (
        replace(stands_alone(), pod=SubjectPod(ObjectMeta(labels=LABELS))), LABELS
    ),
    "no labels": (replace(stands_alone(), pod=SubjectPod()), {}),
    "several pods": (
        stands_alone(
            labels={"cluster": NAME, "instance": "1", "role": "primary"},
            running=(
                alike(1, cluster=NAME, instance="1", role="primary"),
                alike(1, cluster=NAME, instance="2", role="replica"),
            ),
        ),
        {"cluster": NAME},
    ),
    "several pods that are alike": (
        stands_alone(labels={"cluster": NAME}, running=(alike(2, cluster=NAME),)),
        {"cluster": NAME},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("judged", "expected"), SHARING.values(), ids=SHARING.keys())
def test_labels_that_other_pods_may_have(judged: Subject, expected: Json) -> None:
    assert list_shared_labels(judged) == expected
