"""A cluster with a shop, in manifests or behind an API server."""

from tests.cli.inputs.manifestclusters import documents
from webhook.cli.inputs.apiserver import ServerOptions
from webhook.cli.inputs.manifestcluster import ManifestCluster
from webhook.cli.inputs.manifests import Inputs
from webhook.config.ownerselectors import OwnerSelector
from webhook.policy.model import GroupKind

SERVER = ServerOptions(kubeconfig="kubeconfig")
FLEET = GroupKind("example.io", "Fleet")
OWNERS = (OwnerSelector(FLEET, ("spec", "selector")),)
OBJECTS = """\
apiVersion: v1
kind: Node
metadata: {name: n1}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: web}}
---
apiVersion: v1
kind: Pod
metadata: {name: web-1, namespace: shop, labels: {app: web}}
spec: {nodeName: n1}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {replicas: 2}
---
apiVersion: example.io/v1
kind: Fleet
metadata: {name: ships, namespace: shop}
spec: {selector: {matchLabels: {app: web}}}
"""


def manifest_cluster(text: str, namespace: str = "default") -> tuple[ManifestCluster, Inputs]:
    inputs = Inputs([])
    return ManifestCluster(documents(text), OWNERS, inputs, namespace), inputs
