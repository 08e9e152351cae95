"""Revisions are the pods of a workload that their constraints count together."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from webhook.audit.revisions import MOST_REVISIONS, PodRevision, split_revisions
from webhook.policy.advice.runningpods import RunningPods
from webhook.policy.advice.subject import Subject, SubjectPod
from webhook.policy.api.gates import Gates, resolve
from webhook.policy.api.versions import NEWEST_VERSION, parse_version
from webhook.policy.kinds import DEPLOYMENT, STATEFUL_SET
from webhook.policy.model import GroupKind

GATES = resolve(NEWEST_VERSION, {})
HASH = "pod-template-hash"


def group(
    labels: dict[str, str], number: int = 1, keys: tuple[str, ...] = (HASH,), **changes: Any
) -> RunningPods:
    constraint = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "matchLabelKeys": keys,
    }
    value = {
        "metadata": {"labels": labels},
        "spec": {"topologySpreadConstraints": [constraint | changes]},
    }
    return RunningPods(msgspec.convert(value, SubjectPod), {"node": number})


def split(
    *groups: RunningPods, gates: Gates = GATES, kind: GroupKind = DEPLOYMENT
) -> list[PodRevision]:
    subject = Subject(kind=kind, pod=SubjectPod(), running=groups)
    return split_revisions(subject, gates)


def describe(revisions: list[PodRevision]) -> list[tuple[str, int]]:
    return [(revision.name, revision.number) for revision in revisions]


def test_a_single_group_is_a_revision_without_a_name() -> None:
    (revision,) = split(group({HASH: "h1"}, 3))

    assert (revision.name, revision.number, len(revision.constraints)) == ("", 3, 1)


def test_values_of_match_label_keys_are_revisions_the_largest_first() -> None:
    found = split(group({HASH: "h1"}), group({HASH: "h2"}, 2))

    assert describe(found) == [(f"{HASH}=h2", 2), (f"{HASH}=h1", 1)]


@pytest.mark.parametrize("is_merged", [False, True], ids=["as written", "as stored"])
def test_a_label_of_each_pod_alone_divides_no_revision(is_merged: bool) -> None:
    key, pods = "statefulset.kubernetes.io/pod-name", list[RunningPods]()
    for name in ("web-0", "web-1"):
        own = [{"key": key, "operator": "In", "values": [name]}] if is_merged else []
        shared = {"key": HASH, "operator": "In", "values": ["h1"]}
        selector = {"matchExpressions": [*own, shared]}
        pods.append(group({key: name, HASH: "h1"}, 1, (key, HASH), labelSelector=selector))

    (revision,) = split(*pods, kind=STATEFUL_SET)

    assert (revision.name, revision.number) == ("", 2)
    assert len(split(*pods)) == 2  # no controller gives this label to pods of a Deployment
    assert len(split(*(group({HASH: one}, 1, (key, HASH)) for one in "ab"), kind=STATEFUL_SET)) == 2


def test_pods_without_a_selector_are_one_revision() -> None:
    key = "statefulset.kubernetes.io/pod-name"

    assert len(split(*(group({key: one}, 1, (key,)) for one in "ab"), kind=STATEFUL_SET)) == 1


def test_without_the_gate_revisions_count_together() -> None:
    gates = resolve(parse_version("1.24"), {})

    assert describe(split(group({HASH: "h1"}), group({HASH: "h2"}, 2), gates=gates)) == [("", 3)]


def test_labels_that_constraints_do_not_compare_are_no_revisions() -> None:
    (revision,) = split(group({"pod": "0"}, 1, ()), group({"pod": "1"}, 2, ()))

    assert (revision.name, revision.number, revision.nodes) == ("", 3, {"node": 3})
    assert revision.labels == {"pod": "1"}


def test_pods_that_are_replaced_are_a_revision() -> None:
    old, new = group({HASH: "h1"}, 2, ()), group({HASH: "h2"}, 1, ())

    found = split(replace(old, replaced=True), new)

    assert describe(found) == [(f"{HASH}=h1", 2), (f"{HASH}=h2", 1)]
    assert [revision.is_replaced for revision in found] == [True, False]


def test_a_revision_is_unordered_if_any_of_its_pods_is() -> None:
    marked = replace(group({HASH: "h1"}), unordered=True)

    assert PodRevision([group({HASH: "h2"}), marked], ()).is_unordered
    assert not PodRevision([group({HASH: "h2"})], ()).is_unordered


def test_different_constraints_are_revisions() -> None:
    found = split(group({"pod": "0"}, 1, ()), group({"pod": "1"}, 2, (), maxSkew=2))

    assert [revision.constraints[0].max_skew for revision in found] == [2, 1]
    assert describe(found) == [("", 2), ("", 1)]


def without_constraints(labels: dict[str, str], number: int = 1) -> RunningPods:
    return RunningPods(msgspec.convert({"metadata": {"labels": labels}}, SubjectPod), {"b": number})


WEB = {"app": "web"}
SELECTING: dict[str, Any] = {"labelSelector": {"matchLabels": WEB}}
DEFAULTED = group(WEB, 3, (), **SELECTING)
BY_REVISION = group({**WEB, HASH: "h1"}, 3, (HASH,), **SELECTING)


@pytest.mark.parametrize(
    ("new", "old", "numbers"),
    [
        (DEFAULTED, without_constraints(WEB, 4), [7]),
        (DEFAULTED, without_constraints({"app": "db"}), [3, 1]),
        (BY_REVISION, without_constraints({**WEB, HASH: "h1"}), [4]),
        (BY_REVISION, without_constraints({**WEB, HASH: "h2"}), [3, 1]),
        (DEFAULTED, replace(without_constraints(WEB), replaced=True), [3, 1]),
    ],
    ids=["counted", "not selected", "of a revision", "of another revision", "being replaced"],
)
def test_pods_older_than_a_default_are_of_the_revision_that_counts_them(
    new: RunningPods, old: RunningPods, numbers: list[int]
) -> None:
    for groups in ((new, old), (old, new)):
        found = split(*groups)

        assert [revision.number for revision in found] == numbers
        assert found[0].constraints == new.pod.constraints


def test_pods_older_than_a_second_default_have_the_first_one() -> None:
    both = group(WEB, 3, (), **SELECTING)
    assert both.pod.spec is not None
    constraints = (*DEFAULTED.pod.constraints, *group(WEB, maxSkew=2, **SELECTING).pod.constraints)
    spec = replace(both.pod.spec, topology_spread_constraints=constraints)
    both = replace(both, pod=replace(both.pod, spec=spec))

    (revision,) = split(DEFAULTED, both)

    assert (revision.number, revision.constraints) == (6, constraints)


def test_the_smallest_of_many_revisions_are_joined_without_constraints() -> None:
    groups = [group({HASH: f"h{i}"}, 10 - i) for i in range(MOST_REVISIONS + 2)]

    *_, last = found = split(*groups)

    assert len(found) == MOST_REVISIONS + 1
    assert (last.name, last.number, last.constraints) == ("2 more revisions", 11, ())


@pytest.mark.parametrize(
    ("marks", "replaced"),
    [((True, True), True), ((True, False), False)],
    ids=["all groups", "some groups"],
)
def test_a_revision_is_replaced_if_all_of_its_pods_are(
    marks: tuple[bool, ...], replaced: bool
) -> None:
    groups = [replace(group({HASH: "h1", "pod": str(mark)}), replaced=mark) for mark in marks]

    revision = PodRevision(groups, ())

    assert revision.is_replaced is replaced
