"""
Random clusters and pods, for the filter and the score of kube-scheduler's PodTopologySpread plugin.

``make_case`` is the entry point. The constraints are those that kube-apiserver accepts, because
the plugin gets no others.
"""

from typing import Any

from tests.conformance.case import Case
from tests.oracle.chance import Chance
from tests.oracle.selector import make_controllers, make_owners

_HOSTNAME, _ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
_TOPOLOGY_KEYS = (_HOSTNAME, _ZONE, "zone", "rack")
_HARD, _SOFT = "DoNotSchedule", "ScheduleAnyway"
_EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
_TAINT_KEYS, _TAINT_VALUES = ("gpu", "dedicated"), ("x", "y")
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
_SIZES = ("1", "5", "10", "10.0", "large")


def make_case(chance: Chance) -> Case:
    """Make a case of the suite ``placement``, without its id and expected answer."""
    nodes = [_make_node(chance, f"n{index}") for index in range(chance.number(0, 7))]
    names = [node["metadata"]["name"] for node in nodes]
    pods = [_make_running(chance, f"p{index}", names) for index in range(_count(chance, names))]
    controllers = make_controllers(chance)
    return {
        "cluster": {"nodes": nodes, "pods": pods, **controllers},
        "pod": _make_pod(chance),
        "defaults": _make_defaults(chance),
        "featureGates": {
            "MatchLabelKeysInPodTopologySpread": chance.holds(0.8),
            "NodeInclusionPolicyInPodTopologySpread": chance.holds(0.8),
        },
    }


def _count(chance: Chance, nodes: list[str]) -> int:
    return chance.pick((0, 4, 12, 40)) if nodes else 0


def _make_node(chance: Chance, name: str) -> dict[str, Any]:
    labels: dict[str, str] = {}
    if chance.holds(0.9):
        labels[_HOSTNAME] = name if chance.holds(0.9) else "shared"
    for key, values, probability in (
        (_ZONE, ("z1", "z2", "z3", ""), 0.95),
        ("zone", ("z1", "z2"), 0.9),
        ("rack", ("r1", "r2", "r3", "r4"), 0.9),
        ("disk", ("ssd", "hdd"), 0.6),
        ("size", _SIZES, 0.5),
    ):
        if chance.holds(probability):
            labels[key] = chance.pick(values)
    spec: dict[str, Any] = {}
    if chance.holds(0.3):
        spec["taints"] = chance.several(lambda: make_taint(chance), 1, 2)
    if chance.holds(0.1):
        spec["unschedulable"] = True
        cordon = {"key": UNSCHEDULABLE, "effect": "NoSchedule"}
        spec["taints"] = [*spec.get("taints", []), cordon]
    return {"metadata": {"name": name, "labels": labels}, "spec": spec}


def make_taint(chance: Chance) -> dict[str, str]:
    taint = {"key": chance.pick(_TAINT_KEYS), "effect": chance.pick(_EFFECTS)}
    return {**taint, "value": chance.pick(_TAINT_VALUES)} if chance.holds(0.7) else taint


def _make_running(chance: Chance, name: str, nodes: list[str]) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "uid": f"u-{name}", "labels": chance.labels()}
    metadata["namespace"] = "default" if chance.holds(0.8) else "other"
    if chance.holds(0.1):
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {"metadata": metadata, "spec": {"containers": [], "nodeName": chance.pick(nodes)}}


def _make_pod(chance: Chance) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "name": "incoming",
        "namespace": "default",
        "uid": "u-in",
        "labels": chance.labels(0.8),
    }
    if owners := make_owners(chance):
        metadata["ownerReferences"] = owners
    spec: dict[str, Any] = {"containers": []}
    if constraints := make_constraints(chance):
        spec["topologySpreadConstraints"] = constraints
    if chance.holds(0.2):
        spec["nodeSelector"] = {"disk": chance.pick(("ssd", "hdd"))}
    if chance.holds(0.3):
        spec["affinity"] = make_node_affinity(chance)
    if chance.holds(0.4):
        spec["tolerations"] = chance.several(lambda: make_toleration(chance), 1, 2)
    return {"metadata": metadata, "spec": spec}


def make_constraints(chance: Chance) -> list[dict[str, Any]]:
    """Make a list without two constraints of the same key and action, as the API requires."""
    made = chance.several(lambda: _make_constraint(chance), 0, 3)
    return list({(one["topologyKey"], one["whenUnsatisfiable"]): one for one in made}.values())


def _make_constraint(chance: Chance) -> dict[str, Any]:
    action = chance.pick((_HARD, _SOFT))
    constraint: dict[str, Any] = {
        "maxSkew": chance.pick((1, 1, 1, 2, 3)),
        "topologyKey": chance.pick(_TOPOLOGY_KEYS),
        "whenUnsatisfiable": action,
    }
    if chance.holds(0.9):
        constraint["labelSelector"] = chance.selector()
    if action == _HARD and chance.holds(0.3):
        constraint["minDomains"] = chance.number(1, 4)
    if chance.holds(0.3):
        selected = selected_keys(constraint.get("labelSelector"))
        keys = [key for key in ("app", "tier", "rev") if key not in selected]
        if keys and "labelSelector" in constraint:
            constraint["matchLabelKeys"] = [chance.pick(keys)]
    return constraint | _make_policies(chance)


def _make_policies(chance: Chance) -> dict[str, str]:
    fields = ("nodeAffinityPolicy", "nodeTaintsPolicy")
    return {name: chance.pick(("Honor", "Ignore")) for name in fields if chance.holds(0.4)}


def selected_keys(selector: dict[str, Any] | None) -> set[str]:
    found = selector or {}
    expressions = found.get("matchExpressions", ())
    return {*found.get("matchLabels", ()), *(one["key"] for one in expressions)}


def make_node_affinity(chance: Chance) -> dict[str, Any]:
    terms = chance.several(lambda: _make_term(chance), 1, 2)
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"nodeAffinity": required}


def _make_term(chance: Chance) -> dict[str, Any]:
    if chance.holds(0.2):
        name = f"n{chance.number(0, 7)}"
        operator = chance.pick(("In", "NotIn"))
        field = {"key": "metadata.name", "operator": operator, "values": [name]}
        return {"matchFields": [field]}
    return {"matchExpressions": chance.several(lambda: _make_node_requirement(chance), 0, 2)}


def _make_node_requirement(chance: Chance) -> dict[str, Any]:
    operator = chance.pick(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
    if operator in {"Gt", "Lt"}:
        return {"key": "size", "operator": operator, "values": [chance.pick(("1", "5", "10"))]}
    key, values = chance.pick((("disk", ("ssd", "hdd")), ("zone", ("z1", "z2")), ("size", _SIZES)))
    requirement: dict[str, Any] = {"key": key, "operator": operator}
    if operator in {"In", "NotIn"}:
        requirement["values"] = chance.several(lambda: chance.pick(values), 1, 2)
    return requirement


def make_toleration(chance: Chance) -> dict[str, Any]:
    if chance.holds(0.2):
        return {"key": UNSCHEDULABLE, "operator": "Exists", "effect": "NoSchedule"}
    toleration: dict[str, Any] = {}
    exists = chance.holds(0.5)
    if exists:
        toleration["operator"] = "Exists"
    if not exists or chance.holds(0.8):
        toleration["key"] = chance.pick(_TAINT_KEYS)
    if not exists and chance.holds(0.8):
        toleration["value"] = chance.pick(_TAINT_VALUES)
    if chance.holds(0.6):
        toleration["effect"] = chance.pick(_EFFECTS)
    return toleration


def _make_defaults(chance: Chance) -> dict[str, Any]:
    if chance.holds(0.4):
        return {"defaultingType": "System", "defaultConstraints": []}
    made: list[dict[str, Any]] = []
    if chance.holds(0.7):
        for constraint in make_constraints(chance):
            allowed = {k: v for k, v in constraint.items() if k not in _OF_PODS}
            made.append(allowed)
    return {"defaultingType": "List", "defaultConstraints": made}


_OF_PODS = ("labelSelector", "matchLabelKeys")  # that defaults cannot have, or that are ignored
