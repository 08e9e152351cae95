"""Manifests of a shop: three zones, the emptiest of which is cordoned, and a Deployment."""

NODE = """\
apiVersion: v1
kind: Node
metadata: {name: %s, labels: {kubernetes.io/hostname: %s, topology.kubernetes.io/zone: %s}}
spec: {unschedulable: %s}
---
"""
NODES = "".join(
    NODE % (name, name, zone, cordoned)
    for name, zone, cordoned in (
        ("n1", "us-1a", "false"),
        ("n2", "us-1b", "false"),
        ("n3", "us-1c", "true"),
    )
)

TEMPLATE = """\
metadata: {labels: {app: web%s}}
    spec:
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: web}}
"""

WEB = f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: shop}}
spec:
  replicas: 4
  selector: {{matchLabels: {{app: web}}}}
  template:
    {TEMPLATE % ""}"""

REVISION = f"""\
---
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-1
  namespace: shop
  ownerReferences: [{{apiVersion: apps/v1, kind: Deployment, name: web, controller: true}}]
spec:
  selector: {{matchLabels: {{app: web, pod-template-hash: "1"}}}}
  template:
    {TEMPLATE % ', pod-template-hash: "1"'}"""

POD = """\
---
apiVersion: v1
kind: Pod
metadata: {name: web-%s, namespace: shop, labels: {app: web}}
spec:
  nodeName: %s
  topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: DoNotSchedule
    labelSelector: {matchLabels: {app: web}}
"""
PODS = POD % (1, "n1") + POD % (2, "n2")
