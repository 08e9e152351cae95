"""Conformance cases of scaling down: the pods that the ReplicaSet controller removes, in order."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec

from tests.conformance.case import Answer, Case
from webhook.cli.inputs.manifestcluster import ManifestCluster
from webhook.cli.inputs.manifests import Inputs
from webhook.cli.inputs.removals import gather_pods
from webhook.cli.inputs.replicas import select_replicas
from webhook.cli.inputs.subjects import ExplainSubject
from webhook.manifests import Document, expand, parse
from webhook.policy.kinds import BUILT_IN_TEMPLATES

MEMBERS = {
    "pods": ("v1", "Pod"),
    "replicationControllers": ("v1", "ReplicationController"),
    "replicaSets": ("apps/v1", "ReplicaSet"),
    "deployments": ("apps/v1", "Deployment"),
    "statefulSets": ("apps/v1", "StatefulSet"),
}
"""Member of a case's ``cluster`` -> API version and kind of its objects."""

KINDS = {kind.kind: kind for kind in BUILT_IN_TEMPLATES}


def answer(case: Case) -> Answer:
    """
    Answer one case.

    Args:
        case: ``cluster``, ``workload`` as KIND/NAMESPACE/NAME, ``replicas`` and ``now``, a
            timestamp or seconds since 1970. The workload need not be in the cluster.

    Returns:
        ``removed``: names of pods.
    """
    documents = list(_documents(case["cluster"]))
    inputs = Inputs([])
    cluster = ManifestCluster(documents, (), inputs)
    if inputs.problems:
        raise AssertionError(str(inputs.problems[0]))
    kind, namespace, name = case["workload"].split("/")
    value = cluster.find(KINDS[kind], namespace, name) or {"metadata": {"name": name}}
    subject = ExplainSubject(KINDS[kind], (), namespace, value, exists=True)
    observed = cluster.pods(namespace)
    replicas = select_replicas(subject, observed, cluster)
    pods = gather_pods(subject, replicas, observed, cluster, _time(case["now"]))
    assert pods is not None, f"{kind} is never scaled down"
    surplus = pods.find_surplus(case["replicas"])
    return {"removed": [pod.metadata.name or "" for pod in surplus.pods]}


def _time(now: str | float) -> float:
    return datetime.fromisoformat(now).timestamp() if isinstance(now, str) else now


def _documents(cluster: Mapping[str, Any]) -> Iterator[Document]:
    items = [
        {"apiVersion": version, "kind": kind, **item}
        for member, (version, kind) in MEMBERS.items()
        for item in cluster.get(member) or ()
    ]
    text = msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": items}).decode()
    for document in parse(text, "case"):
        if isinstance(document, Document):
            yield from expand(document)
