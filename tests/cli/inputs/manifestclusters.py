"""Clusters described by manifests, for the tests of what reads them."""

import json
from typing import Any

from webhook.cli.inputs.manifestcluster import ManifestCluster
from webhook.cli.inputs.manifests import Inputs
from webhook.manifests import Document, parse


def documents(text: str) -> list[Document]:
    """Parse the objects of a text of YAML."""
    return [item for item in parse(text, "shop.yaml") if isinstance(item, Document)]


def cluster_of_text(text: str) -> ManifestCluster:
    """Build the cluster that a text of YAML describes."""
    return ManifestCluster(documents(text), (), Inputs([]))


def cluster_of(*objects: Any) -> ManifestCluster:
    """Build a cluster of objects, given as JSON values."""
    return cluster_of_text("\n---\n".join(map(json.dumps, objects)))


def workload(kind: str, version: str = "apps/v1", **spec: Any) -> dict[str, Any]:
    """Build the workload ``shop/web``; ``spec`` are further members of its specification."""
    template: dict[str, Any] = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": []}}
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template, **spec},
    }
