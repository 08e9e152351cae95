"""
A generated cluster of the largest supported size, and its snapshot for audits.

It is the same in every run, and has the parts of large clusters:
Deployments with the ReplicaSets of two revisions, StatefulSets, Jobs, a few DaemonSets; half of
the workloads have constraints, a quarter an anti-affinity, a quarter nothing. Some ask for certain
nodes, and each pod tolerates what the API server lets every pod tolerate.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.apiserver import ApiServer, Json
from webhook.audit.listing import ClusterListing
from webhook.audit.snapshot import write_snapshot
from webhook.config.configuration import Configuration
from webhook.policy.model import HOSTNAME, ZONE

ZONES = ("eu-1a", "eu-1b", "eu-1c")
POOLS = 10  # of nodes, distinguished by a label
POOL = "example.com/pool"
TAINTED = 50  # one node of so many is kept for few, as those with GPUs are
CORDONED = 100  # one of so many

WORKLOADS_A_NAMESPACE = 50
DAEMON_SETS = 5  # a pod of each on every node: logs, metrics, network, storage, security
KINDS = (*(("Deployment",) * 7), *(("StatefulSet",) * 2), "Job")  # of the others, in turn
REPLICAS = (1, 2, 3, 3, 5, 5, 8, 20, 65)  # of the others, in turn; the last one takes the rest
CHOOSY = 5  # one workload of so many selects one pool of nodes

HASHES = ("5f6d8b7c9d", "7d4b9c6f5d")  # of the ReplicaSets of a Deployment: old, and in force

TOLERATIONS = [
    {"key": f"node.kubernetes.io/{state}", "operator": "Exists", "effect": "NoExecute"}
    for state in ("not-ready", "unreachable")
]
"""Source: the admission plugin DefaultTolerationSeconds."""


class Size(NamedTuple):
    """Numbers of objects."""

    nodes: int = 5_000
    pods: int = 150_000
    workloads: int = 10_000


def build_objects(size: Size) -> Iterator[Json]:
    """Build every object of a cluster."""
    for number in range(size.nodes):
        yield node(number)
    placed = 0
    for workload in workloads(size):
        yield workload.object()
        yield workload.service()
        yield from workload.replica_sets()
        yield from workload.pods(placed, size.nodes)
        placed += workload.replicas
    for number in range(-(-size.workloads // WORKLOADS_A_NAMESPACE)):
        yield _meta("v1", "Namespace", f"team-{number}")


class Workload(NamedTuple):
    """A workload, by what distinguishes it from others."""

    number: int
    kind: str
    replicas: int

    @property
    def name(self) -> str:
        """Its name, as long as people's are."""
        return f"checkout-service-{self.number}"

    @property
    def namespace(self) -> str:
        """Where it is, with many others."""
        return f"team-{self.number // WORKLOADS_A_NAMESPACE}"

    @property
    def labels(self) -> Json:
        """The labels of its template."""
        return {
            "app.kubernetes.io/name": self.name,
            "app.kubernetes.io/instance": f"{self.name}-prod",
            "app.kubernetes.io/managed-by": "Helm",
            "team": self.namespace,
        }

    @property
    def selector(self) -> Json:
        """What selects its pods."""
        return {"matchLabels": {"app.kubernetes.io/name": self.name}}

    @property
    def is_choosy(self) -> bool:
        """Whether its pods may go to one pool of nodes only."""
        return self.kind != "DaemonSet" and self.number % CHOOSY == 0

    def object(self) -> Json:
        """Make the workload."""
        template = {"metadata": {"labels": self.labels}, "spec": self.pod_spec()}
        spec = {"replicas": self.replicas, "selector": self.selector, "template": template}
        version = "batch/v1" if self.kind == "Job" else "apps/v1"
        return self._made(version, self.kind, self.name) | {"spec": spec}

    def service(self) -> Json:
        """Make its Service."""
        selector = self.selector["matchLabels"]
        return self._made("v1", "Service", self.name) | {"spec": {"selector": selector}}

    def replica_sets(self) -> Iterator[Json]:
        """Make the ReplicaSets of a Deployment: one that has no pods any more, one that has."""
        if self.kind != "Deployment":
            return
        for revision in HASHES:
            hashed = {"pod-template-hash": revision}
            made = self._made("apps/v1", "ReplicaSet", f"{self.name}-{revision}")
            made["metadata"]["ownerReferences"] = [_owner("Deployment", self.name)]
            labels, matched = self.labels | hashed, self.selector["matchLabels"] | hashed
            template = {"metadata": {"labels": labels}, "spec": self.pod_spec()}
            replicas = self.replicas if revision == HASHES[-1] else 0
            selector = {"matchLabels": matched}
            spec = {"replicas": replicas, "selector": selector, "template": template}
            yield made | {"spec": spec}

    def pods(self, first: int, nodes: int) -> Iterator[Json]:
        """
        Make its pods, which stand on nodes that follow each other.

        Args:
            first: The number of its first pod among all of the cluster.
            nodes: How many there are.
        """
        labels, kind, owner = self.labels, self.kind, self.name
        if kind == "Deployment":
            labels = labels | {"pod-template-hash": HASHES[-1]}
            kind, owner = "ReplicaSet", f"{owner}-{HASHES[-1]}"
        for number in range(first, first + self.replicas):
            made = self._made("v1", "Pod", f"{owner}-{number:05x}")
            made["metadata"] |= {"labels": labels, "ownerReferences": [_owner(kind, owner)]}
            spec = self.pod_spec() | {"nodeName": f"node-{self._node(number, nodes)}"}
            spec |= {"schedulerName": "default-scheduler", "tolerations": TOLERATIONS}
            yield made | {"spec": spec, "status": {"phase": "Running"}}

    def pod_spec(self) -> Json:
        """Make what its pods ask for."""
        made: Json = {}
        if self.kind == "DaemonSet":
            return made
        match self.number % 4:
            case 0 | 1:
                made["topologySpreadConstraints"] = [
                    self._constraint(ZONE, "DoNotSchedule"),
                    self._constraint(HOSTNAME, "ScheduleAnyway"),
                ]
            case 2:
                term = {"labelSelector": self.selector, "topologyKey": HOSTNAME}
                preferred = [{"weight": 100, "podAffinityTerm": term}]
                against = {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
                made["affinity"] = {"podAntiAffinity": against}
            case _:
                pass
        if self.is_choosy:
            made["nodeSelector"] = {POOL: f"pool-{self.number % POOLS}"}
        return made

    def _node(self, number: int, nodes: int) -> int:
        if not self.is_choosy:
            return number % nodes
        return number * POOLS % nodes // POOLS * POOLS + self.number % POOLS

    def _constraint(self, key: str, action: str) -> Json:
        return {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": action,
            "labelSelector": self.selector,
            "matchLabelKeys": ["pod-template-hash"] if self.kind == "Deployment" else [],
        }

    def _made(self, version: str, kind: str, name: str) -> Json:
        made = _meta(version, kind, name)
        made["metadata"]["namespace"] = self.namespace
        return made


def workloads(size: Size) -> Iterator[Workload]:
    """
    Divide the pods among the workloads.

    Raises:
        ValueError: There are too few pods for so many.
    """
    left = size.pods
    for number in range(size.workloads - 1):
        kind, replicas = "DaemonSet", size.nodes
        if number >= DAEMON_SETS:
            kind, replicas = KINDS[number % len(KINDS)], REPLICAS[number % len(REPLICAS)]
        left -= replicas
        yield Workload(number, kind, replicas)
    if left < 1:
        raise ValueError(f"{size} leaves no pod for the last workload")
    yield Workload(size.workloads - 1, "StatefulSet", left)


def node(number: int) -> Json:
    """Make a node."""
    made = _meta("v1", "Node", f"node-{number}")
    made["metadata"]["labels"] = {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "m6i.4xlarge",
        "topology.kubernetes.io/region": "eu-1",
        HOSTNAME: f"node-{number}",
        ZONE: ZONES[number % len(ZONES)],
        POOL: f"pool-{number % POOLS}",
    }
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    spec = {"taints": [taint]} if number % TAINTED == 0 else {}
    return made | {"spec": spec | ({"unschedulable": True} if number % CORDONED == 1 else {})}


def write(size: Size, file: Path) -> None:
    """Write the snapshot that ``evenspread audit --save-snapshot`` would make of the cluster."""
    configuration = Configuration()
    server = ApiServer(*build_objects(size))
    listing = ClusterListing(server, configuration)
    asyncio.run(listing.read())
    assert not listing.problems
    write_snapshot(listing.snapshot, str(file))


def _meta(version: str, kind: str, name: str) -> Json:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}}


def _owner(kind: str, name: str) -> Json:
    version = "batch/v1" if kind == "Job" else "apps/v1"
    return {"apiVersion": version, "kind": kind, "name": name, "controller": True}
