"""Conformance cases of the derived selector: what kube-scheduler's ``DefaultSelector`` gives."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from tests.conformance.case import Answer, Case
from webhook.cluster.facts import Cluster
from webhook.cluster.manifests import fill
from webhook.manifests import Document, expand, parse
from webhook.policy.defaulting.selector import derive_selector
from webhook.policy.selectors import render
from webhook.policy.workloads import Workload

KINDS = {
    "services": ("v1", "Service"),
    "replicationControllers": ("v1", "ReplicationController"),
    "replicaSets": ("apps/v1", "ReplicaSet"),
    "statefulSets": ("apps/v1", "StatefulSet"),
}
"""Member of a case's ``cluster`` -> API version and kind of its objects, which do not say."""


def answer(case: Case) -> Answer:
    """
    Answer one case.

    Args:
        case: ``pod`` and ``cluster``.

    Returns:
        ``selector`` in its short form, and whether it is ``empty``.
    """
    cluster = Cluster()
    problems = fill(cluster, _documents(case["cluster"]))
    if problems:
        raise AssertionError(str(problems[0]))
    pod = msgspec.convert(case["pod"], Workload).pod_template(())
    namespace = case["pod"]["metadata"].get("namespace", "")
    derived = derive_selector(pod, namespace, cluster) if pod else None
    return {"selector": render(derived.selector) if derived else "", "empty": derived is None}


def _documents(cluster: Mapping[str, Any]) -> Iterator[Document]:
    """The recorded objects, as a manifest would bring them."""
    items = [
        {"apiVersion": version, "kind": kind, **item}
        for member, (version, kind) in KINDS.items()
        for item in cluster.get(member) or ()
    ]
    text = msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": items}).decode()
    for document in parse(text, "case"):
        if isinstance(document, Document):
            yield from expand(document)
