"""Objects of a cluster in short-hand."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from webhook.cluster import wire
from webhook.cluster.store import Store
from webhook.policy.model import ZONE, Taint
from webhook.policy.scaledown.ranks import KEEP_SPREAD, SCALE_DOWN_LABEL, annotate_rank

REPLICATION_CONTROLLER_V1 = ("v1", "ReplicationController")
REPLICA_SET_V1 = ("apps/v1", "ReplicaSet")
STATEFUL_SET_V1 = ("apps/v1", "StatefulSet")


def service(
    name: str, selector: Mapping[str, str] | None, *, namespace: str = "shop"
) -> wire.ServiceObject:
    """Make a Service."""
    metadata = {"name": name, "namespace": namespace}
    return msgspec.convert(
        {"metadata": metadata, "spec": {"selector": selector}}, wire.ServiceObject
    )


def controller(
    name: str, labels: Mapping[str, str] | None, *, namespace: str = "shop"
) -> wire.ControllerObject:
    """Make a ReplicaSet or a StatefulSet; with None it has no selector."""
    metadata = {"name": name, "namespace": namespace}
    selector = None if labels is None else {"matchLabels": labels}
    return msgspec.convert(
        {"metadata": metadata, "spec": {"selector": selector}}, wire.ControllerObject
    )


def namespace(name: str, labels: Mapping[str, str]) -> wire.NamespaceObject:
    """Make a Namespace."""
    return msgspec.convert({"metadata": {"name": name, "labels": labels}}, wire.NamespaceObject)


def labelled_pod(
    name: str,
    node: str = "",
    *,
    rank: int = 0,
    controller: str = "u1",
    key: str = ZONE,
    namespace: str = "shop",
    phase: str = "Running",
) -> dict[str, Any]:
    """Make a pod whose spread is to be kept, as JSON; rank 0 is none."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "controller": True, "uid": controller}
    constraint = {"topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {SCALE_DOWN_LABEL: KEEP_SPREAD},
            "annotations": annotate_rank(rank) if rank else {},
            "ownerReferences": [owner],
        },
        "spec": {"nodeName": node, "topologySpreadConstraints": [constraint]},
        "status": {"phase": phase},
    }


def cached_pod(name: str, node: str = "", **changes: Any) -> wire.PodObject:
    """Make the same pod as the cache decodes it."""
    return msgspec.convert(labelled_pod(name, node, **changes), wire.PodObject)


def node(
    name: str,
    labels: Mapping[str, str],
    *,
    unschedulable: bool = False,
    taints: Iterable[Taint] = (),
) -> wire.NodeObject:
    """Make a Node."""
    metadata = wire.LabelledMetadata(name=name, labels=dict(labels))
    return wire.NodeObject(metadata, wire.NodeSpec(tuple(taints), unschedulable))


class Change(NamedTuple):
    """A change of a store: one object is put or removed."""

    removes: bool
    thing: Any

    def apply(self, store: Store[Any]) -> None:
        if self.removes:
            store.remove(self.thing.namespace, self.thing.name)
        else:
            store.put(self.thing)
