"""
Random pods and clusters, for the filters of kube-scheduler's default profile.

``make_case`` is the entry point. Objects are as a client writes them: kube-apiserver accepts them,
and adds its defaults. Left out is what the cases' clusters have no member for, such as
VolumeAttachments, ResourceClaims and pods that are being resized; and nominated pods beside a
constraint with an empty selector, which counts them and no others.
"""

from collections.abc import Mapping
from typing import Any

from tests.conformance.case import Case
from tests.oracle.chance import LABEL_KEYS, LABEL_VALUES, Chance
from tests.oracle.placement import (
    UNSCHEDULABLE,
    make_constraints,
    make_node_affinity,
    make_taint,
    make_toleration,
    selected_keys,
)
from tests.oracle.resources import make_containers, make_node_status
from tests.oracle.selector import make_controllers
from tests.oracle.volumes import DISKS, Storage, add_disk, add_volumes, make_storage

_HOSTNAME, _ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
_TOPOLOGY_KEYS = (_HOSTNAME, _HOSTNAME, _ZONE, _ZONE, "rack", "missing")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_NAMESPACES = ("default", "other", "third")
_LABELS: tuple[tuple[str, tuple[str, ...], float], ...] = (
    (_ZONE, ("z1", "z2", "z3"), 0.9),
    ("topology.kubernetes.io/region", ("eu",), 0.3),
    ("failure-domain.beta.kubernetes.io/zone", ("z1", "z2"), 0.1),
    ("zone", ("z1", "z2"), 0.9),
    ("topology.ebs.csi.aws.com/zone", ("z1", "z2"), 0.6),
    ("topology.gke.io/zone", ("z1", "z2"), 0.6),
    ("topology.cinder.csi.openstack.org/zone", ("z1", "z2"), 0.6),
    ("rack", ("r1", "r2", "r3", ""), 0.8),
    ("disk", ("ssd", "ssd", "hdd"), 0.8),
    ("size", ("1", "5", "10", "10.0", "large"), 0.6),
)
"""Label of nodes, its values, and the probability that a node has it."""


def make_case(chance: Chance) -> Case:
    """Make a case of the suite ``filters``, without its id and expected answer."""
    large = chance.holds(0.5)
    count = chance.pick((1, 2, 2, 3, 4, 6, 8)) if chance.holds(0.99) else 0
    nodes = [_make_node(chance, f"n{index}", large=large) for index in range(count)]
    names = [node["metadata"]["name"] for node in nodes]
    storage = make_storage(chance, names) if chance.holds(0.4) else {}
    pods = [
        _make_running(chance, f"p{index}", names, storage)
        for index in range(chance.pick((0, 4, 8, 16, 24)))
    ]
    pod = _make_pod(chance, storage, names)
    if chance.holds(0.3) and not _selects_all(pod):
        pods += [
            _make_nominee(chance, f"w{index}", names, storage)
            for index in range(chance.pick((1, 1, 2, 4)))
        ]
        pod["spec"]["priority"] = chance.pick((0, 1, 1, 2))
    if chance.holds(0.15):
        disk = chance.pick(DISKS)
        for one in (pod, *(one for one in pods if chance.holds(0.5))):
            add_disk(chance, one, disk)
    cluster = {"nodes": nodes, "pods": pods, "namespaces": _make_namespaces(chance), **storage}
    if chance.holds(0.1):
        cluster |= make_controllers(chance)
    return {"cluster": cluster, "pod": pod}


def _make_namespaces(chance: Chance) -> list[dict[str, Any]]:
    return [
        {
            "metadata": {
                "name": name,
                "labels": {"kubernetes.io/metadata.name": name, "team": chance.pick("xxy")},
            }
        }
        for name in _NAMESPACES
    ]


def _make_node(chance: Chance, name: str, *, large: bool) -> dict[str, Any]:
    labels = {_HOSTNAME: name} if chance.holds(0.97) else {}
    for key, values, probability in _LABELS:
        if chance.holds(probability):
            labels[key] = chance.pick(values)
    spec: dict[str, Any] = {}
    if chance.holds(0.2):
        taints = chance.several(lambda: make_taint(chance), 1, 2)
        spec["taints"] = list({(one["key"], one["effect"]): one for one in taints}.values())
    if chance.holds(0.1):
        spec["unschedulable"] = True
        if chance.holds(0.8):  # else the controller manager has not added it yet
            cordon = {"key": UNSCHEDULABLE, "effect": "NoSchedule"}
            spec["taints"] = [*spec.get("taints", []), cordon]
    metadata = {"name": name, "labels": labels}
    return {"metadata": metadata, "spec": spec, "status": make_node_status(chance, large=large)}


def _make_running(chance: Chance, name: str, nodes: list[str], storage: Storage) -> dict[str, Any]:
    """Make another pod: most run on a node, others wait, are finished, or were on a lost node."""
    namespace = chance.pick(("default", "default", "default", "other", "third"))
    metadata: dict[str, Any] = {"name": name, "namespace": namespace, "uid": f"u-{name}"}
    metadata["labels"] = chance.labels()
    if chance.holds(0.07):
        metadata |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30}
    phase = "Running" if chance.holds(0.93) else chance.pick(("Succeeded", "Failed", "Pending"))
    spec = make_containers(chance)
    if nodes and chance.holds(0.93):
        spec["nodeName"] = chance.pick(nodes)
    elif chance.holds(0.5):
        spec["nodeName"] = "gone"
    else:
        phase = "Pending"
    if chance.holds(0.2):
        terms = chance.several(lambda: _make_pod_term(chance), 1, 2)
        spec["affinity"] = {"podAntiAffinity": {_REQUIRED: terms}}
    elif chance.holds(0.05):
        spec["affinity"] = {"podAffinity": {_REQUIRED: [_make_pod_term(chance)]}}
    pod = {"metadata": metadata, "spec": spec, "status": {"phase": phase}}
    if storage and chance.holds(0.5):
        add_volumes(chance, pod, storage, nodes)
    return pod


def _selects_all(pod: dict[str, Any]) -> bool:
    """Whether a spread constraint of a pod has an empty selector."""
    constraints = pod["spec"].get("topologySpreadConstraints", ())
    return any(not any(one.get("labelSelector", {}).values()) for one in constraints)


def _make_nominee(chance: Chance, name: str, nodes: list[str], storage: Storage) -> dict[str, Any]:
    """Make a pod without a node that preemption has made room for."""
    pod = _make_running(chance, name, nodes, storage)
    pod["spec"].pop("nodeName", None)
    pod["spec"]["priority"] = chance.pick((0, 1, 2))
    pod["status"] = {"phase": "Pending", "nominatedNodeName": chance.pick((*nodes, "gone"))}
    return pod


def _make_pod(chance: Chance, storage: Storage, nodes: list[str]) -> dict[str, Any]:
    """Make the pod to schedule."""
    namespace = "default" if chance.holds(0.9) else chance.pick(("other", "third"))
    metadata = {"name": "incoming", "namespace": namespace, "uid": "u-in"}
    spec = make_containers(chance, excessive=0.12)
    labels = chance.labels(0.8)
    pod = {"metadata": {**metadata, "labels": labels}, "spec": spec}
    if chance.holds(0.1):
        spec["schedulerName"] = "default-scheduler"
    if chance.holds(0.5):
        spec["topologySpreadConstraints"] = _make_constraints(chance, labels)
    if chance.holds(0.15):
        spec["nodeSelector"] = {"disk": chance.pick(("ssd", "ssd", "hdd"))}
    if affinity := _make_affinity(chance):
        spec["affinity"] = affinity
    if chance.holds(0.5):
        spec["tolerations"] = chance.several(lambda: make_toleration(chance), 1, 3)
    if storage:
        add_volumes(chance, pod, storage, nodes)
    return pod


def _make_constraints(chance: Chance, labels: dict[str, str]) -> list[dict[str, Any]]:
    """Make spread constraints; more of them than usual count the pod itself and are hard."""
    if not labels or chance.holds(0.5):
        return make_constraints(chance)
    return [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {name: labels[name]}},
        }
        for key in sorted({chance.pick((_HOSTNAME, _ZONE, "rack")) for _ in range(2)})
        for name in [chance.pick(tuple(labels))]
    ]


def _make_affinity(chance: Chance) -> dict[str, Any]:
    affinity: dict[str, Any] = {}
    if chance.holds(0.12):
        affinity |= make_node_affinity(chance)
    elif chance.holds(0.08):
        affinity |= _make_named_nodes(chance)
    for kind, probability in (("podAffinity", 0.12), ("podAntiAffinity", 0.25)):
        if chance.holds(probability):
            terms = chance.several(lambda: _make_pod_term(chance), 1, 2)
            affinity[kind] = {_REQUIRED: terms}
    if chance.holds(0.3):
        affinity["podAffinity"] = {_REQUIRED: [_UNSATISFIABLE]}
    return affinity


_UNSATISFIABLE = {
    "topologyKey": _HOSTNAME,
    "labelSelector": {"matchLabels": {"app": "none"}},
}
"""
A term that the last filter rejects on every node.

It shows which filter before rejects a node: kube-scheduler does not report that if the pod fits
another node.
"""


def _make_named_nodes(chance: Chance) -> dict[str, Any]:
    """Make a node affinity each of whose terms names nodes, so that only those are filtered."""
    terms: list[dict[str, Any]] = []
    for _ in range(chance.pick((1, 1, 2))):
        term: dict[str, Any] = {
            "matchFields": [
                {"key": "metadata.name", "operator": "In", "values": [f"n{chance.number(0, 5)}"]}
                for _ in range(chance.pick((1, 1, 1, 2)))
            ]
        }
        if chance.holds(0.3):
            term["matchExpressions"] = [{"key": "disk", "operator": "In", "values": ["ssd"]}]
        terms.append(term)
    return {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": terms}}}


def _make_pod_term(chance: Chance) -> dict[str, Any]:
    """Make a term of an affinity or anti-affinity to pods."""
    term: dict[str, Any] = {"topologyKey": chance.pick(_TOPOLOGY_KEYS)}
    if chance.holds(0.95):
        term["labelSelector"] = _make_selector(chance)
    if chance.holds(0.2):
        namespaces = (*_NAMESPACES, "unknown")
        term["namespaces"] = sorted({chance.pick(namespaces) for _ in range(chance.number(1, 2))})
    if chance.holds(0.3):
        term["namespaceSelector"] = chance.pick(_NAMESPACE_SELECTORS)
    if "labelSelector" in term and chance.holds(0.2):
        term |= _make_label_keys(chance, term["labelSelector"])
    return term


_NAMESPACE_SELECTORS: tuple[Mapping[str, Any] | None, ...] = (
    None,
    {},
    {"matchLabels": {"team": "y"}},
    {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["y"]}]},
    {"matchLabels": {"kubernetes.io/metadata.name": "third"}},
)
"""
The two versions differ about the fourth in the terms of the pod to schedule.

1.36 also matches the selector with no labels, so that it selects every namespace: its
mergeAffinityTermNamespacesIfNotEmpty clears the selector of a copy.
"""


def _make_selector(chance: Chance) -> dict[str, Any]:
    if chance.holds(0.3):
        return chance.selector()
    return {"matchLabels": {chance.pick(LABEL_KEYS): chance.pick(LABEL_VALUES)}}


def _make_label_keys(chance: Chance, selector: dict[str, Any]) -> dict[str, list[str]]:
    """Make the keys of a term whose values the pod's labels give; a selector has others."""
    keys = [key for key in (*LABEL_KEYS, "absent") if key not in selected_keys(selector)]
    members: dict[str, list[str]] = {"matchLabelKeys": [], "mismatchLabelKeys": []}
    for key in keys:
        if chance.holds(0.4):
            members[chance.pick(tuple(members))].append(key)
    return {name: value for name, value in members.items() if value}
