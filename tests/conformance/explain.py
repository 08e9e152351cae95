"""Conformance cases of filters as files for ``evenspread explain``: its sentence for the pod."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from tests.conformance.case import Answer, Case
from tests.conformance.filters import RECORDED
from webhook.cli.inputs.manifestcluster import ManifestCluster
from webhook.cli.inputs.manifests import Inputs
from webhook.cli.inputs.placementtargets import TargetOptions
from webhook.cli.inputs.policy import read_policy
from webhook.cli.inputs.subjects import find
from webhook.cli.inputs.targets import TargetBuilder
from webhook.explain.explanation import explain
from webhook.manifests import Document
from webhook.manifests.positions import DocumentText
from webhook.policy.kinds import BUILT_IN_TEMPLATES

KINDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "nodes": ("v1", "Node"),
        "pods": ("v1", "Pod"),
        "namespaces": ("v1", "Namespace"),
        "services": ("v1", "Service"),
        "replicationControllers": ("v1", "ReplicationController"),
        "replicaSets": ("apps/v1", "ReplicaSet"),
        "statefulSets": ("apps/v1", "StatefulSet"),
        "persistentVolumeClaims": ("v1", "PersistentVolumeClaim"),
        "persistentVolumes": ("v1", "PersistentVolume"),
        "storageClasses": ("storage.k8s.io/v1", "StorageClass"),
        "csiNodes": ("storage.k8s.io/v1", "CSINode"),
        "csiDrivers": ("storage.k8s.io/v1", "CSIDriver"),
        "csiStorageCapacities": ("storage.k8s.io/v1", "CSIStorageCapacity"),
    }
)
"""Member of a case's cluster -> the API version and kind of its objects."""


def answer(case: Case) -> Answer:
    """
    Answer one case of the suite ``filters``.

    Returns:
        ``message``, empty if the pod fits; ``nodes``: names of those that it does not fit.
    """
    pod = case["pod"]
    files = ManifestCluster(_list_documents(case), (), Inputs([]))
    files.is_complete = True  # a case has all objects of its cluster
    policy = read_policy(
        kube_version=case.get("kubernetes", RECORDED),
        feature_gates="",
        allow_locked_gates=False,
        config="",
    )
    builder = TargetBuilder(policy, files, TargetOptions(now=0), replaces=False)
    name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
    (subject,) = find(name, namespace, BUILT_IN_TEMPLATES, files)
    target = builder.build(subject)
    explained = explain(target.situation, target.subject)
    return {
        "nodes": [node.name for node in explained.nodes if not node.passes],
        "message": explained.failed_scheduling,
    }


def _list_documents(case: Case) -> Iterator[Document]:
    for member, values in {**case["cluster"], "pod": [case["pod"]]}.items():
        version, kind = KINDS["pods" if member == "pod" else member]
        for value in values:
            yield _as_document({"apiVersion": version, "kind": kind, **value})


def _as_document(value: dict[str, Any]) -> Document:
    return Document("case", value, DocumentText("{}", 1, 0))
