"""
What must hold after a fault, whatever it was: the oracles that the fault cases share.

``Ledger`` compares the responses to clients with what is stored; ``webhook_errors`` is the API
server's own count of calls that failed; ``check_caches`` and ``check_process`` look at a replica.
"""

import copy
import json
import threading
from collections import Counter
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple, Self

from tests.controlplane.api import Api, ApiError, Json
from tests.controlplane.apiserver import ApiServer
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.e2e.load import Load
from tests.e2e.objects import constraints, workload
from tests.e2e.replica import Replica

ANNOTATION = "evenspread.io/defaults"
CONVERGED_S = 60.0  # patience until caches hold what is stored; back-off pauses up to 30 s
PROBE_PAUSE_S = 0.2  # between two probes; a kubelet pauses for seconds
DEFAULTS = 2  # constraints that CONFIG adds to a pod of a Service

CACHED = {
    "Namespace": "v1",
    "Node": "v1",
    "Service": "v1",
    "ReplicationController": "v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
}
"""Kinds in the caches of a replica -> their API version."""

TRACES = ("was never retrieved", "Traceback")
"""What no log of a healthy process contains."""


class Ledger(NamedTuple):
    """
    The creations of a load, each with its final outcome.

    Attributes:
        created: Names of those that the API server confirmed.
        refused: Names of those that it refused.
        unknown: Names of those without a definite answer, such as a broken connection.
        stored: Every pod that is there, by name.
    """

    created: frozenset[str]
    refused: frozenset[str]
    unknown: frozenset[str]
    stored: Mapping[str, Json]

    @classmethod
    def of(cls, api: Api, namespace: str, load: Load) -> Self:
        """Resolve every outcome by a list of what is stored."""
        by_outcome: dict[str, set[str]] = {"created": set(), "refused": set(), "unknown": set()}
        for name, error in load.outcomes.items():
            by_outcome[_outcome(error)].add(name)
        listed = {pod["metadata"]["name"]: pod for pod in api.items("v1", "Pod", namespace)}
        return cls(**{key: frozenset(names) for key, names in by_outcome.items()}, stored=listed)

    @property
    def calls(self) -> int:
        """How many creations were tried."""
        return len(self.created) + len(self.refused) + len(self.unknown)

    @property
    def lost(self) -> frozenset[str]:
        """Names of those without a definite answer that are not stored."""
        return self.unknown - self.stored.keys()

    def check(self, *, incomplete: frozenset[str] = frozenset()) -> None:
        """
        Assert that what is stored agrees with the responses, each pod with all its defaults.

        Args:
            incomplete: Names of pods that may lack all defaults, since a call failed open.
        """
        assert self.created <= self.stored.keys()
        assert self.refused.isdisjoint(self.stored)
        assert self.stored.keys() <= self.created | self.unknown
        counts = {name: _count(pod) for name, pod in self.stored.items()}
        assert {name for name, count in counts.items() if count not in (0, DEFAULTS)} == set()
        assert {name for name, count in counts.items() if not count} <= incomplete


def _outcome(error: Exception | None) -> str:
    if error is None:
        return "created"
    definite = isinstance(error, ApiError) and (
        error.status < HTTPStatus.INTERNAL_SERVER_ERROR or "failed calling webhook" in str(error)
    )
    return "refused" if definite else "unknown"


def _count(pod: Json) -> int:
    """How many constraints a pod has; -1 if they and the annotation do not belong together."""
    listed = constraints(pod)
    annotated = ANNOTATION in pod["metadata"].get("annotations", {})
    return len(listed) if annotated == bool(listed) else -1


def webhook_errors(apiserver: ApiServer) -> float:
    """How many calls of webhooks failed since the API server started, by its own count."""
    rejections = sum(
        apiserver.metric("apiserver_admission_webhook_rejection_count", error_type=kind)
        for kind in ("calling_webhook_error", "apiserver_internal_error")
    )
    return rejections + apiserver.metric("apiserver_admission_webhook_fail_open_count")


def admission_annotations(apiserver: ApiServer) -> Counter[str]:
    """
    Count the entries of the audit log about webhooks.

    ``failed-open``: calls that were let pass; ``mutated``: calls that changed the object.
    """
    found = Counter[str]()
    for event in apiserver.audit_events():
        for name, value in event.get("annotations", {}).items():
            if name.startswith("failed-open."):
                found["failed-open"] += 1
            elif name.startswith("mutation.webhook.admission.k8s.io/"):
                found["mutated"] += json.loads(value)["mutated"]
    return found


def check_caches(plane: ControlPlane, replica: Replica) -> None:
    """Wait until the caches hold as many objects as are stored, and every watch works."""

    def differences() -> Json:
        listed = {kind: plane.api.items(version, kind) for kind, version in CACHED.items()}
        listed["Service"] = [
            service for service in listed["Service"] if service["spec"].get("selector")
        ]
        held = {kind: replica.metric("cache_objects", kind=kind) for kind in CACHED}
        return {
            kind: (held[kind], len(listed[kind]))
            for kind in CACHED
            if held[kind] != len(listed[kind])
        }

    until(lambda: not differences(), "caches that hold what is stored", patience_s=CONVERGED_S)


def check_idempotent(api: Api, pods: list[Json]) -> None:
    """Assert that pods which are created again are not changed again."""
    for pod in pods:
        again = copy.deepcopy(pod)
        labels, annotations = pod["metadata"]["labels"], pod["metadata"].get("annotations", {})
        metadata = {"name": f"{pod['metadata']['name']}-again", "labels": labels}
        again["metadata"] = {**metadata, "namespace": pod["metadata"]["namespace"]}
        again["metadata"]["annotations"] = annotations
        again.pop("status")
        created = api.create(again, dryRun="All")
        assert constraints(created) == constraints(pod)
        assert created["metadata"].get("annotations", {}) == annotations


def check_process(replica: Replica) -> None:
    """Assert that a replica runs, and that its log holds no bug and no forgotten task."""
    assert replica.process.alive
    written = replica.log.read_text().splitlines()
    assert [line for line in written if any(trace in line for trace in TRACES)] == []
    assert [line for line in replica.lines if line["event"] == "bug"] == []


class ReadinessProbe:
    """
    Polls whether a replica is ready; a context manager.

    Attributes:
        successes: How often it was.
        failures: How often it was not, or did not answer.
    """

    def __init__(self, replica: Replica) -> None:
        self.successes = self.failures = 0
        self._replica = replica
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(PROBE_PAUSE_S):
            if self._replica.ready:
                self.successes += 1
            else:
                self.failures += 1


def own_files(replica: Replica) -> float:
    """File descriptors of a replica, but for the connections that API servers keep to it."""
    files = list(Path(f"/proc/{replica.process.pid}/fd").iterdir())
    return len(files) - replica.metric("connections")


def ready_pod(plane: ControlPlane, namespace: str) -> None:
    """Wait until a pod of the Service of a namespace would get its defaults."""
    tried = workload("Pod", "tried", namespace, {"app": "it"})

    def is_complete() -> bool:
        return len(constraints(plane.api.create(tried, dryRun="All"))) == DEFAULTS

    until(is_complete, "the Service to be known")
