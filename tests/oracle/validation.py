"""
Random creates and updates of every kind with a pod template, for the rules of kube-apiserver.

``make_case`` is the entry point. Everything but the constraints is valid, so that only they decide.
A stored object may be invalid, as an earlier version or one with other gates may have accepted it.
"""

from copy import deepcopy
from typing import Any

from tests.conformance.case import Case
from tests.oracle.chance import Chance
from webhook.policy.kinds import BUILT_IN_TEMPLATES
from webhook.policy.paths import LIST_NAME

_LONG = "a" * 64
_KEYS = ("app", "tier", "pod-template-hash", "app.kubernetes.io/name")
_VALUES = ("web", "front", "7d4b9c6f5d", "a.b_c-d")
_BAD_KEYS = ("", "A.b/c", "a/b/c", "-lead", "é", _LONG, "a b", "/x", "x/")
_BAD_VALUES = ("-x", "x-", "a b", '"', "é", _LONG)
_TOPOLOGY_KEYS = (
    "topology.kubernetes.io/zone",
    "kubernetes.io/hostname",
    "zone",
    "rack",
    "failure-domain.beta.kubernetes.io/zone",
    "beta.kubernetes.io/arch",
)
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_POLICIES = ("Honor", "Ignore")
_UNUSUAL = 0.12  # the probability of an unusual value in a field: half of the objects are denied

_SELECTED = {"sel": "x"}
_MERGE = "MatchLabelKeysInPodTopologySpreadSelectorMerge"
_GATES: tuple[dict[str, bool], ...] = (
    {},
    {},
    {_MERGE: False},
    {"MatchLabelKeysInPodTopologySpread": False, _MERGE: False},
)

_WORKLOADS: dict[str, tuple[str, dict[str, Any]]] = {
    "ReplicationController": ("v1", {"selector": _SELECTED}),
    "Deployment": ("apps/v1", {"selector": {"matchLabels": _SELECTED}}),
    "ReplicaSet": ("apps/v1", {"selector": {"matchLabels": _SELECTED}}),
    "StatefulSet": ("apps/v1", {"selector": {"matchLabels": _SELECTED}, "serviceName": "s"}),
    "DaemonSet": ("apps/v1", {"selector": {"matchLabels": _SELECTED}}),
    "Job": ("batch/v1", {"manualSelector": True, "selector": {"matchLabels": _SELECTED}}),
}
_TEMPLATES = {kind.kind: path for kind, path in BUILT_IN_TEMPLATES.items()}
_CHANGES = ("label", "label of the template", "replicas", "none")  # beside those of constraints
_SCALED = frozenset({"ReplicationController", "Deployment", "ReplicaSet", "StatefulSet"})
_FIXED = frozenset({"Pod", "Job"})  # kinds whose stored constraints cannot be changed
_KINDS = ("Pod", "Pod", "Pod", "PodTemplate", "CronJob", *_WORKLOADS)


def make_case(chance: Chance) -> Case:
    """Make a case of the suite ``validation``, without its id, version and expected answer."""
    gates, made = chance.pick(_GATES), _make_object(chance)
    if chance.holds(0.5):
        return {"featureGates": gates, "object": made}
    changed = _change_object(chance, made)
    return {"featureGates": gates, "operation": "UPDATE", "object": changed, "old": made}


def _change_object(chance: Chance, old: dict[str, Any]) -> dict[str, Any]:
    """Make an update of an object: to its constraints, to other fields, to both or to none."""
    changed = deepcopy(old)
    template: dict[str, Any] = changed
    for member in _TEMPLATES[old["kind"]]:
        template = template[member]
    change = chance.pick(_CHANGES)
    if change == "replicas" and old["kind"] in _SCALED:
        changed["spec"]["replicas"] = 3
    if change == "label":
        changed["metadata"].setdefault("labels", {})["extra"] = "y"
    if old["kind"] in _FIXED:
        return changed
    if change == "label of the template":
        template["metadata"]["labels"]["extra"] = "y"
    template["spec"][LIST_NAME] = _change_constraints(chance, template["spec"][LIST_NAME])
    return changed


def _change_constraints(chance: Chance, stored: list[Any]) -> list[Any]:
    """Keep a list, replace it, or change and remove some of its entries."""
    if chance.holds(0.3):
        return stored
    if chance.holds(0.2):
        return chance.several(lambda: _make_constraint(chance), 0, 3)
    kept = [entry for entry in stored if chance.holds(0.9)]
    return [{**entry, **_make_constraint(chance)} if chance.holds(0.5) else entry for entry in kept]


def _make_object(chance: Chance) -> dict[str, Any]:
    kind, metadata = chance.pick(_KINDS), {"name": "web", "namespace": "default"}
    labels = {key: chance.pick(_VALUES) for key in _KEYS if chance.holds(0.5)}
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "nginx"}]}
    spec["topologySpreadConstraints"] = chance.several(lambda: _make_constraint(chance), 0, 3)
    if kind == "Pod":
        pod = {"metadata": {**metadata, "labels": labels}, "spec": spec}
        return {"apiVersion": "v1", "kind": kind, **pod}
    if kind in {"Job", "CronJob"}:
        spec["restartPolicy"] = "Never"
    template = {"metadata": {"labels": {**labels, **_SELECTED}}, "spec": spec}
    if kind == "PodTemplate":
        return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "template": template}
    if kind == "CronJob":
        job = {"spec": {"template": template}}
        inner: dict[str, Any] = {"schedule": "* * * * *", "jobTemplate": job}
        return {"apiVersion": "batch/v1", "kind": kind, "metadata": metadata, "spec": inner}
    version, inner = _WORKLOADS[kind]
    inner = {**inner, "template": template}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": inner}


def _make_constraint(chance: Chance) -> dict[str, Any]:
    constraint: dict[str, Any] = {
        "maxSkew": _usually(chance, (1, 2, 5), (0, -1)),
        "topologyKey": _usually(chance, _TOPOLOGY_KEYS, _BAD_KEYS),
        "whenUnsatisfiable": _usually(chance, _ACTIONS, ("", "donotschedule", "Foo")),
    }
    if chance.holds(0.85):
        constraint["labelSelector"] = _make_selector(chance) if chance.holds(0.9) else None
    if chance.holds(0.3):
        constraint["minDomains"] = _usually(chance, (1, 2, 5), (0, -1, None))
    for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if chance.holds(0.3):
            constraint[field] = _usually(chance, _POLICIES, ("Foo", "", None))
    if chance.holds(0.4):
        keys = chance.several(lambda: _usually(chance, _KEYS, _BAD_KEYS), 0, 2)
        constraint["matchLabelKeys"] = _usually(chance, (keys,), (None,))
    return constraint


def _make_selector(chance: Chance) -> dict[str, Any]:
    selector: dict[str, Any] = {}
    if chance.holds(0.7):
        selector["matchLabels"] = {
            _usually(chance, _KEYS, _BAD_KEYS): _usually(chance, _VALUES, _BAD_VALUES)
            for _ in range(chance.number(0, 2))
        }
    if chance.holds(0.3):
        selector["matchExpressions"] = chance.several(lambda: _make_requirement(chance), 0, 2)
    return selector


def _make_requirement(chance: Chance) -> dict[str, Any]:
    operators = ("In", "NotIn", "Exists", "DoesNotExist")
    operator = _usually(chance, operators, ("in", "", "Gt"))
    requirement: dict[str, Any] = {"key": _usually(chance, _KEYS, _BAD_KEYS), "operator": operator}
    if (operator in {"In", "NotIn"}) is not chance.holds(_UNUSUAL):
        values = chance.several(lambda: _usually(chance, _VALUES, _BAD_VALUES), 0, 3)
        requirement["values"] = values
    return requirement


def _usually(chance: Chance, valid: tuple[Any, ...], others: tuple[Any, ...]) -> Any:
    return chance.pick(others if chance.holds(_UNUSUAL) else valid)
