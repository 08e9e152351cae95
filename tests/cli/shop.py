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
metadata:
  name: web-%s
  namespace: shop
  labels: {app: web, pod-template-hash: "1"}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, controller: true}]
spec:
  nodeName: %s
  topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: DoNotSchedule
    labelSelector: {matchLabels: {app: web}}
"""
PODS = POD % (1, "n1") + POD % (2, "n2")

BLOCKED = """\
the next pod of Deployment shop/web cannot be placed: zone (maxSkew 1) allows only us-1c, where no \
node takes it: 1 node(s) were unschedulable
FailedScheduling: 0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) didn't match \
pod topology spread constraints.

constraint 0: zone, maxSkew 1, DoNotSchedule, pods app=web
  global minimum 0: no pod in us-1c
  domain  nodes  pods                        skew
  us-1a   1      1     ████████████████████  2     over 1
  us-1b   1      1     ████████████████████  2     over 1
  us-1c   1      0                           1     fits

0 of 3 nodes can take it
  cannot: 2 zone: skew 2 > maxSkew 1: n1, n2
  cannot: 1 node(s) were unschedulable: n3

any one of these changes makes it schedulable, as simulated:
  - raise maxSkew of constraint 0 (zone) from 1 to 2 (then n1, n2)
  - uncordon node n3 (then n3)
  - add 1 node with zone=us-1c (then new-1)
  - make constraint 0 (zone) ScheduleAnyway (then n1, n2)
not considered: extenders, out-of-tree plugins and added affinity of the scheduler's profile, \
resources of nodes without status.allocatable
"""
"""The explanation of the Deployment, of which two pods run."""

ZONES = "".join(
    f"---\napiVersion: v1\nkind: Node\nmetadata: {{name: {name}1, labels: "
    f"{{topology.kubernetes.io/zone: {name}}}}}\n"
    for name in "abc"
)
"""Three nodes, each in a zone of its own: a, b and c."""
