from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.policy.placement.filters.objects import (
    V1_36,
    V1_37,
    Json,
    anti_affinity,
    cluster,
    node_object,
    pod,
    pod_affinity,
    pod_object,
    run_check,
    term,
)
from webhook.policy.api.versions import Version
from webhook.policy.model import HOSTNAME, ZONE
from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.filters.podaffinity import (
    ANTI_AFFINITY,
    EXISTING_PODS,
    POD_AFFINITY,
    prepare_pod_affinity,
)
from webhook.policy.placement.filters.rejections import FilterRejection

# n1 and n2 are in zone a, n3 is in zone b, n4 in none.
NODES = [
    node_object("n1", labels={ZONE: "a"}),
    node_object("n2", labels={ZONE: "a"}),
    node_object("n3", labels={ZONE: "b"}),
    node_object("n4"),
]
NAMESPACES = [
    {"metadata": {"name": "shop", "labels": {"team": "x"}}},
    {"metadata": {"name": "bank", "labels": {"team": "y"}}},
]
WEB, DB = {"app": "web"}, {"app": "db"}


def scene(*pods: Json, version: Version = V1_36) -> SchedulingCluster:
    return cluster(NODES, pods, version, namespaces=NAMESPACES)


def rejections(
    placed: list[Json], version: Version = V1_36, **members: Any
) -> dict[str, FilterRejection]:
    found = scene(*placed, version=version)
    results = run_check(prepare_pod_affinity(pod(**members), found), found)
    return {name: rejection for name, rejection in results.items() if rejection}


def on(node: str, name: str = "p", **members: Any) -> Json:
    return pod_object(name, nodeName=node, **members)


def in_team(team: str) -> Json:
    return {"namespaceSelector": {"matchLabels": {"team": team}}}


NOT_IN_X = {
    "namespaceSelector": {
        "matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["x"]}]
    }
}

# placed pods, the pod's terms, names of the nodes that are rejected
AFFINITIES: dict[str, tuple[list[Json], list[Json], set[str]]] = {
    "a pod in the zone": ([on("n1", labels=DB)], [term(ZONE, app="db")], {"n3", "n4"}),
    "a pod on the node": ([on("n1", labels=DB)], [term(HOSTNAME, app="db")], {"n2", "n3", "n4"}),
    "no such pod": ([on("n1", labels=WEB)], [term(ZONE, app="db")], {"n1", "n2", "n3", "n4"}),
    "the first of its kind": ([on("n1", labels=DB)], [term(ZONE, app="web")], {"n4"}),
    "one of its kind exists": ([on("n3", labels=WEB)], [term(ZONE, app="web")], {"n1", "n2", "n4"}),
    "one of its kind on a node without the key": (
        [on("n4", labels=WEB)], [term(ZONE, app="web")], {"n4"}
    ),
    "a pod on an unknown node": ([on("gone", labels=WEB)], [term(ZONE, app="web")], {"n4"}),
    "a pod in another namespace": (
        [on("n1", labels=DB, namespace="bank")], [term(ZONE, app="db")], {"n1", "n2", "n3", "n4"}
    ),
    "a pod in a listed namespace": (
        [on("n1", labels=DB, namespace="bank")], [{**term(ZONE, app="db"), "namespaces": ["bank"]}],
        {"n3", "n4"},
    ),
    "a pod in a selected namespace": (
        [on("n1", labels=DB, namespace="bank")], [{**term(ZONE, app="db"), **in_team("y")}],
        {"n3", "n4"},
    ),
    "a pod in any namespace": (
        [on("n1", labels=DB, namespace="new")], [{**term(ZONE, app="db"), "namespaceSelector": {}}],
        {"n3", "n4"},
    ),
    "a pod that matches both terms": (
        [on("n1", labels={**DB, "tier": "a"})], [term(ZONE, app="db"), term(HOSTNAME, tier="a")],
        {"n2", "n3", "n4"},
    ),
    "pods that match one term each": (
        [on("n1", labels=DB), on("n1", "q", labels={"tier": "a"})],
        [term(ZONE, app="db"), term(HOSTNAME, tier="a")], {"n1", "n2", "n3", "n4"},
    ),
    "a pod that is being deleted": (
        [{**on("n1"), "metadata": {"name": "p", "namespace": "shop", "labels": DB,
          "deletionTimestamp": "2026-01-01T00:00:00Z"}}],
        [term(ZONE, app="db")], {"n3", "n4"},
    ),
    "a term without a selector": (
        [on("n1", labels=DB)], [{"topologyKey": ZONE}], {"n1", "n2", "n3", "n4"}
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("placed", "terms", "rejected"), AFFINITIES.values(), ids=AFFINITIES.keys()
)
def test_pod_affinity(placed: list[Json], terms: list[Json], rejected: set[str]) -> None:
    found = rejections(placed, labels=WEB, affinity=pod_affinity(*terms))

    assert found == dict.fromkeys(found, POD_AFFINITY)
    assert found.keys() == rejected


# placed pods, the pod's terms, names of the nodes that are rejected
ANTI_AFFINITIES: dict[str, tuple[list[Json], list[Json], set[str]]] = {
    "a pod in the zone": ([on("n1", labels=DB)], [term(ZONE, app="db")], {"n1", "n2"}),
    "a pod on the node": ([on("n1", labels=DB)], [term(HOSTNAME, app="db")], {"n1"}),
    "no such pod": ([on("n1", labels=WEB)], [term(ZONE, app="db")], set()),
    "any of two terms": (
        [on("n1", labels=DB), on("n3", "q", labels=WEB)],
        [term(ZONE, app="db"), term(HOSTNAME, app="web")], {"n1", "n2", "n3"},
    ),
    "two terms with the same key": (
        [on("n1", labels=DB), on("n3", "q", labels=WEB)],
        [term(ZONE, app="db"), term(ZONE, app="web")], {"n1", "n2", "n3"},
    ),
    "a pod in a namespace that is not selected": (
        [on("n1", labels=DB)], [{**term(ZONE, app="db"), **in_team("y")}], set()
    ),
    "a pod on a node without the key": ([on("n4", labels=DB)], [term(ZONE, app="db")], set()),
}  # fmt: skip


@pytest.mark.parametrize(
    ("placed", "terms", "rejected"), ANTI_AFFINITIES.values(), ids=ANTI_AFFINITIES.keys()
)
def test_pod_anti_affinity(placed: list[Json], terms: list[Json], rejected: set[str]) -> None:
    found = rejections(placed, affinity=anti_affinity(*terms))

    assert found == dict.fromkeys(rejected, ANTI_AFFINITY)


# placed pod, names of the nodes that are rejected
EXISTING: dict[str, tuple[Json, set[str]]] = {
    "a term that selects the pod": (
        on("n1", affinity=anti_affinity(term(ZONE, app="web"))), {"n1", "n2"}
    ),
    "a term that does not": (on("n1", affinity=anti_affinity(term(ZONE, app="db"))), set()),
    "another namespace": (
        on("n1", namespace="bank", affinity=anti_affinity(term(ZONE, app="web"))), set()
    ),
    "a selected namespace": (
        on("n1", namespace="bank",
           affinity=anti_affinity({**term(HOSTNAME, app="web"), **in_team("x")})),
        {"n1"},
    ),
    "a namespace that is not selected": (
        on("n1", namespace="bank",
           affinity=anti_affinity({**term(HOSTNAME, app="web"), **in_team("y")})),
        set(),
    ),
    "affinity alone": (on("n1", affinity=pod_affinity(term(ZONE, app="web"))), set()),
}  # fmt: skip


@pytest.mark.parametrize(("placed", "rejected"), EXISTING.values(), ids=EXISTING.keys())
def test_anti_affinity_of_placed_pods(placed: Json, rejected: set[str]) -> None:
    assert rejections([placed], labels=WEB) == dict.fromkeys(rejected, EXISTING_PODS)


def test_the_own_affinity_is_named_first() -> None:
    placed = on("n1", labels=DB, affinity=anti_affinity(term(HOSTNAME, app="web")))
    own = {**pod_affinity(term(ZONE, app="db")), **anti_affinity(term(HOSTNAME, app="db"))}

    assert rejections([placed], labels=WEB, affinity=own) == {
        "n1": ANTI_AFFINITY, "n3": POD_AFFINITY, "n4": POD_AFFINITY
    }  # fmt: skip


def test_the_filter_has_nothing_to_check_without_affinity() -> None:
    assert prepare_pod_affinity(pod(labels=WEB), scene(on("n1", labels=WEB))) is None


# Selects no Namespace but those without the label, and in 1.36 the pods of all namespaces.
@pytest.mark.parametrize(("version", "rejected"), [(V1_36, {"n1", "n2"}), (V1_37, set[str]())])
def test_a_namespace_selector_is_matched_without_labels_before_1_37(
    version: Version, rejected: set[str]
) -> None:
    affinity = anti_affinity({**term(ZONE, app="db"), **NOT_IN_X})

    found = rejections([on("n1", labels=DB)], version, affinity=affinity)

    assert found.keys() == rejected


@given(st.lists(st.tuples(st.sampled_from(["n1", "n2", "n3", "n4"]), st.sampled_from([WEB, DB]))))
def test_anti_affinity_rejects_exactly_where_affinity_finds_pods(
    placed: list[tuple[str, dict[str, str]]],
) -> None:
    pods = [on(node, f"p{index}", labels=labels) for index, (node, labels) in enumerate(placed)]
    with_zone = {"n1", "n2", "n3"}

    apart = rejections(pods, affinity=anti_affinity(term(ZONE, app="db")))
    together = rejections(pods, affinity=pod_affinity(term(ZONE, app="db")))

    assert apart.keys() == with_zone - together.keys()
