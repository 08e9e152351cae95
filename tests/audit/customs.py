"""Manifests of custom kinds: several templates, and a bare list."""

from tests.audit import world
from webhook.config.configuration import Configuration
from webhook.config.documents import check
from webhook.config.validation import read_document

JOB_SET = """\
---
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train, namespace: shop}
spec:
  replicatedJobs:
  - name: driver
    template:
      spec:
        template:
          metadata: {labels: {app: driver}}
          spec: {containers: []}
  - name: workers
    replicas: 2
    template:
      spec:
        parallelism: 3
        template:
          metadata: {labels: {app: workers}}
          spec:
            topologySpreadConstraints:
            - maxSkew: 0
              topologyKey: zone
              whenUnsatisfiable: DoNotSchedule
              labelSelector: {matchLabels: {app: workers}}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: train-workers-0
  namespace: shop
  ownerReferences: [{apiVersion: jobset.x-k8s.io/v1, kind: JobSet, name: train, controller: true}]
spec:
  template: {metadata: {labels: {app: workers}}}
"""


def job_pod(name: str, replicated: str) -> str:
    """Write a pod of a replicated job of the JobSet."""
    written = world.pod(name, "node-a", "Job/train-workers-0").replace("apps/v1", "batch/v1")
    label = f'"jobset.sigs.k8s.io/replicatedjob-name": "{replicated}", "app"'
    return written.replace('"app"', label, 1)


CLUSTER = """\
---
apiVersion: postgresql.cnpg.io/v1
kind: Cluster
metadata: {name: db, namespace: shop}
spec:
  instances: 3
  topologySpreadConstraints:
  - maxSkew: 0
    topologyKey: zone
    whenUnsatisfiable: DoNotSchedule
"""

WITH_LISTS: Configuration = check(
    read_document(
        "apiVersion: evenspread.io/v1alpha1\nkind: SpreadConfiguration\nconstraintLists:\n"
        "- {group: postgresql.cnpg.io, kind: Cluster, path: spec.topologySpreadConstraints}\n",
        "spread.yaml",
    ),
    lambda _: "",
)
