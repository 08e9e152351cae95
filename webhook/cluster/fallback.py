"""
What a request needs and the caches lack: the owner of a pod, the labels of its Namespace.

A pod often comes milliseconds after its ReplicaSet, before the watch has brought that one. So on a
miss the object is asked for. What comes is used for this request and not put into a store: if the
watch has told of its deletion before the answer came, it would stay there for ever, and nobody but
a reflector writes a store. Nor is it remembered for the next request, which finds it in the cache.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from http import HTTPStatus
from typing import Any, NamedTuple, TypeAlias

import msgspec

from webhook.cluster import wire
from webhook.cluster.caches import Caches
from webhook.cluster.discovery import NAMESPACES_PATH, ObjectDecoder, ResourcePath
from webhook.cluster.protocol import ApiClient, read
from webhook.errors import ApiError
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.facts import Facts
from webhook.policy.model import LabelSelector, OwnerReference
from webhook.policy.nesting import decode_nested
from webhook.policy.request import AdmissionRequest

LOOKUP_TIMEOUT_S = 0.5  # seconds for one object; a healthy API server takes 5 ms
TIMEOUT_SHARE = 0.25  # of the request's time; judging takes none, but the way back does

# What a DNS subdomain may look like (RFC 1123); anything else would not exist, or be a path.
_is_name = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?").fullmatch

_decode_namespace = msgspec.json.Decoder(wire.NamespaceObject).decode


def _read_namespace(data: bytes | msgspec.Raw) -> wire.NamespaceObject:
    return decode_nested(_decode_namespace, data)


class LookupResult(StrEnum):
    """What became of a look-up; a label of ``evenspread_owner_lookups_total``."""

    FOUND = "found"
    ABSENT = "absent"
    FAILED = "failed"
    LATE = "late"


class _Answer(NamedTuple):
    """What one look-up gave; ``thing`` is None unless it was found."""

    result: LookupResult
    thing: Any = None


_Asking: TypeAlias = asyncio.Task[_Answer]


class OwnerFallback:
    """Fetches what single requests need; one look-up for all requests that need the same."""

    def __init__(self, caches: Caches, source: ApiClient, tell: Callable[[str], None]) -> None:
        """
        Start with nothing to fetch.

        Args:
            caches: What is known already.
            source: The API server.
            tell: Takes the result of each look-up that a request waited for.
        """
        self._caches = caches
        self._cluster = caches.cluster
        self._source = source
        self._tell = tell
        self._asking: dict[str, _Asking] = {}

    def fetch(
        self, asked: AdmissionRequest, policy: Policy, timeout_s: float
    ) -> Awaitable[Facts] | None:
        """
        Get what a request needs beyond the caches.

        Args:
            timeout_s: What the caller said it would wait, in seconds.

        Returns:
            The facts to judge by: in time, and without an error if nothing could be had. None if
            those of the caches do.

        Raises:
            NotSyncedError: The caches have not been filled yet.
        """
        self._caches.require()
        if not (asked.creates_pod and policy.profiles):
            return None
        owner = self._ask_owner(asked)
        labels = self._ask_labels(asked.namespace) if policy.needs_namespaces else None
        if owner is None and labels is None:
            return None
        return self._complete(owner, labels, min(LOOKUP_TIMEOUT_S, timeout_s * TIMEOUT_SHARE))

    async def close(self) -> None:
        """Give up what is still asked for."""
        tasks = list(self._asking.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ask_owner(self, asked: AdmissionRequest) -> _Asking | None:
        owner = asked.metadata.controller if asked.metadata else None
        if owner is None or self._cluster.owner_selector(asked.namespace, owner) is not None:
            return None
        reflector = self._caches.follows(owner)
        if reflector is None or reflector.place is None:
            return None
        return self._ask(reflector.resource.decode, reflector.place, asked.namespace, owner.name)

    def _ask_labels(self, namespace: str) -> _Asking | None:
        if self._cluster.namespace_labels(namespace) is not None:
            return None
        return self._ask(_read_namespace, NAMESPACES_PATH, "", namespace)

    def _ask(
        self, decode: ObjectDecoder, place: ResourcePath, namespace: str, name: str
    ) -> _Asking | None:
        if not _is_name(name) or (namespace and not _is_name(namespace)):
            return None
        path = place.item(namespace, name)
        task = self._asking.get(path)
        if task is None:
            task = self._asking[path] = asyncio.create_task(self._read(path, decode))
            task.add_done_callback(lambda _: self._asking.pop(path))
        return task

    async def _read(self, path: str, decode: ObjectDecoder) -> _Answer:
        try:
            async with asyncio.timeout(LOOKUP_TIMEOUT_S):
                body = await read(self._source, path)
            return _Answer(LookupResult.FOUND, decode(body))
        except TimeoutError:
            return _Answer(LookupResult.LATE)
        except ApiError as error:
            absent = error.status == HTTPStatus.NOT_FOUND
            return _Answer(LookupResult.ABSENT if absent else LookupResult.FAILED)
        except msgspec.MsgspecError:
            return _Answer(LookupResult.FAILED)

    async def _complete(
        self, owner: _Asking | None, labels: _Asking | None, wait_s: float
    ) -> Facts:
        await asyncio.wait([task for task in (owner, labels) if task is not None], timeout=wait_s)
        controller, namespace = self._answer(owner), self._answer(labels)
        return _Completed(
            self._cluster,
            controller.selector if controller else None,
            namespace.labels if namespace else None,
        )

    def _answer(self, task: _Asking | None) -> Any:
        if task is None:
            return None
        if task.cancelled():
            answer = _Answer(LookupResult.FAILED)
        else:
            answer = task.result() if task.done() else _Answer(LookupResult.LATE)
        self._tell(answer.result)
        return answer.thing


class _Completed:
    """The facts of a cluster, for a single request, with what the caches lack of it."""

    def __init__(
        self, cluster: Facts, selector: LabelSelector | None, labels: Mapping[str, str] | None
    ) -> None:
        self._cluster = cluster
        self._selector = selector
        self._labels = labels
        self.services = cluster.services
        self.schedulable_nodes = cluster.schedulable_nodes
        self.nodes_with = cluster.nodes_with
        self.domains = cluster.domains
        self.label_keys = cluster.label_keys
        self.tainted_domains = cluster.tainted_domains

    def owner_selector(self, namespace: str, owner: OwnerReference) -> LabelSelector | None:
        """Give the selector of the pod's owner, the only one that a request asks for."""
        known = self._cluster.owner_selector(namespace, owner)
        return self._selector if known is None else known

    def namespace_labels(self, namespace: str) -> Mapping[str, str] | None:
        """Give the labels of the pod's Namespace, the only one that a request asks for."""
        known = self._cluster.namespace_labels(namespace)
        return self._labels if known is None else known
