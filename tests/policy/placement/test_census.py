from collections import Counter

import msgspec
import pytest
from hypothesis import given

from tests.policy.placement.clusters import SELECTS_WEB, WEB, placed_pods, running, selectors
from webhook.policy.model import LabelSelector, LabelSelectorRequirement
from webhook.policy.placement.census import Census, ObservedPod
from webhook.policy.selectors import matches

Placed = list[tuple[str, dict[str, str], str]]


def census_of(pods: Placed) -> Census:
    census = Census()
    for namespace, labels, node in pods:
        census.add(namespace, labels, node)
    return census


def expression(key: str, operator: str, *values: str) -> LabelSelector:
    requirement = LabelSelectorRequirement(key=key, operator=operator, values=values)
    return LabelSelector(match_expressions=(requirement,))


PODS: Placed = [
    ("shop", {"app": "web", "rev": "1"}, "n1"),
    ("shop", {"app": "web", "rev": "1"}, "n1"),
    ("shop", {"app": "web", "rev": "2"}, "n2"),
    ("shop", {"app": "db"}, "n2"),
    ("shop", {}, "n3"),
    ("bank", {"app": "web"}, "n1"),
]

# namespace, selector, pods by node
COUNTS: dict[str, tuple[str, LabelSelector | None, dict[str, int]]] = {
    "pods of one label": ("shop", SELECTS_WEB, {"n1": 2, "n2": 1}),
    "pods of two labels": (
        "shop", LabelSelector(match_labels={"app": "web", "rev": "2"}), {"n2": 1}
    ),
    "pods of another namespace": ("bank", SELECTS_WEB, {"n1": 1}),
    "a namespace without pods": ("void", SELECTS_WEB, {}),
    "a label that no pod has": ("shop", LabelSelector(match_labels={"app": "no"}), {}),
    "no selector counts nothing": ("shop", None, {}),
    "an empty selector counts nothing": ("shop", LabelSelector(), {}),
    "In of one value": ("shop", expression("app", "In", "db"), {"n2": 1}),
    "In of two values": ("shop", expression("app", "In", "db", "web"), {"n1": 2, "n2": 2}),
    "NotIn": ("shop", expression("app", "NotIn", "web"), {"n2": 1, "n3": 1}),
    "pairs that contradict each other": (
        "shop", LabelSelector({"app": "web"}, expression("app", "In", "db").match_expressions), {}
    ),
    "pairs and expressions": (
        "shop",
        LabelSelector({"app": "web"}, expression("rev", "NotIn", "1").match_expressions),
        {"n2": 1},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("namespace", "selector", "pods"), COUNTS.values(), ids=COUNTS.keys())
def test_count(namespace: str, selector: LabelSelector | None, pods: dict[str, int]) -> None:
    assert census_of(PODS).count(namespace, selector) == pods


# members of a pod besides its labels, does it count
COUNTED = {
    "a running pod": ('"spec":{"nodeName":"n1"},"status":{"phase":"Running"}', True),
    "a pod without a status": ('"spec":{"nodeName":"n1"}', True),
    "a pod without a node": ('"spec":{}', False),
    "a pod without a specification": ('"status":{}', False),
    "a pod that succeeded": ('"spec":{"nodeName":"n1"},"status":{"phase":"Succeeded"}', False),
    "a pod that failed": ('"spec":{"nodeName":"n1"},"status":{"phase":"Failed"}', False),
}


@pytest.mark.parametrize(("members", "counts"), COUNTED.values(), ids=COUNTED.keys())
def test_which_pods_count(members: str, counts: bool) -> None:
    text = f'{{"metadata":{{"namespace":"shop","labels":{{"app":"web"}}}},{members}}}'
    pod = msgspec.json.decode(text, type=ObservedPod)

    assert Census([pod]).count("shop", SELECTS_WEB) == ({"n1": 1} if counts else {})


def test_a_terminating_pod_does_not_count() -> None:
    text = (
        '{"metadata":{"namespace":"shop","labels":{"app":"web"},'
        '"deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":{"nodeName":"n1"}}'
    )

    assert Census([msgspec.json.decode(text, type=ObservedPod)]).count("shop", SELECTS_WEB) == {}


def test_a_pod_without_namespace_and_labels_counts_where_it_is() -> None:
    pod = msgspec.json.decode('{"metadata":{},"spec":{"nodeName":"n1"}}', type=ObservedPod)

    assert Census([pod]).count("", expression("app", "DoesNotExist")) == {"n1": 1}


def test_pods_that_are_alike_are_counted_together() -> None:
    census = census_of(PODS)

    census.add_alike("shop", {"app": "web"}, {"n1": 2, "n9": 1})

    assert census.count("shop", SELECTS_WEB) == {"n1": 4, "n2": 1, "n9": 1}


def test_a_copy_grows_on_its_own() -> None:
    census = census_of(PODS)

    copy = census.copy()
    copy.add("shop", WEB, "n9", 3)

    assert copy.count("shop", SELECTS_WEB) == {"n1": 2, "n2": 1, "n9": 3}
    assert census.count("shop", SELECTS_WEB) == {"n1": 2, "n2": 1}


def test_the_controller_of_a_pod_is_the_managing_owner() -> None:
    owners = '[{"name":"a"},{"name":"b","controller":true}]'
    text = f'{{"metadata":{{"ownerReferences":{owners}}}}}'
    controller = msgspec.json.decode(text, type=ObservedPod).controller

    assert controller is not None
    assert controller.name == "b"
    assert ObservedPod().controller is None


def test_removed_pods_no_longer_count() -> None:
    census = Census()
    census.add_alike("shop", WEB, {"n1": 2, "n2": 1})

    census.remove("shop", WEB, "n1")
    census.remove("shop", WEB, "n2")

    assert census.count("shop", SELECTS_WEB) == {"n1": 1}


@given(placed_pods, selectors)
def test_counting_groups_is_counting_pods(pods: Placed, selector: LabelSelector) -> None:
    one_by_one = Counter(
        node
        for namespace, labels, node in pods
        if namespace == "shop" and selector != LabelSelector() and matches(selector, labels)
    )

    assert census_of(pods).count("shop", selector) == one_by_one
    assert census_of(pods).copy().count("shop", selector) == one_by_one
    assert census_of(pods[::-1]).count("shop", selector) == one_by_one


def test_a_census_without_some_pods_is_that_of_the_others() -> None:
    census = Census()
    census.add_alike("shop", {"app": "web", "rev": "1"}, {"a": 2, "b": 1})
    census.add_alike("shop", {"app": "web", "rev": "2"}, {"a": 1})
    census.add("bank", {"app": "web"}, "a")
    web = LabelSelector({"app": "web"})

    rest = census.leave_out("shop", [({"app": "web", "rev": "1"}, {"a": 1, "b": 1, "": 3})])

    assert rest.count("shop", web) == {"a": 2}
    assert census.count("shop", web) == {"a": 3, "b": 1}
    assert rest.count("bank", web) == {}


def test_null_values_of_labels_are_empty() -> None:
    metadata = {"labels": {"app": None, "x": "y"}, "annotations": {"a": None}}

    pod = msgspec.convert({"metadata": metadata}, ObservedPod)

    assert pod.metadata.labels == {"app": "", "x": "y"}
    assert pod.metadata.annotations == {"a": ""}


def test_pods_with_the_same_labels_are_selected_together() -> None:
    census = running({"a": 2, "b": 1})
    census.add("shop", {"app": "db"}, "a")
    census.add("bank", WEB, "c")

    assert list(census.namespaces) == ["shop", "bank"]
    assert list(census.select("shop", SELECTS_WEB)) == [(WEB, {"a": 2, "b": 1})]
    assert len(list(census.select("shop", LabelSelector()))) == 2
    assert list(census.select("shop", None)) == []
    assert list(census.select("unknown", SELECTS_WEB)) == []


@pytest.mark.parametrize(("phase", "is_ending"), [("Running", True), ("Failed", False)])
def test_a_pod_ends_from_its_deletion_until_it_has_finished(phase: str, is_ending: bool) -> None:
    status, deleted = {"phase": phase}, {"deletionTimestamp": "2026-11-27T10:00:00Z"}
    pods = ({"metadata": metadata, "status": status} for metadata in ({}, deleted))

    found = [msgspec.convert(pod, ObservedPod).is_ending for pod in pods]

    assert found == [False, is_ending]
