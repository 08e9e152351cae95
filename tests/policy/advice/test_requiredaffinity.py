from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from tests.build import NAMESPACE, Json, spread
from tests.policy.advice.subjects import THREE, audit, check_rule, judged, running, zones
from webhook.policy.advice.requiredaffinity import NO_AFFINITY, read_affinity
from webhook.policy.advice.runningpods import RunningPods
from webhook.policy.advice.subject import Subject
from webhook.policy.model import HOSTNAME, ZONE, Node

WEB: Json = {"matchLabels": {"app": "web"}}
REDIS: Json = {"matchLabels": {"app": "redis"}}
SMALL = zones("a1", "a2", "b1")
ON_REDIS = running("b1", labels={"app": "redis"})
OF_TEAM = running("b2", labels={"app": "redis", "team": "b"})


def term(selector: Json | None = None, key: str = HOSTNAME, **fields: Any) -> Json:
    return {"labelSelector": selector or WEB, "topologyKey": key, **fields}


def apart(*terms: Json) -> Subject:
    return _bound_to("podAntiAffinity", terms)


def beside(*terms: Json) -> Subject:
    return _bound_to("podAffinity", terms)


def _bound_to(kind: str, terms: Sequence[Json]) -> Subject:
    affinity = {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [*terms]}}
    return judged(spread(), affinity=affinity)


def rejected(
    advised: Subject,
    *pods: RunningPods,
    others: Sequence[RunningPods] = (),
    nodes: Sequence[Node] = SMALL,
) -> dict[str, str]:
    """Find the nodes that reject the next pod, with the field that does."""
    cluster = audit(nodes, [*pods, *others]).cluster
    assert cluster is not None
    names = [node.name for node in nodes]
    affinity = read_affinity(replace(advised, running=pods), names, cluster)
    found = {node.name: affinity.find_rejecting(node) for node in nodes}
    return {name: field for name, field in found.items() if field}


AVOIDING = "podAntiAffinity"
FOLLOWING = "podAffinity"
HASHED = {"app": "web", "pod-template-hash": "new"}
OLD = running("b1", labels={"app": "web", "pod-template-hash": "old"})
NEW = running("a1", "", labels=HASHED)
BY_HASH: Json = {"matchLabelKeys": ["pod-template-hash"]}
ANY_NAMESPACE: Json = {"namespaceSelector": {}}
SOME_NAMESPACES: Json = {"namespaceSelector": {"matchLabels": {"team": "b"}}}

# terms, other pods, nodes that reject the next pod
AVOIDED: dict[str, tuple[list[Json], list[RunningPods], list[str]]] = {
    "its own pods on a node": ([term()], [], ["a1"]),
    "its own pods in a zone": ([term(key=ZONE)], [], ["a1", "a2"]),
    "pods of another workload": ([term(REDIS)], [ON_REDIS], ["b1"]),
    "either of two": ([term(), term(REDIS)], [ON_REDIS], ["a1", "b1"]),
    "its namespace by its name": ([term(namespaces=[NAMESPACE])], [], ["a1"]),
    "all namespaces": ([term(**ANY_NAMESPACE)], [], ["a1"]),
    "another namespace": ([term(namespaces=["other"])], [], []),
    "namespaces by unknown labels": ([term(**SOME_NAMESPACES)], [], []),
    "other namespaces by unknown labels": (
        [term(namespaces=["other"], **SOME_NAMESPACES)], [], []
    ),
    "no pod": ([term(REDIS)], [], []),
    "pods of any revision": ([term()], [OLD], ["a1", "b1"]),
    "pods of its revision": ([term(**BY_HASH)], [OLD], ["a1"]),
    "pods of other revisions": ([term(mismatchLabelKeys=["pod-template-hash"])], [OLD], []),
    "a key that nodes lack": ([term(key="rack")], [], []),
}  # fmt: skip


@pytest.mark.parametrize(("terms", "others", "nodes"), AVOIDED.values(), ids=AVOIDED.keys())
def test_nodes_with_pods_that_anti_affinity_avoids(
    terms: list[Json], others: list[RunningPods], nodes: list[str]
) -> None:
    found = rejected(apart(*terms), NEW, others=others)

    assert found == dict.fromkeys(nodes, AVOIDING)


# terms, other pods, nodes that accept the next pod
FOLLOWED: dict[str, tuple[list[Json], list[RunningPods], str]] = {
    "the node of another workload": ([term(REDIS)], [ON_REDIS], "b1"),
    "its zone": ([term(REDIS, ZONE)], [ON_REDIS], "b1 b2"),
    "either of two zones": (
        [term(REDIS, ZONE)], [ON_REDIS, running("c1", labels={"app": "redis"})], "b1 b2 c1 c2"
    ),
    "pods that all terms select": (
        [term(REDIS), term({"matchLabels": {"team": "b"}}, ZONE)], [ON_REDIS, OF_TEAM], "b2"
    ),
    "its own pods": ([term(key=ZONE)], [], "a1 a2"),
    "no pod, which may yet be created": ([term(REDIS)], [], ""),
    "a pod on an unknown node": ([term(REDIS)], [running("x", labels={"app": "redis"})], ""),
    "a key that its node lacks": ([term(REDIS, "rack")], [ON_REDIS], ""),
    "another namespace": ([term(REDIS, namespaces=[NAMESPACE, "other"])], [ON_REDIS], ""),
    "all namespaces": ([term(REDIS, **ANY_NAMESPACE)], [ON_REDIS], ""),
    "pods of its revision": ([term(REDIS, **BY_HASH)], [ON_REDIS], ""),
    "pods of other revisions": (
        [term(REDIS, mismatchLabelKeys=["pod-template-hash"])], [ON_REDIS], ""
    ),
}  # fmt: skip


@pytest.mark.parametrize(("terms", "others", "accepting"), FOLLOWED.values(), ids=FOLLOWED.keys())
def test_nodes_beside_the_pods_that_affinity_requires(
    terms: list[Json], others: list[RunningPods], accepting: str
) -> None:
    found = rejected(beside(*terms), NEW, others=others, nodes=THREE)

    left = {node.name for node in THREE} - set(accepting.split() or [one.name for one in THREE])
    assert found == dict.fromkeys(sorted(left), FOLLOWING)


@pytest.mark.parametrize(
    "pods",
    [
        [],
        [running("a1")],
        [replace(NEW, replaced=True)],
        [NEW, replace(OLD, unordered=True)],
        [running("a1", "a2", "b1", "")],
    ],
    ids=["no pod", "none waits", "replaced", "a rollout", "rejected everywhere"],
)
def test_it_rejects_no_node_unless_a_pod_waits_for_a_constraint(pods: list[RunningPods]) -> None:
    cluster = audit(SMALL, pods).cluster
    assert cluster is not None

    advised, names = replace(apart(term()), running=tuple(pods)), [node.name for node in SMALL]
    assert read_affinity(advised, names, cluster) == NO_AFFINITY


def test_pods_without_affinity_have_a_place() -> None:
    assert rejected(judged(spread()), NEW) == {}


def test_a_pod_that_its_term_does_not_select_avoids_every_selected_pod() -> None:
    advised = replace(apart(term(REDIS)), running=(NEW,))

    assert check_rule("TSC106", advised, audit(SMALL, [NEW, ON_REDIS])) != []
    assert check_rule("TSC106", advised, audit(SMALL, [NEW])) == []
