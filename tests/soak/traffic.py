"""Pods, ReplicaSets and Services that are created, updated and deleted at a steady rate."""

import http.client
import threading
import time
from collections import Counter, deque
from collections.abc import Callable

from tests.controlplane.api import PATCH, Api, Json, Reply
from tests.controlplane.pace import PacedCalls
from tests.e2e.objects import constraints, controlled_by, service, workload
from tests.soak.outages import SERVICE_UNKNOWN, Outages, Outcome, is_service_unknown, judge_call

WORKERS = 24  # writes at once: 200 ms for each, on a busy machine, are 120 a second
MOST_PODS, MOST_SETS, MOST_SERVICES = 200, 30, 30  # that exist at a time: the caches stay as large
MOST_FAILURES = 20  # sentences that are kept; all are counted
CALLS_PER_WRITE = 2  # both webhooks review each pod and each ReplicaSet
LABELS = {"app": "it"}


class Traffic(PacedCalls):
    """
    A context manager; writes begin and end with it.

    Args:
        namespace: It holds a Service that selects all pods.
        rate: Calls of webhooks a second.
        report: Called with a sentence for each of the first failures.

    Attributes:
        succeeded: The writes that a webhook reviewed.
        attempted: The writes that were tried, deletions not included.
        failed: The writes that failed without an outage, or whose result is not as expected.
        failures: A sentence for each of the first.
        excused: The writes that failed in an outage, by its cause.
        longest: The seconds of the slowest write outside of outages.
    """

    def __init__(
        self,
        api: Api,
        namespace: str,
        outages: Outages,
        *,
        rate: float,
        report: Callable[[str], object],
    ) -> None:
        super().__init__(rate=rate / CALLS_PER_WRITE, threads=WORKERS)
        api.create(service("all", namespace, LABELS))
        self.attempted = self.succeeded = self.failed = 0
        self.failures: list[str] = []
        self.excused = Counter[str]()
        self.longest = 0.0
        self._api, self._namespace, self._outages = api, namespace, outages
        self._report = report
        self._pods, self._sets, self._services = deque[Json](), deque[Json](), deque[Json]()
        self._lock = threading.Lock()

    def call(self, number: int) -> None:
        """Make one write of the mixture, and what belongs to it."""
        try:
            self._write(number)
        finally:
            with self._lock:
                self.attempted += 1

    def _write(self, number: int) -> None:
        turn = number % 10
        if turn == 0 or not self._sets:
            self._create_set(number)
        elif turn == 5:
            self._patch(self._sets[-1], {"metadata": {"annotations": {"turn": f"{number}"}}})
        else:
            self._create_pod(number)
        if turn == 3:
            self._churn_services(number)
        self._trim(self._pods, MOST_PODS)
        self._trim(self._sets, MOST_SETS)

    def _create_set(self, number: int) -> None:
        made = workload("ReplicaSet", f"set-{number}", self._namespace, {"set": f"{number}"})
        made["spec"]["replicas"] = 0
        if stored := self._create(made):
            self._sets.append(stored)

    def _create_pod(self, number: int) -> None:
        owner = self._sets[-1]
        labels = {**LABELS, **owner["spec"]["selector"]["matchLabels"]}
        made = workload("Pod", f"pod-{number}", self._namespace, labels)
        made["metadata"]["ownerReferences"] = [controlled_by(owner)]
        if stored := self._create(made):
            self._pods.append(made)
            if flaw := find_flaw(stored):
                self._fail(f"pod-{number} {flaw}")

    def _churn_services(self, number: int) -> None:
        made = service(f"some-{number}", self._namespace, {"some": f"{number}"})
        if self._create(made):
            self._services.append(made)
            self._patch(made, {"spec": {"selector": {"some": f"{number + 1}"}}})
        self._trim(self._services, MOST_SERVICES)

    def _create(self, made: Json) -> Json:
        path = self._api.collection_of(made)
        return self._call(lambda: self._api.request("POST", path, made), f"create {path}")

    def _patch(self, made: Json, changes: Json) -> None:
        path = self._api.path_of(made)
        self._call(
            lambda: self._api.request("PATCH", path, changes, content_type=PATCH), f"patch {path}"
        )

    def _trim(self, objects: deque[Json], most: int) -> None:
        """Delete the oldest object if there are more than ``most``."""
        if len(objects) > most:
            path = self._api.path_of(objects.popleft())
            now = {"gracePeriodSeconds": 0}
            self._call(lambda: self._api.request("DELETE", path, now), f"delete {path}")

    def _call(self, act: Callable[[], Reply], what: str) -> Json:
        """Make one call and count it; the body of the answer, or nothing if it failed."""
        began = time.monotonic()
        try:
            reply = act()
        except (OSError, http.client.HTTPException) as error:
            reply = Reply(0, {"message": repr(error)})
        ended = time.monotonic()
        cause, message = self._outages.cause(began, ended), str(reply.body.get("message", ""))
        outcome = judge_call(reply.status, message, cause)
        with self._lock:
            if outcome is Outcome.EXCUSED:
                self.excused[SERVICE_UNKNOWN if is_service_unknown(message) else cause] += 1
            elif outcome is Outcome.SUCCEEDED:
                self.succeeded += "/services" not in what and not what.startswith("delete")
                self.longest = self.longest if cause else max(self.longest, ended - began)
        if outcome is Outcome.FAILED:
            self._fail(f"{what}: {reply.status} {message}")
        return reply.body if outcome is Outcome.SUCCEEDED else {}

    def _fail(self, sentence: str) -> None:
        with self._lock:
            self.failed += 1
            if len(self.failures) < MOST_FAILURES:
                self.failures.append(sentence[:500])
                self._report(f"FAILED: {sentence[:500]}")


def find_flaw(pod: Json) -> str:
    """What a pod lacks that the default constraints give it; empty if nothing."""
    selectors = [
        constraint["labelSelector"].get("matchLabels", {}) for constraint in constraints(pod)
    ]
    if len(selectors) != 2:
        return f"has {len(selectors)} constraints, not 2"
    strange = [selector for selector in selectors if LABELS.items() - selector.items()]
    return f"is selected by {strange[0]}, without {LABELS}" if strange else ""
