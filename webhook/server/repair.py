"""
Correction of the ranks of pods after they are bound, by the one replica that holds the Lease.

``RankRepair.work`` is the entry point. ``policy.scaledown.corrections`` plans; here each correction
is written if the pod is still as it was planned for. A correction is worth little, so that any
doubt ends it. A change of the workload starts another, and so does time after a failed request.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import NamedTuple, NoReturn

import msgspec

from webhook.cluster import wire
from webhook.cluster.pods import PodStore
from webhook.cluster.protocol import (
    DECODE_ERRORS,
    NO_QUERY,
    ApiClient,
    Response,
    protocol_error,
    status_error,
)
from webhook.cluster.rankledger import Controller
from webhook.cluster.store import Key
from webhook.errors import ApiError
from webhook.policy.scaledown.binding import RankedPod
from webhook.policy.scaledown.corrections import CONTESTED, Correction, plan_corrections
from webhook.policy.scaledown.ranks import annotate_rank
from webhook.server.election import Clocks
from webhook.server.events import EventRecorder
from webhook.telemetry.logs import Log
from webhook.telemetry.metrics import Metrics

ROUND_S = 1.0  # between two looks at what has changed
SETTLED_S = 5.0  # without a change: pods that were deleted have been replaced, and got free ranks
REFUSED_S = 60.0  # after a missing right, or a refusal by a policy: people have to change them
WRITE_PAUSE_S = 0.1  # after a write: at most ten a second, a hundredth of what an API server takes
MOST_REMEMBERED = 100_000  # corrected pods, about 20 MB; the oldest are forgotten

_MERGE_PATCH = "application/merge-patch+json"
_OUTDATED = {HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT}  # the pod has gone, or has changed
_NO_RESPONSE = 0
_BUSY = {_NO_RESPONSE, HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}


class RepairObservers(NamedTuple):
    """Where corrections are reported: metrics, the log, and Events, of which there may be none."""

    metrics: Metrics
    log: Log
    events: EventRecorder | None = None


class _Identity(msgspec.Struct, frozen=True, rename="camel"):
    uid: str
    resource_version: str


class _StoredPod(msgspec.Struct, frozen=True):
    metadata: _Identity


_decode_identity = msgspec.json.Decoder(_StoredPod).decode
_decode_pod = msgspec.json.Decoder(wire.PodObject).decode


class RankRepair:
    """
    Corrects ranks, a workload at a time, once its pods have not changed for ``SETTLED_S``.

    A pod whose cost is changed again after a correction is contested: another client wants another
    cost, and the pod keeps it.
    """

    def __init__(
        self,
        client: ApiClient,
        find_pods: Callable[[], PodStore | None],
        clocks: Clocks,
        observers: RepairObservers,
        most_remembered: int = MOST_REMEMBERED,
    ) -> None:
        """
        Send no request yet.

        Args:
            find_pods: Returns the store of ranked pods; None while there is nothing to correct.
            most_remembered: Number of corrected pods to remember, to notice contested ones.
        """
        self._client = client
        self._find_pods = find_pods
        self._clocks = clocks
        self._metrics, self._log, self._events = observers
        self._most_remembered = most_remembered
        self._settled_at: dict[Controller, float] = {}
        self._failing: dict[Controller, str] = {}  # the reason of the last error
        self._paused_until = 0.0
        self._written: OrderedDict[Key, str] = OrderedDict()  # to the uid
        self._contested: set[Key] = set()

    async def work(self) -> NoReturn:
        """Correct ranks until cancelled."""
        while True:
            store = self._find_pods()
            if store is not None and self._clocks.now() >= self._paused_until:
                await self._correct_settled(store)
            await self._clocks.sleep(ROUND_S)

    async def _correct_settled(self, store: PodStore) -> None:
        """Correct the ranks of the workloads that have not changed for long enough."""
        now = self._clocks.now()
        self._settled_at.update(dict.fromkeys(store.take_changed(), now + SETTLED_S))
        due = [controller for controller, at in self._settled_at.items() if at <= now]
        for controller in due:
            try:
                await self._correct(controller, store)
            except ApiError as error:
                self._postpone(controller, error)
                if error.status in _BUSY:
                    return
                await self._clocks.sleep(WRITE_PAUSE_S)
            else:
                del self._settled_at[controller]
                self._failing.pop(controller, None)

    def _postpone(self, controller: Controller, error: ApiError) -> None:
        """Try a workload again later, after the others; leave a busy API server alone."""
        refused = HTTPStatus.BAD_REQUEST <= error.status < HTTPStatus.INTERNAL_SERVER_ERROR
        usual = REFUSED_S if refused and error.status not in _BUSY else SETTLED_S
        again = self._clocks.now() + max(usual, error.retry_after)
        if error.status in _BUSY:
            self._paused_until = again
        del self._settled_at[controller]
        self._settled_at[controller] = again
        if error.reason not in self._failing.values():
            self._log.warning("ranks", message=f"ranks cannot be corrected: {error}")
        self._failing[controller] = error.reason

    async def _correct(self, controller: Controller, store: PodStore) -> None:
        pods = store.pods_of(controller)
        namespace = controller.namespace
        left = self._find_left(namespace, pods)
        # In a thread, because a workload may have as many pods as the cluster.
        for correction in await asyncio.to_thread(plan_corrections, pods, store.domain, left):
            if await self._write(namespace, correction):
                await self._clocks.sleep(WRITE_PAUSE_S)

    def _find_left(self, namespace: str, pods: Mapping[str, RankedPod]) -> set[str]:
        """Find the pods that are contested, but not those with a rank: they replaced such pods."""
        found = {name for name in pods if (namespace, name) in self._contested}
        replaced = {name for name in found if pods[name].rank > 0}
        self._contested -= {(namespace, name) for name in replaced}
        return found - replaced

    async def _write(self, namespace: str, correction: Correction) -> bool:
        """Write one correction if the pod is as planned for; returns whether it was written."""
        path = f"/api/v1/namespaces/{namespace}/pods/{correction.name}"
        response = await self._client.send("GET", path)
        identity = self._read(response, correction)
        if identity is None:
            return False
        key = (namespace, correction.name)
        if correction.before <= 0 and self._written.get(key) == identity.uid:
            self._leave(key)
            return False
        annotations = annotate_rank(correction.rank)
        change = {"metadata": {**msgspec.to_builtins(identity), "annotations": annotations}}
        body = msgspec.json.encode(change)
        response = await self._client.send("PATCH", path, NO_QUERY, body, _MERGE_PATCH)
        if response.status in _OUTDATED:
            return False
        self._require_ok(response)
        self._remember(key, identity.uid)
        self._metrics.rank_repairs.labels(correction.reason).inc()
        return True

    def _read(self, response: Response, correction: Correction) -> _Identity | None:
        """Read a pod; None if it has gone, or its rank is not the one that was planned for."""
        if response.status == HTTPStatus.NOT_FOUND:
            return None
        self._require_ok(response)
        try:
            pod, stored = _decode_pod(response.body), _decode_identity(response.body)
        except DECODE_ERRORS:
            raise protocol_error(self._client.name, "answered with no pod") from None
        ranked = pod.ranked
        return stored.metadata if ranked and ranked.rank == correction.before else None

    def _require_ok(self, response: Response) -> None:
        if response.status != HTTPStatus.OK:
            source = self._client.name
            raise status_error(source, response.status, response.body, response.headers)

    def _remember(self, key: Key, uid: str) -> None:
        self._written[key] = uid
        self._written.move_to_end(key)
        if len(self._written) > self._most_remembered:
            forgotten, _ = self._written.popitem(last=False)
            self._contested.discard(forgotten)

    def _leave(self, key: Key) -> None:
        """Leave a pod to the client that changed its cost again."""
        self._contested.add(key)
        self._metrics.rank_repairs.labels(CONTESTED).inc()
        message = (
            f"another client writes the deletion cost of pod {key[0]}/{key[1]} too: it keeps that "
            "cost; switch one of the two off"
        )
        self._log.warning("ranks", message=message)
        if self._events is not None:
            self._events.record("RanksContested", message, warning=True)
