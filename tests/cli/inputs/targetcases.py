"""Workloads, pods and nodes in text, and the targets that are built of them."""

from functools import partial
from typing import Any

from tests.cli.inputs.manifestclusters import cluster_of_text
from webhook.cli.inputs.placementtargets import PlacementTarget, TargetOptions
from webhook.cli.inputs.policy import RequestedPolicy, read_policy
from webhook.cli.inputs.subjects import find
from webhook.cli.inputs.targets import TargetBuilder
from webhook.policy.kinds import BUILT_IN_TEMPLATES, SHIPPED_TEMPLATES

NODES = """\
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {topology.kubernetes.io/zone: a, kubernetes.io/hostname: n1}}
---
"""
TEMPLATE = "{metadata: {labels: {app: web}}, spec: {containers: []}}"
HASHED = "{metadata: {labels: {app: web, pod-template-hash: h1}}, spec: {containers: []}}"
WEB = f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: shop}}
spec: {{replicas: 4, selector: {{matchLabels: {{app: web}}}}, template: {TEMPLATE}}}
---
"""
REVISION = f"""\
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-%s
  namespace: shop
  annotations: {{deployment.kubernetes.io/revision: "%s"}}
  ownerReferences: [{{apiVersion: apps/v1, kind: Deployment, name: %s, controller: true}}]
spec: {{selector: {{matchLabels: {{app: web}}}}, template: {HASHED}}}
---
"""
POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: %s
  namespace: shop
  labels: {app: web, pod-template-hash: h1}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-h1, controller: true}]
spec: {nodeName: n1}
---
"""
SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: web}}
"""
JOB_SET = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: js, namespace: shop}
spec:
  replicatedJobs:
  - name: w
    replicas: 3
    template:
      spec:
        parallelism: 2
        template:
          spec:
            containers: []
            topologySpreadConstraints:
            - maxSkew: 1
              topologyKey: topology.kubernetes.io/zone
              whenUnsatisfiable: DoNotSchedule
              labelSelector: {matchLabels: {jobset.sigs.k8s.io/jobset-name: js}}
              matchLabelKeys: [batch.kubernetes.io/job-name]
---
apiVersion: v1
kind: Pod
metadata:
  name: js-w-0-0-x
  namespace: shop
  labels:
    jobset.sigs.k8s.io/jobset-name: js
    jobset.sigs.k8s.io/job-index: "0"
    batch.kubernetes.io/job-completion-index: "0"
    batch.kubernetes.io/job-name: js-w-0
spec: {nodeName: n1}
---
"""
PODS = POD % "web-1" + POD % "web-2"
ENDING = (POD % "web-3").replace(
    "  name: web-3", "  deletionTimestamp: '2026-11-27T10:00:00Z'\n  name: web-3"
)

NOW = 1_800_000_000.0
TEMPLATES = {**BUILT_IN_TEMPLATES, **SHIPPED_TEMPLATES}

read_defaults = partial(read_policy, kube_version="", allow_locked_gates=True)
PLAIN = read_defaults(feature_gates="", config="")


def build(
    subject: str,
    text: str,
    policy: RequestedPolicy = PLAIN,
    *,
    replaces: bool = False,
    **options: Any,
) -> PlacementTarget:
    """Build the target of an object of this cluster."""
    cluster = cluster_of_text(NODES + text)
    builder = TargetBuilder(policy, cluster, TargetOptions(now=NOW, **options), replaces=replaces)
    (found,) = find(subject, "shop", TEMPLATES, cluster)
    return builder.build(found)
