"""
Write corrections of ranks to pods, with preconditions; use ``RankWriter``.

A pod is read first, and written only if it has the rank that the correction was planned for. When
and in which order corrections are written is not decided here.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from http import HTTPStatus
from typing import NamedTuple, TypeVar

import msgspec

from webhook.cluster import wire
from webhook.cluster.protocol import (
    DECODE_ERRORS,
    MERGE_PATCH,
    NO_QUERY,
    ApiClient,
    Response,
    protocol_error,
    status_error,
)
from webhook.cluster.store import Key
from webhook.policy.nesting import decode_nested
from webhook.policy.scaledown.binding import RankedPod
from webhook.policy.scaledown.corrections import CONTESTED, Correction
from webhook.policy.scaledown.ranks import annotate_rank
from webhook.server.events import TaskObservers

MOST_REMEMBERED = 100_000  # corrected pods, about 20 MB; the oldest are forgotten

T = TypeVar("T")


class _Identity(msgspec.Struct, frozen=True, rename="camel"):
    uid: str
    resource_version: str


class _StoredPod(msgspec.Struct, frozen=True):
    metadata: _Identity


_decode_identity = msgspec.json.Decoder(_StoredPod).decode
_decode_pod = msgspec.json.Decoder(wire.PodObject).decode


class _WrittenRank(NamedTuple):
    """A rank that was written, and the uid of the pod."""

    uid: str
    rank: int


class RankWriter:
    """
    Writes ranks, but never twice against another client.

    A pod is contested if it no longer has the rank that was written: another client wants another
    cost, and the pod keeps it.
    """

    def __init__(
        self, client: ApiClient, observers: TaskObservers, most_remembered: int = MOST_REMEMBERED
    ) -> None:
        """
        Send no request yet.

        Args:
            most_remembered: Number of corrected pods to remember, to notice contested ones.
        """
        self._client = client
        self._observers = observers
        self._most_remembered = most_remembered
        self._written: OrderedDict[Key, _WrittenRank] = OrderedDict()
        self._contested: OrderedDict[Key, str] = OrderedDict()  # to the uid

    def forget_written(self) -> None:
        """Forget what was written, because another replica may correct the same pods."""
        self._written.clear()

    def find_contested(self, namespace: str, pods: Mapping[str, RankedPod]) -> set[str]:
        """
        Find the contested pods of a controller, but not those with a rank.

        These may have replaced contested ones, which only the uid of the stored pod shows.
        """
        names = (name for name, pod in pods.items() if pod.rank <= 0)
        return {name for name in names if (namespace, name) in self._contested}

    async def write(self, namespace: str, correction: Correction) -> bool:
        """
        Write a correction, unless the pod is contested, or is not as planned for.

        Returns:
            False if the pod was changed between the two requests.

        Raises:
            ApiError: The API server refuses it, or gives no response.
        """
        key = (namespace, correction.name)
        path = f"/api/v1/namespaces/{namespace}/pods/{correction.name}"
        identity = await self._read(path, correction)
        if identity is None or self._is_contested(key, identity.uid, correction.before):
            return True
        annotations = annotate_rank(correction.rank)
        change = {"metadata": {**msgspec.to_builtins(identity), "annotations": annotations}}
        # After a failure the stored rank is not known, and must not look like another client's.
        written = self._written.pop(key, None)
        body = msgspec.json.encode(change)
        response = await self._client.send("PATCH", path, NO_QUERY, body, MERGE_PATCH)
        if response.status not in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):
            self._require_ok(response)
            written = _WrittenRank(identity.uid, correction.rank)
            self._observers.metrics.rank_repairs.labels(correction.reason).inc()
        if written is not None:
            self._remember(self._written, key, written)
        return response.status != HTTPStatus.CONFLICT

    async def _read(self, path: str, correction: Correction) -> _Identity | None:
        """Read a pod; None if it has gone, or its rank is not the one that was planned for."""
        response = await self._client.send("GET", path)
        if response.status == HTTPStatus.NOT_FOUND:
            return None
        self._require_ok(response)
        try:
            # In a thread, because a deeply nested pod may take a tenth of a second.
            rank, identity = await asyncio.to_thread(decode_nested, _decode, response.body)
        except DECODE_ERRORS:
            raise protocol_error(self._client.name, "answered with no pod") from None
        return identity if rank == correction.before else None

    def _require_ok(self, response: Response) -> None:
        if response.status != HTTPStatus.OK:
            source = self._client.name
            raise status_error(source, response.status, response.body, response.headers)

    def _is_contested(self, key: Key, uid: str, rank: int) -> bool:
        """Whether another client changed a rank that was written; reports each pod once."""
        if self._contested.get(key) == uid:
            return True
        written = self._written.get(key)
        if written is None or written.uid != uid or written.rank == rank:
            return False
        self._remember(self._contested, key, uid)
        self._report(*key)
        return True

    def _remember(self, known: OrderedDict[Key, T], key: Key, value: T) -> None:
        known[key] = value
        known.move_to_end(key)
        if len(known) > self._most_remembered:
            known.popitem(last=False)

    def _report(self, namespace: str, name: str) -> None:
        """Report a pod that is left to another client."""
        self._observers.metrics.rank_repairs.labels(CONTESTED).inc()
        message = (
            f"another client writes the deletion cost of pod {namespace}/{name} too: it keeps that "
            "cost; switch one of the two off"
        )
        self._observers.warn("ranks", "RanksContested", message)


def _decode(data: bytes | msgspec.Raw) -> tuple[int | None, _Identity]:
    """Decode the rank of a pod, None if it is not live, and its identity."""
    ranked = _decode_pod(data).ranked
    return ranked.rank if ranked else None, _decode_identity(data).metadata
