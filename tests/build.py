"""
Builders of valid values: a test names only the fields that it is about.

Objects are built as JSON, as clients write them; ``template`` and ``request`` decode them into the
values of the policy.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from webhook.policy.api.gates import Gates, resolve
from webhook.policy.api.versions import NEWEST_VERSION, Version
from webhook.policy.defaulting.profiles import Policy, Profile
from webhook.policy.facts import ServiceSelector, TaintedDomains
from webhook.policy.kinds import BUILT_IN_TEMPLATES
from webhook.policy.model import (
    HOSTNAME,
    ZONE,
    Constraint,
    GroupKind,
    LabelSelector,
    LabelSelectorRequirement,
    Node,
    OwnerReference,
    PodTemplate,
    Taint,
    group_of,
)
from webhook.policy.paths import TemplatePath
from webhook.policy.placement.nodes import lasting_taints
from webhook.policy.policyexceptions import PolicyException
from webhook.policy.request import CREATE, AdmissionRequest
from webhook.policy.selectors import has_pairs
from webhook.policy.workloads import Workload

Json: TypeAlias = dict[str, Any]

UID = "7a1d6f0c-3b1c-4a44-9a68-0e3b3c2d1e0f"
NAMESPACE = "shop"

CONTROLLERS = {
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "ReplicationController": "v1",
    "Job": "batch/v1",
}
"""Kind of a controller -> its API version."""


def requirement(key: str, operator: str, *values: str) -> LabelSelectorRequirement:
    """Build one expression of a selector."""
    return LabelSelectorRequirement(key=key, operator=operator, values=values)


def selector(*expressions: LabelSelectorRequirement, **pairs: str) -> LabelSelector:
    """Build a selector of expressions and pairs; empty without any."""
    return LabelSelector(match_labels=pairs, match_expressions=expressions)


def constraint(**changes: Any) -> Constraint:
    """Build a valid constraint."""
    good = Constraint(
        max_skew=1,
        topology_key=ZONE,
        when_unsatisfiable="DoNotSchedule",
        label_selector=selector(app="web"),
    )
    return replace(good, **changes)


def default(**changes: Any) -> Constraint:
    """Build a constraint of a profile, which has no selector."""
    changes = {"when_unsatisfiable": "ScheduleAnyway", "label_selector": None, **changes}
    return constraint(**changes)


def spread(**changes: Any) -> Json:
    """Build a constraint in JSON."""
    good: Json = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    return {**good, **changes}


def pod(
    *constraints: Json | None,
    labels: Json | None = None,
    annotations: Json | None = None,
    owner: Json | None = None,
    **spec: Any,
) -> Json:
    """Build a Pod of the application web; members of ``spec`` by name."""
    metadata: Json = {"name": "web-1", "labels": {"app": "web"} if labels is None else labels}
    if annotations is not None:
        metadata["annotations"] = annotations
    if owner is not None:
        metadata["ownerReferences"] = [owner]
    if constraints:
        spec["topologySpreadConstraints"] = list(constraints)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def owned_by(kind: str = "ReplicaSet", name: str = "web-54f7", **changes: Any) -> Json:
    """Build the reference to a controller."""
    api_version = CONTROLLERS.get(kind, "example.io/v1")
    good = {"apiVersion": api_version, "kind": kind, "name": name, "controller": True}
    return {**good, **changes}


def workload(kind: GroupKind, *constraints: Json | None, owner: Json | None = None) -> Json:
    """Build an object of a built-in kind around the template of an application web."""
    template = pod(*constraints)
    labels: Json = {"labels": template["metadata"]["labels"]}
    inner: Json = {"metadata": labels, "spec": template["spec"]}
    for member in reversed(BUILT_IN_TEMPLATES[kind]):
        inner = {member: inner}
    metadata: Json = {"name": "web"}
    if owner is not None:
        metadata["ownerReferences"] = [owner]
    version = f"{kind.group}/v1" if kind.group else "v1"
    return {"apiVersion": version, "kind": kind.kind, **inner, "metadata": metadata}


def deployment(*constraints: Json | None) -> Json:
    """Build a Deployment of the application web."""
    return workload(GroupKind("apps", "Deployment"), *constraints)


def job_set(**jobs: list[Json]) -> Json:
    """Build a JobSet with a replicated job for each name, whose pods have these constraints."""
    replicated = [
        {"name": name, "template": {"spec": {"template": pod(*listed, labels={"job": name})}}}
        for name, listed in jobs.items()
    ]
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "train", "namespace": NAMESPACE},
        "spec": {"replicatedJobs": replicated},
    }


def service(name: str, app: str | None = "a", version: int = 1) -> Json:
    """Build a Service of an application; with None it selects nothing."""
    metadata = {"name": name, "namespace": NAMESPACE, "resourceVersion": str(version)}
    spec = {"selector": app and {"app": app}}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def kind_of(obj: Json) -> GroupKind:
    """Read the kind of an object."""
    return GroupKind(group_of(obj["apiVersion"]), obj["kind"])


def template(obj: Json, path: TemplatePath | None = None) -> PodTemplate:
    """Read the pod template of an object, through the wire as an API server sends it."""
    held = msgspec.json.decode(msgspec.json.encode(obj), type=Workload)
    found = held.pod_template(BUILT_IN_TEMPLATES[kind_of(obj)] if path is None else path)
    assert found is not None
    return found


def request(obj: Json, old: Json | None = None, **changes: Any) -> AdmissionRequest:
    """Build the request to create an object, or to update ``old`` to it."""
    held = msgspec.json.decode(msgspec.json.encode(obj), type=Workload)
    requested = AdmissionRequest(
        uid=UID,
        kind=kind_of(obj),
        operation=CREATE if old is None else "UPDATE",
        namespace=NAMESPACE,
        name=(obj.get("metadata") or {}).get("name") or "",
        path=BUILT_IN_TEMPLATES[kind_of(obj)],
        metadata=held.metadata,
        template=template(obj),
        old=None if old is None else template(old),
    )
    return replace(requested, **changes)


def custom(obj: Json, old: Json | None = None, **changes: Any) -> AdmissionRequest:
    """Build the same request for a custom kind."""
    rollout = GroupKind("argoproj.io", "Rollout")
    return replace(request(obj, old), kind=rollout, **changes)


def review_body(
    obj: Json | None, old: Json | None = None, *, kind: GroupKind | None = None, **changes: Any
) -> bytes:
    """Build the body of a review; members of ``request`` by name, as on the wire."""
    concerned = kind or kind_of(obj or {"apiVersion": "v1", "kind": "Pod"})
    good: Json = {
        "uid": UID,
        "kind": {"group": concerned.group, "version": "v1", "kind": concerned.kind},
        "operation": "CREATE" if old is None else "UPDATE",
        "namespace": NAMESPACE,
        "name": "web-1",
        "object": obj,
        "oldObject": old,
    }
    review = {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {**good, **changes},
    }
    return msgspec.json.encode(review)


def binding_body(
    name: str = "web-1", node: str = "n1", annotations: Json | None = None, **changes: Any
) -> bytes:
    """Build the body of the review that binds a pod to a node."""
    obj: Json = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "target": {"kind": "Node", "name": node},
    }
    if annotations is not None:
        obj["metadata"]["annotations"] = annotations
    about: Json = {"subResource": "binding", "name": name, **changes}
    return review_body(obj, kind=GroupKind("", "Binding"), **about)


def gates(version: Version = NEWEST_VERSION, **requested: bool) -> Gates:
    """Build the gates of a version; requested ones by name, GA ones too."""
    return resolve(version, requested, allow_locked=True)


def profile(**changes: Any) -> Profile:
    """Build a profile of one soft default per zone and one per node."""
    constraints = (default(), default(topology_key=HOSTNAME, max_skew=2))
    return replace(Profile(name="cluster", constraints=constraints), **changes)


def policy(*profiles: Profile, **changes: Any) -> Policy:
    """Build the policy of the newest version, with these profiles."""
    return replace(Policy(gates=gates(), profiles=profiles), **changes)


@dataclass
class FakeFacts:
    """
    Facts in plain lists, which every lookup searches linearly.

    Attributes:
        services_of: Namespace -> its Services, in any order.
        owners: Namespace, API version, kind and name -> selector.
        namespaces: Namespace -> its labels.
        nodes: In any order.
        excepted: Namespace -> its exceptions in force, by name.
    """

    services_of: Mapping[str, Sequence[ServiceSelector]] = field(default_factory=dict)
    owners: Mapping[tuple[str, str, str, str], LabelSelector] = field(default_factory=dict)
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    nodes: Sequence[Node] = ()
    excepted: Mapping[str, Sequence[PolicyException]] = field(default_factory=dict)

    def services(self, namespace: str, labels: Mapping[str, str]) -> Sequence[ServiceSelector]:
        found = (
            service
            for service in self.services_of.get(namespace, ())
            if has_pairs(labels, service.selector)
        )
        return sorted(found, key=lambda service: service.name)

    def owner_selector(self, namespace: str, owner: OwnerReference) -> LabelSelector | None:
        return self.owners.get((namespace, owner.api_version, owner.kind, owner.name))

    def namespace_labels(self, namespace: str) -> Mapping[str, str] | None:
        return self.namespaces.get(namespace)

    def schedulable_nodes(self) -> int:
        return len(self._schedulable())

    def nodes_with(self, topology_key: str) -> int:
        return sum(topology_key in node.labels for node in self._schedulable())

    def domains(self, topology_key: str) -> Collection[str]:
        return {n.labels[topology_key] for n in self.nodes if topology_key in n.labels}

    def label_keys(self) -> Collection[str]:
        return {key for node in self._schedulable() for key in node.labels}

    def tainted_domains(self, topology_key: str) -> Sequence[TaintedDomains]:
        ways: dict[str, set[tuple[Taint, ...]]] = {}
        for node in self.nodes:
            if topology_key in node.labels:
                hard = lasting_taints(node)
                ways.setdefault(node.labels[topology_key], set()).add(hard)
        return [
            TaintedDomains(tuple(found), [value])
            for value, found in ways.items()
            if () not in found
        ]

    def exceptions(self, namespace: str) -> Sequence[PolicyException]:
        return self.excepted.get(namespace, ())

    def _schedulable(self) -> list[Node]:
        return [node for node in self.nodes if not node.unschedulable]


def facts(**pairs: str) -> FakeFacts:
    """Build a cluster with one Service in the namespace, which selects these pairs."""
    return FakeFacts(services_of={NAMESPACE: [ServiceSelector("web", pairs or {"app": "web"})]})
