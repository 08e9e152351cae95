"""Manifests and configuration files for the tests of commands."""

POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: web-1
  namespace: shop
  labels: {app: web}
spec:
  containers:
  - {name: web, image: nginx}
"""

SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec:
  selector: {app: web}
"""

VALID = """\
  topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: DoNotSchedule
    labelSelector: {matchLabels: {app: web}}
"""

BROKEN = """\
  topologySpreadConstraints:
  - maxSkew: 0
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: Never
    labelSelector: {matchLabels: {app: web}}
"""

TYPE_ERROR = """\
  topologySpreadConstraints:
  - topologyKey: topology.kubernetes.io/zone
    maxSkew: "1"
"""

DOUBTFUL = """\
  topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: failure-domain.beta.kubernetes.io/zone
    whenUnsatisfiable: DoNotSchedule
    minDomains: 2
"""

CONFIG = """\
apiVersion: evenspread.io/v1alpha1
kind: SpreadConfiguration
podTemplates:
- {group: example.io, kind: Fleet, path: spec.pod}
profiles:
- name: cluster
  defaultConstraints:
  - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}
featureGates: {EvenspreadAdvice: false}
"""

SPREAD_POLICY = """\
apiVersion: evenspread.io/v1alpha1
kind: SpreadPolicy
metadata: {name: %s}
spec: {order: 9, defaultConstraints: []}
"""

SCHEDULER = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: PodTopologySpreadArgs
defaultingType: System
"""

DEPLOYMENT_WITHOUT_CONSTRAINTS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: nginx}
"""

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    metadata: {labels: {app: web}}
    spec:
      topologySpreadConstraints:
      - {maxSkew: -1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}
"""

NODE = """\
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {kubernetes.io/hostname: n1, topology.kubernetes.io/zone: us-1a}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: web}]}
"""

SUITE = """\
apiVersion: evenspread.io/v1alpha1
kind: SpreadTest
name: defaults
config: ../config.yaml
cluster: [../cluster]
cases:
- name: a pod behind a Service gets the defaults
  object: ../pod.yaml
  expect: {verdict: patch}
"""

REFERRING_ROLLOUT = """\
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: front, namespace: shop}
spec:
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}
"""

BOUND_CLAIM = """\
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: data-db-%(ordinal)s
  namespace: shop
  annotations: {pv.kubernetes.io/bind-completed: "yes"}
spec: {volumeName: pv-%(ordinal)s}
---
"""
"""The claim of an ordinal of the StatefulSet ``shop/db``, bound to ``pv-ORDINAL``."""

LABEL_SELECTING = """\
apiVersion: evenspread.io/v1alpha1
kind: SpreadConfiguration
profiles:
- name: prod
  match: {namespaceSelector: {matchLabels: {tier: prod}}}
  defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]
- name: others
  defaultConstraints: [{maxSkew: 3, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]
"""
"""A configuration whose first profile selects Namespaces by a label, and whose second all pods."""
