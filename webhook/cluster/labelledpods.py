"""
The pods with the label of ``scaleDown: KeepSpread``, and the removal of their ranks.

``list_labelled_pods`` and ``remove_rank`` are the entry points, for a command that runs once, and
``convert_pod`` for pods of files. A server keeps such pods in ``cluster.pods``.
"""

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

import msgspec
from msgspec.structs import replace

from webhook.cluster import wire
from webhook.cluster.discovery import ResourcePath
from webhook.cluster.lists import list_pages, read_object
from webhook.cluster.protocol import (
    DECODE_ERRORS,
    MERGE_PATCH,
    NO_QUERY,
    ApiClient,
    Query,
    protocol_error,
    status_error,
)
from webhook.policy.model import LabelSelector, OwnerReference
from webhook.policy.nesting import decode_nested
from webhook.policy.scaledown.binding import RankedPod
from webhook.policy.scaledown.ranks import KEEP_SPREAD, SCALE_DOWN_LABEL
from webhook.policy.scaledown.removal import CostKind, classify_cost, plan_removal
from webhook.policy.selectors import matches

PODS = ResourcePath("/api/v1", "pods")
MOST_TRIES = 5  # of a patch that conflicts with another change, or that a busy API server refuses
BUSY_S = 1.0  # before another try, unless the API server requests a longer pause

_LABELLED: Query = {"labelSelector": f"{SCALE_DOWN_LABEL}={KEEP_SPREAD}"}
_TRANSIENT = {
    HTTPStatus.CONFLICT,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.SERVICE_UNAVAILABLE,
}


class LabelledMeta(msgspec.Struct, frozen=True, rename="camel"):
    """Metadata of a pod; the API server stores null for no annotations, or none."""

    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: tuple[OwnerReference, ...] | None = None


class LabelledPod(msgspec.Struct, frozen=True):
    """
    A pod of the cluster, with the label when it was read.

    Attributes:
        ranked: Its node and its rank; None if it has ended, or is being deleted.
    """

    metadata: LabelledMeta = LabelledMeta()
    ranked: RankedPod | None = None

    @property
    def is_labelled(self) -> bool:
        """Whether it has the label."""
        return (self.metadata.labels or {}).get(SCALE_DOWN_LABEL) == KEEP_SPREAD

    @property
    def cost(self) -> CostKind:
        """Kind of its deletion cost."""
        return classify_cost(self.metadata.annotations or {})

    @property
    def controller(self) -> OwnerReference:
        """The managing controller; an empty reference if there is none."""
        owners = self.metadata.owner_references or ()
        return next((owner for owner in owners if owner.controller), OwnerReference())


_decode_labelled = msgspec.json.Decoder(LabelledPod).decode
_decode_ranked = msgspec.json.Decoder(wire.PodObject).decode


def _decode(data: bytes | msgspec.Raw) -> LabelledPod:
    return replace(_decode_labelled(data), ranked=_decode_ranked(data).ranked)


def convert_pod(value: Any) -> LabelledPod:
    """
    Convert a pod of a file, which may lack the label.

    Raises:
        msgspec.ValidationError: A value has the wrong type.
    """
    pod = msgspec.convert(value, LabelledPod)
    return replace(pod, ranked=msgspec.convert(value, wire.PodObject).ranked)


async def list_labelled_pods(
    client: ApiClient, namespace: str, selector: LabelSelector
) -> list[LabelledPod]:
    """
    List the pods that have the label and that a selector selects, page by page.

    Args:
        namespace: Empty for all.

    Raises:
        ApiError: They cannot be listed.
    """
    pods: list[LabelledPod] = []
    async for page in list_pages(client, PODS.within(namespace).collection, _LABELLED):
        found = [_read(client, item) for item in page]
        pods += [pod for pod in found if matches(selector, pod.metadata.labels or {})]
    return pods


async def remove_rank(
    client: ApiClient, pod: LabelledPod, sleep: Callable[[float], Awaitable[object]]
) -> bool:
    """
    Remove the label of a pod, and its rank, unless the pod was changed since it was read.

    A changed pod is read and tried again, so that no deletion cost of another client is removed.

    Returns:
        False if the pod has gone, or has lost the label, meanwhile.

    Raises:
        ApiError: The API server refuses it, or gives no response; several times if it is busy.
    """
    path = PODS.item(pod.metadata.namespace, pod.metadata.name)
    current: LabelledPod | None = pod
    tries = MOST_TRIES
    while current is not None:
        body = msgspec.json.encode({"metadata": _patch(current)})
        response = await client.send("PATCH", path, NO_QUERY, body, MERGE_PATCH)
        if response.status in (HTTPStatus.OK, HTTPStatus.NOT_FOUND):
            return response.status == HTTPStatus.OK
        error = status_error(client.name, response.status, response.body, response.headers)
        tries -= 1
        if not tries or response.status not in _TRANSIENT:
            raise error
        if response.status != HTTPStatus.CONFLICT:
            await sleep(max(BUSY_S, error.retry_after))
        current = await _read_again(client, current)
    return False


def _patch(pod: LabelledPod) -> dict[str, object]:
    """Write the metadata of a patch; uid and resource version are preconditions."""
    identity = {"uid": pod.metadata.uid, "resourceVersion": pod.metadata.resource_version}
    return {**identity, **plan_removal(pod.cost)}


async def _read_again(client: ApiClient, pod: LabelledPod) -> LabelledPod | None:
    """Read a pod; None if it has gone, or no longer has the label."""
    stored = await read_object(client, PODS, pod.metadata.namespace, pod.metadata.name)
    current = None if stored is None else _read(client, stored)
    return current if current is not None and current.is_labelled else None


def _read(client: ApiClient, data: bytes | msgspec.Raw) -> LabelledPod:
    try:
        return decode_nested(_decode, data)
    except DECODE_ERRORS:
        raise protocol_error(client.name, "answered with no pod") from None
