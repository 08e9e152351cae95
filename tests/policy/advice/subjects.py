"""Subjects and context from JSON and YAML, for tests of one rule."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import yaml
from msgspec.structs import replace

from tests.build import NAMESPACE, FakeFacts, Json, gates, kind_of, pod, policy, spread, template
from webhook.cluster.autoscalers import decode_autoscaler
from webhook.cluster.storageclasses import decode_storage_class
from webhook.policy.advice.context import AdviceContext, ClusterState
from webhook.policy.advice.decode import decode_subject
from webhook.policy.advice.findings import RuleViolation
from webhook.policy.advice.rules import POLICY_RULES, Check
from webhook.policy.advice.runningpods import RunningPods
from webhook.policy.advice.scaling import find_range
from webhook.policy.advice.storage import StorageClass
from webhook.policy.advice.subject import Subject
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.facts import ServiceSelector
from webhook.policy.kinds import (
    BUILT_IN_TEMPLATES,
    HORIZONTAL_POD_AUTOSCALER,
    JOB_SET,
    SHIPPED_TEMPLATES,
    STATEFUL_SET,
)
from webhook.policy.model import HOSTNAME, ZONE, GroupKind, Node, ObjectMeta, Taint
from webhook.policy.nextrevision import PartitionedRevisions
from webhook.policy.paths import FieldPath
from webhook.policy.placement.census import Census
from webhook.policy.places import find_places
from webhook.policy.podlabels import REVISION_HASH
from webhook.policy.policyexceptions import PolicyException

ROLLOUT = GroupKind("argoproj.io", "Rollout")
GPU = Taint(key="gpu", value="a100", effect="NoSchedule")
SPOT = Taint(key="spot", effect="NoExecute")
NOT_READY = Taint(key="node.kubernetes.io/not-ready", effect="NoSchedule")
LEAVING = Taint(key="ToBeDeletedByClusterAutoscaler", value="1764194400", effect="NoSchedule")
OLD = Taint(key="old", effect="PreferNoSchedule")
TOLERATING: Json = {"tolerations": [{"key": "gpu", "operator": "Exists"}]}
BOUND: Json = {"nodeName": "a1"}

RULES: Mapping[str, Check] = {row.id: row.check for row in POLICY_RULES}


def subject(obj: Json, path: FieldPath | None = None, **changes: Any) -> Subject:
    """Read a subject of the namespace of the tests."""
    kind = kind_of(obj)
    found = decode_subject(
        msgspec.json.encode(obj), kind, path or BUILT_IN_TEMPLATES[kind], NAMESPACE
    )
    assert found is not None
    return replace(found, **changes)


def workload(
    *constraints: Json | None,
    kind: GroupKind = GroupKind("apps", "Deployment"),  # noqa: B008 - a frozen struct
    replicas: int | None = 6,
    labels: Json | None = None,
    template_spec: Json | None = None,
    **spec: Any,
) -> Json:
    """Make a workload of the application web; members of its own ``spec`` by name."""
    inner = pod(*constraints, labels=labels, **(template_spec or {}))
    made = {"metadata": {"labels": inner["metadata"]["labels"]}, "spec": inner["spec"]}
    held: Json = {"template": made, **spec}
    if replicas is not None:
        held["replicas"] = replicas
    version = f"{kind.group}/v1" if kind.group else "v1"
    return {
        "apiVersion": version,
        "kind": kind.kind,
        "metadata": {"name": "web"},
        "spec": held,
    }


def job_set(*keys: str, jobs: int = 3, parallelism: int = 2, **constraint: Any) -> Subject:
    """Read a JobSet of which each Job has two pods if not otherwise."""
    template = pod(spread(matchLabelKeys=[*keys], **constraint))
    job: Json = {"parallelism": parallelism, "template": template}
    entry = {"name": "w", "replicas": jobs, "template": {"spec": job}}
    made = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "js"}}
    obj = {**made, "spec": {"replicatedJobs": [entry]}}
    (path,) = find_places(obj, SHIPPED_TEMPLATES[JOB_SET])
    return subject(obj, path)


def worker_set(*keys: str, size: int = 2, **constraint: Any) -> Subject:
    """Read a LeaderWorkerSet of three groups, of two pods each if not otherwise."""
    template = pod(spread(matchLabelKeys=[*keys], **constraint))
    inner = {"size": size, "workerTemplate": template}
    made = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "lws"},
        "spec": {"replicas": 3, "leaderWorkerTemplate": inner},
    }
    return subject(made, ("spec", "leaderWorkerTemplate", "workerTemplate"))


def deployed(*constraints: Json | None, **changes: Any) -> Subject:
    """Read a Deployment of six replicas."""
    return subject(workload(*constraints, **changes))


def judged(*constraints: Json, **spec: Any) -> Subject:
    """Read a Deployment of six replicas; members of its pod's specification by name."""
    return deployed(*constraints, template_spec=spec)


def required(*terms: Sequence[Json]) -> Json:
    """Make the affinity of a pod that requires one of some terms."""
    selector = {"nodeSelectorTerms": [{"matchExpressions": list(term)} for term in terms]}
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}
    }


def among(*values: str, key: str = ZONE) -> Json:
    """Make a requirement of node affinity: the label has one of these values."""
    return {"key": key, "operator": "In", "values": list(values)}


def node(name: str, zone: str | None = None, *taints: Taint, **labels: str) -> Node:
    """Make a node that carries its name as hostname and, unless it is None, a zone."""
    zoned = {} if zone is None else {ZONE: zone}
    return Node(name, {HOSTNAME: name, **zoned, **labels}, taints)


def zones(*names: str) -> list[Node]:
    """Make nodes in the zone of their first letter."""
    return [node(name, f"zone-{name[0]}") for name in names]


THREE = zones("a1", "a2", "b1", "b2", "c1", "c2")
"""Three zones of two nodes."""
ONE_ZONE = zones("a1", "a2", "a3")
NOT_READY_C = [*zones("a1", "b1"), node("c1", "zone-c", NOT_READY)]
TAINTED_C = [*zones("a1", "b1"), node("c1", "zone-c", GPU)]
"""Three zones of one node, the last of which is tainted."""


def running(*nodes: str, labels: Json | None = None, **spec: Any) -> RunningPods:
    """Make pods of the application web that are alike, one on each of the nodes."""
    constraints = spec.pop("constraints", ())
    like = template(pod(*constraints, labels=labels, **spec))
    return RunningPods(like, {name: nodes.count(name) for name in nodes})


def with_ordinal(ordinal: int, where: str, app: str = "web") -> RunningPods:
    """Make the pod of a StatefulSet with an ordinal, on a node; no other pod has its labels."""
    labels = {"app": app, "apps.kubernetes.io/pod-index": f"{ordinal}"}
    group = running(where, labels=labels)
    metadata = ObjectMeta(name=f"{app}-{ordinal}", labels=labels)
    return replace(group, pod=replace(group.pod, metadata=metadata))


def of_revision(revision: str, *nodes: str, constraints: tuple[Json, ...] = ()) -> RunningPods:
    """Make pods of a revision of a StatefulSet, one on each of the nodes."""
    return running(*nodes, labels={"app": "web", REVISION_HASH: revision}, constraints=constraints)


def partitioned(
    *constraints: Json, pods: list[RunningPods], updated: str = "new", next_one: str = "old"
) -> Subject:
    """Make a StatefulSet that holds three pods back."""
    revisions = PartitionedRevisions(0, 3, {REVISION_HASH: "old"}, {REVISION_HASH: updated})
    found = subject(workload(*constraints, kind=STATEFUL_SET))
    return replace(
        found, partitioned=revisions, running=tuple(pods), revision={REVISION_HASH: next_one}
    )


def admission(
    nodes: Sequence[Node] = THREE,
    *,
    config: Policy | None = None,
    services: Json | None = None,
    excepted: Sequence[PolicyException] = (),
) -> AdviceContext:
    """Make what an admission knows of a cluster of these nodes."""
    selected = [ServiceSelector("web", pairs) for pairs in ([services] if services else [])]
    exceptions = {NAMESPACE: excepted}
    facts = FakeFacts(nodes=nodes, services_of={NAMESPACE: selected}, excepted=exceptions)
    return AdviceContext(config or policy(), facts)


def audit(
    nodes: Sequence[Node] = THREE,
    pods: Iterable[RunningPods] = (),
    members: Mapping[str, Mapping[str, str]] | None = None,
    storage_classes: Iterable[StorageClass] = (),
    **known: Any,
) -> AdviceContext:
    """Make what an audit knows: nodes, running pods, and the labels of each workload's one pod."""
    census, owners = Census(), Census()
    for group in pods:
        for name, number in group.nodes.items():
            census.add(NAMESPACE, group.pod.labels, name, number)
    for workload_name, labels in (members or {}).items():
        owners.add(NAMESPACE, labels, workload_name)
    context = admission(nodes, **known)
    return dataclasses.replace(
        context, cluster=ClusterState(nodes, census, owners, storage_classes)
    )


def check_rule(rule: str, advised: Subject, context: AdviceContext) -> list[RuleViolation]:
    """List the violations of one rule."""
    return list(RULES[rule](advised, context))


def suggestions(rule: str, advised: Subject, context: AdviceContext) -> list[str]:
    """List what the violations of one rule suggest to write instead."""
    return [violation.instead for violation in check_rule(rule, advised, context)]


def documents(text: str) -> list[Json]:
    """Read YAML."""
    return [document for document in yaml.safe_load_all(text) if document]


def from_manifests(text: str, *, config: Policy | None = None) -> tuple[Subject, AdviceContext]:
    """
    Read an example: the first document is the subject, the others are its cluster.

    Pods belong to the first document if they carry the labels of its template.
    """
    first, *others = documents(text)
    advised = subject(first)
    mine = advised.pod.labels.items()
    nodes = [_node(obj) for obj in others if obj["kind"] == "Node"] or THREE
    pods = [_running(obj) for obj in others if obj["kind"] == "Pod"]
    own = tuple(pod for pod in pods if mine <= pod.pod.labels.items())
    members = {
        str(workload): workload.pod.labels
        for workload in (subject(other) for other in others if other["kind"] == "Deployment")
    }
    classes = [
        decode_storage_class(msgspec.json.encode(obj))
        for obj in others
        if obj["kind"] == "StorageClass"
    ]
    scalers = [
        decode_autoscaler(HORIZONTAL_POD_AUTOSCALER, msgspec.json.encode(obj))
        for obj in others
        if obj["kind"] == HORIZONTAL_POD_AUTOSCALER.kind
    ]
    scaling = find_range([scaler for scaler in scalers if scaler], advised.replicas)
    owners = {str(advised): advised.pod.labels, **members}
    context = audit(nodes, pods, owners, classes, config=config)
    facts = FakeFacts(
        nodes=nodes, services_of={NAMESPACE: [ServiceSelector("web", {"app": "web"})]}
    )
    return replace(advised, running=own, scaling=scaling), dataclasses.replace(context, facts=facts)


def _node(obj: Json) -> Node:
    metadata, spec = obj["metadata"], obj.get("spec") or {}
    taints = msgspec.convert(spec.get("taints") or (), tuple[Taint, ...])
    return Node(metadata["name"], metadata["labels"], taints)


def _running(obj: Json) -> RunningPods:
    return RunningPods(template(obj), {obj["spec"]["nodeName"]: 1})


NO_MATCH_LABEL_KEYS = gates(
    MatchLabelKeysInPodTopologySpread=False, MatchLabelKeysInPodTopologySpreadSelectorMerge=False
)
