"""The ``cluster`` of a conformance case: its Services and owners as facts, its nodes and pods."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from webhook.policy.facts import NoFacts, ServiceSelector
from webhook.policy.model import LabelSelector, Node, OwnerReference, Taint
from webhook.policy.placement.census import Census, ObservedPod
from webhook.policy.selectors import has_pairs

OWNERS = {
    ("v1", "ReplicationController"): "replicationControllers",
    ("apps/v1", "ReplicaSet"): "replicaSets",
    ("apps/v1", "StatefulSet"): "statefulSets",
}
"""API version and kind of an owner that has a selector -> member of ``cluster``."""


class RecordedFacts(NoFacts):
    """The owners of pods in a recorded cluster."""

    def __init__(self, cluster: Mapping[str, Any]) -> None:
        self.cluster = cluster

    def services(self, namespace: str, labels: Mapping[str, str]) -> Sequence[ServiceSelector]:
        found = [
            ServiceSelector(service["metadata"]["name"], service["spec"]["selector"])
            for service in self.cluster.get("services") or ()
            if service["metadata"].get("namespace", "") == namespace
            and service["spec"].get("selector") is not None
            and has_pairs(labels, service["spec"]["selector"])
        ]
        return sorted(found, key=lambda service: service.name)

    def owner_selector(self, namespace: str, owner: OwnerReference) -> LabelSelector | None:
        member = OWNERS.get((owner.api_version, owner.kind), "")
        for candidate in self.cluster.get(member) or ():
            metadata, selector = candidate["metadata"], candidate["spec"].get("selector")
            if (metadata.get("namespace", ""), metadata["name"]) == (namespace, owner.name):
                return _selector(owner.kind, selector)
        return None


def _selector(kind: str, selector: Any) -> LabelSelector | None:
    if kind == "ReplicationController" and selector is not None:
        return LabelSelector(match_labels=selector)
    return msgspec.convert(selector, LabelSelector | None)


def nodes(cluster: Mapping[str, Any]) -> list[Node]:
    """The nodes of a recorded cluster, in order."""
    return [_node(node) for node in cluster.get("nodes") or ()]


def _node(node: Mapping[str, Any]) -> Node:
    spec = node.get("spec") or {}
    return Node(
        node["metadata"]["name"],
        node["metadata"].get("labels") or {},
        msgspec.convert(spec.get("taints") or (), tuple[Taint, ...]),
        unschedulable=spec.get("unschedulable", False),
    )


def pods(cluster: Mapping[str, Any]) -> Census:
    """The pods of a recorded cluster, counted."""
    return Census(msgspec.convert(cluster.get("pods") or (), tuple[ObservedPod, ...]))
