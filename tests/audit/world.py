"""Clusters in YAML, and the reports on them."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import yaml

from tests.apiserver import ApiServer, Behavior
from webhook.audit.collect import ManifestCollector
from webhook.audit.inventory import Inventory
from webhook.audit.report import (
    AuditFinding,
    AuditReport,
    AuditSeverity,
    SpreadReport,
    WorkloadReport,
)
from webhook.audit.scan import AuditOptions, scan, summarise
from webhook.audit.snapshot import Snapshot
from webhook.config.configuration import Configuration
from webhook.config.configuration import policy as make_policy
from webhook.config.gates import gates_in_force
from webhook.manifests import Document, expand, parse
from webhook.policy.api.versions import NEWEST_VERSION

CONFIGURATION = Configuration()

NODES = "".join(
    f"""\
---
apiVersion: v1
kind: Node
metadata:
  name: node-{zone}
  labels: {{topology.kubernetes.io/zone: zone-{zone}, kubernetes.io/hostname: node-{zone}}}
"""
    for zone in "abc"
)

DEPLOYMENT = """\
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 4
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: nginx, env: [{name: PASSWORD, value: secret}]}]
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: web}}
        matchLabelKeys: [pod-template-hash]
"""

REPLICA_SET = """\
---
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-1
  namespace: shop
  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, controller: true}]
spec:
  replicas: 4
  selector: {matchLabels: {app: web, pod-template-hash: h1}}
  template:
    metadata: {labels: {app: web, pod-template-hash: h1}}
"""

STORED_POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, uid: 9f0c2f3e, resourceVersion: "4711", labels: {app: web}}
spec:
  topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector: {matchExpressions: [{key: app, operator: In, values: [web]}]}
    matchLabelKeys: [app]
"""
"""A pod that an API server has stored: it has a uid, and its selector the values of its keys."""

BARE = """\
---
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: db
  namespace: shop
  annotations: {kubectl.kubernetes.io/last-applied-configuration: secret}
spec:
  replicas: 3
  template:
    metadata: {labels: {app: db}}
    spec: {containers: []}
"""

REFUSED = """\
---
apiVersion: v1
kind: Pod
metadata: {name: lone, namespace: ops, labels: {app: lone}}
spec:
  topologySpreadConstraints:
  - maxSkew: 0
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: DoNotSchedule
    labelSelector: {matchLabels: {app: lone}}
"""

REFERRING = """\
---
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web, namespace: shop}
spec:
  replicas: 5
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: template}
  strategy: {canary: {canaryMetadata: {labels: {role: canary}}}}
"""


def spread_report(**changes: Any) -> SpreadReport:
    """Build the report on an even spread over no domains."""
    values: dict[str, Any] = {
        "topology_key": "zone",
        "when_unsatisfiable": "DoNotSchedule",
        "max_skew": 1,
        "minimum": 0,
        "floor": "",
        "skew": 0,
        "domains": 0,
        "cells": (),
    }
    return SpreadReport(**values | changes)


def pod(
    name: str,
    node: str,
    owner: str = "ReplicaSet/web-1",
    *,
    selects: str = "web",
    revision: str = "h1",
    **status: str,
) -> str:
    """Write a pod of the application web, whose constraint selects an application."""
    kind, _, owner_name = owner.partition("/")
    value: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "shop",
            "labels": {"app": "web", "pod-template-hash": revision},
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": kind, "name": owner_name, "controller": True}
            ],
        },
        "spec": {
            "nodeName": node,
            "topologySpreadConstraints": [
                {
                    "maxSkew": 1,
                    "topologyKey": "topology.kubernetes.io/zone",
                    "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": {"matchLabels": {"app": selects}},
                    "matchLabelKeys": ["pod-template-hash"],
                }
            ],
        },
        "status": status,
    }
    return f"---\n{msgspec.json.encode(value).decode()}\n"


RUNNING = "".join(pod(f"web-1-{i}", f"node-{zone}") for i, zone in enumerate("aaab"))
"""Three pods in the first zone, one in the second, none in the third."""

MISCOUNTED = (NODES + DEPLOYMENT + REPLICA_SET).replace(
    "labelSelector: {matchLabels: {app: web}}", "labelSelector: {matchLabels: {app: wbe}}"
) + "".join(pod(f"web-1-{i}", "node-a", selects="wbe") for i in range(4))
"""Four pods in the first zone, none of which their constraint counts."""

LIVE = NODES + DEPLOYMENT + REPLICA_SET + RUNNING + BARE
EVERYTHING = LIVE + REFUSED


def gather(
    text: str, *, neighbours: str = "", configuration: Configuration = CONFIGURATION
) -> ManifestCollector:
    """Collect manifests, and others that are only part of the cluster."""
    collector = ManifestCollector(configuration)
    for source, requested in ((text, True), (neighbours, False)):
        for document in parse(source, "all.yaml"):
            assert isinstance(document, Document)
            for item in expand(document):
                collector.add(item, requested=requested)
    return collector


def serve_objects(
    objects: str | Sequence[Any], failures: Mapping[str, Sequence[Behavior]] | None = None
) -> ApiServer:
    """
    Build an API server that has these objects and the kind Rollout, and sends small pages.

    Args:
        objects: Objects, or YAML.
        failures: Path -> answers to its first requests; None: from the objects.
    """
    loaded = yaml.safe_load_all(objects) if isinstance(objects, str) else objects
    server = ApiServer(*filter(None, loaded))
    server.page_size = 2
    server.define("argoproj.io/v1", "Rollout")
    for path, answers in (failures or {}).items():
        server.script(path, *answers)
    return server


def inventory(snapshot: Snapshot) -> Inventory:
    """Index a snapshot."""
    return Inventory(snapshot, CONFIGURATION.owner_selectors)


def audit_options(configuration: Configuration = CONFIGURATION, **changes: Any) -> AuditOptions:
    """Build options from a configuration."""
    gates = gates_in_force(configuration, NEWEST_VERSION, "", allow_locked=False)
    return AuditOptions(make_policy(configuration, gates), **changes)


def report_on(snapshot: Snapshot, options: AuditOptions | None = None) -> AuditReport:
    """Audit a snapshot."""
    return scan(inventory(snapshot), options or audit_options())


def audit(text: str, *, neighbours: str = "", options: AuditOptions | None = None) -> AuditReport:
    """Audit manifests."""
    return report_on(gather(text, neighbours=neighbours).snapshot, options)


def rules(report: AuditReport) -> list[tuple[str, str]]:
    """Name every finding by its workload and its rule."""
    return [(workload.title, finding.rule) for workload, finding in report.findings()]


def finding(**changes: Any) -> AuditFinding:
    """Make a finding."""
    made: dict[str, Any] = {
        "rule": "TSC101",
        "severity": AuditSeverity.WARN,
        "field": "spec.topologySpreadConstraints[0].labelSelector",
        "line": 7,
        "problem": "it does not match",
        "instead": "labelSelector: {matchLabels: {app: web}}",
        "read_on": "evenspread validate --explain TSC101",
        "fingerprint": "0123456789abcdef",
    }
    return AuditFinding(**{**made, **changes})


def report(
    *findings: AuditFinding, exempted: tuple[AuditFinding, ...] = (), **changes: Any
) -> AuditReport:
    """Make a report on one workload."""
    made: dict[str, Any] = {"api_version": "apps/v1", "kind": "Deployment", "name": "web"}
    made |= {"namespace": "shop", **changes}
    workload = WorkloadReport(**made, findings=findings, exempted=exempted)
    summary = summarise([workload], nodes=0)
    return AuditReport(kubernetes="1.37", summary=summary, workloads=(workload,))
