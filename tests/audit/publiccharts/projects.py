"""Projects whose manifests are read, and how they are fetched; charts.py renders them."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

from tests.controlplane.build import go_program
from tests.deploy.tools import CACHE

NEEDS_GO = (1, 27, 0)  # of all below; external-dns 0.23 requires it
SECONDS = 300  # of one command; the longest took 40, for Istio's module

MODULES = (
    "github.com/argoproj/argo-cd/v2@v2.14.21",
    "github.com/argoproj/argo-rollouts@v1.10.2",
    "github.com/aws/karpenter-provider-aws@v1.15.1",
    "github.com/cert-manager/cert-manager@v1.21.2",
    "github.com/chaos-mesh/chaos-mesh@v0.9.1-0.20260902003049-47411975a8cb",
    "github.com/cilium/cilium@v1.20.2",
    "github.com/dapr/dapr@v1.14.0",
    "github.com/envoyproxy/gateway@v1.9.1",
    "github.com/external-secrets/external-secrets@v1.3.2",
    "github.com/fluxcd/flagger@v1.36.1",
    "github.com/google/cadvisor@v0.56.2",
    "github.com/grafana/loki/v3@v3.7.8",
    "github.com/kedacore/keda/v2@v2.21.0",
    "github.com/kyverno/kyverno@v1.19.1",
    "github.com/open-policy-agent/gatekeeper/v3@v3.23.1",
    "github.com/projectcontour/contour@v1.33.8",
    "github.com/prometheus-operator/prometheus-operator@v0.85.0",
    "istio.io/istio@v0.0.0-20260827124520-eed52ebb66ad",
    "k8s.io/ingress-nginx@v0.0.0-20240708192948-52c50467d67d",
    "k8s.io/kubernetes@v1.36.3",
    "knative.dev/serving@v0.51.0",
    "sigs.k8s.io/aws-load-balancer-controller@v1.1.9",
    "sigs.k8s.io/descheduler@v0.36.0",
    "sigs.k8s.io/external-dns@v0.23.0",
    "sigs.k8s.io/karpenter@v1.15.0",
    "sigs.k8s.io/metrics-server@v0.9.0",
)
"""
Operators, ingresses, meshes, policies, monitoring, autoscalers. Databases and queues come with
Kubernetes' own tests (Cassandra, CockroachDB, MySQL, etcd, ZooKeeper) and with charts that carry
a Redis, a MongoDB or a Kafka.
"""


def fetch(module: str) -> Path:
    """Have Go download a module, unless it has it; returns its folder, which is read-only."""
    go = go_program(needed=NEEDS_GO, cache=CACHE.expanduser())
    done = subprocess.run(
        (str(go), "mod", "download", "-json", module),
        cwd=tempfile.gettempdir(),
        env={**os.environ, "GOTOOLCHAIN": "local", "GOWORK": "off"},
        check=True,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    return Path(json.loads(done.stdout)["Dir"])
