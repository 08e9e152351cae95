"""Namespaces have the label of kube-apiserver; other labels of unknown ones are named."""

from typing import Any

import pytest

from tests.policy.placement.filters.objects import anti_affinity, pod, pod_affinity, term
from webhook.policy.model import NAME_LABEL
from webhook.policy.placement.filters.filterpods import FilterPod
from webhook.policy.placement.filters.namespaces import complete_namespaces, find_unlabelled
from webhook.policy.placement.filters.placedpods import PlacedPods

DB = pod("db", namespace="ops", labels={"app": "db"}, nodeName="n1")


def selecting(app: str, **members: Any) -> dict[str, Any]:
    """A term whose namespaceSelector requires a label."""
    return {**term("zone", app=app), "namespaceSelector": {"matchLabels": {"team": "x"}}, **members}


BY_NAME = {"matchLabels": {NAME_LABEL: "ops"}}

# terms of the pod to place, and of the pod db in ops; the namespaces whose labels decide
CASES: dict[str, tuple[FilterPod, FilterPod, set[str]]] = {
    "no term": (pod(), DB, set()),
    "a term of the pod that selects db": (
        pod(affinity=anti_affinity(selecting("db"))),
        DB,
        {"ops"},
    ),
    "a term of affinity": (pod(affinity=pod_affinity(selecting("db"))), DB, {"ops"}),
    "a term that names the namespace": (
        pod(affinity=anti_affinity(selecting("db", namespaces=["ops"]))),
        DB,
        set(),
    ),
    "a term that selects no pod": (pod(affinity=anti_affinity(selecting("api"))), DB, set()),
    "a term that selects pods like the pod": (
        pod(labels={"app": "web"}, affinity=anti_affinity(selecting("web"))),
        DB,
        {"shop"},
    ),
    "a term that selects by name": (
        pod(affinity=anti_affinity(selecting("db", namespaceSelector=BY_NAME))),
        DB,
        set(),
    ),
    "a term that selects all namespaces": (
        pod(affinity=anti_affinity(selecting("db", namespaceSelector={}))),
        DB,
        set(),
    ),
    "a term of db that selects the pod": (
        pod(labels={"app": "web"}),
        pod("db", namespace="ops", nodeName="n1", affinity=anti_affinity(selecting("web"))),
        {"shop"},
    ),
    "a term of db that names the namespace": (
        pod(labels={"app": "web"}),
        pod(
            "db",
            namespace="ops",
            nodeName="n1",
            affinity=anti_affinity(selecting("web", namespaces=["shop"])),
        ),
        set(),
    ),
}


@pytest.mark.parametrize(("incoming", "other", "names"), CASES.values(), ids=CASES.keys())
def test_namespaces_whose_labels_decide(
    incoming: FilterPod, other: FilterPod, names: set[str]
) -> None:
    placed = PlacedPods([other])

    assert find_unlabelled([incoming], placed, {}) == names
    assert find_unlabelled([incoming], placed, {"ops": {}, "shop": {}}) == set()


def test_the_name_of_a_namespace_is_a_label() -> None:
    known = {"ops": {"team": "x", NAME_LABEL: "ops"}}

    assert complete_namespaces(known, ["ops", "shop"]) == {**known, "shop": {NAME_LABEL: "shop"}}
