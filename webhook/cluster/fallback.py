"""
Look up what the caches lack for one request: the owner of a pod, the labels of its Namespace.

A pod is often created milliseconds after its ReplicaSet, before the watch delivers the ReplicaSet.
``OwnerFallback.fetch`` then reads the object from the API server, for this request only. It never
writes a store: if the watch has already reported the deletion of the object, the stale copy would
stay there forever. ``Misses`` limits the lookups of objects that do not exist, ``LOOKUPS`` those in
flight; a request beyond a limit is decided like one whose lookup finds nothing.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from http import HTTPStatus
from typing import Any, TypeAlias

from webhook.cluster.caches import Caches
from webhook.cluster.discovery import ObjectDecoder
from webhook.cluster.facts import VersionKind
from webhook.cluster.misses import Misses
from webhook.cluster.protocol import DECODE_ERRORS, ApiClient, read
from webhook.errors import ApiError
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.facts import DerivedFacts, Facts
from webhook.policy.model import LabelSelector, OwnerReference
from webhook.policy.request import AdmissionRequest

LOOKUP_TIMEOUT_S = 0.5  # for one object; a healthy API server takes 5 ms
TIMEOUT_SHARE = 0.25  # of the request's timeout; the rest is for the response
LOOKUPS = 200  # in flight; half of the 400 reads that an API server executes at once by default
NAMESPACE_LOOKUPS = 100  # in flight for one namespace, which leaves as many to all others

# DNS subdomains (RFC 1123); any other name cannot exist, and could change the path.
_is_name = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?").fullmatch


class LookupResult(StrEnum):
    """Result of a lookup; label of ``evenspread_owner_lookups_total``."""

    FOUND = "found"
    ABSENT = "absent"
    FAILED = "failed"
    LATE = "late"
    SKIPPED = "skipped"


_Lookup: TypeAlias = asyncio.Task[tuple[LookupResult, Any]]
"""Returns the result and the object; None unless it was found."""


class OwnerFallback:
    """Looks up missing objects; concurrent requests for the same object share one lookup."""

    def __init__(
        self,
        caches: Caches,
        source: ApiClient,
        report: Callable[[str], None],
        clock: Callable[[], float],
    ) -> None:
        """Create a fallback; ``report`` receives the result of each lookup that a request needs."""
        self._caches = caches
        self._cluster = caches.cluster
        self._source = source
        self._report = report
        self._misses = Misses(clock)
        self._lookups: dict[tuple[str, str], _Lookup] = {}  # by namespace and path

    def fetch(
        self, request: AdmissionRequest, policy: Policy, timeout_s: float
    ) -> Awaitable[Facts] | None:
        """
        Complete the facts of the caches for a request with a timeout.

        Returns:
            Facts for the verdict, in time and without errors, even if no lookup succeeds. None if
            the caches have everything.

        Raises:
            NotSyncedError: The caches are not filled yet.
        """
        self._caches.require()
        if not policy.profiles:
            return None
        owner = None
        if request.creates_pod:
            owner = self._find_owner(request)
        elif request.template is None or not policy.has_profile_rules:
            return None
        labels = self._find_labels(request.namespace) if policy.needs_namespaces else None
        if owner is None and labels is None:
            return None
        return self._complete(owner, labels, min(LOOKUP_TIMEOUT_S, timeout_s * TIMEOUT_SHARE))

    async def close(self) -> None:
        """Cancel all lookups."""
        tasks = list(self._lookups.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _find_owner(self, request: AdmissionRequest) -> _Lookup | None:
        owner = request.metadata.controller if request.metadata else None
        if owner is None:
            return None
        store = self._cluster.owner_store(owner.api_version, owner.kind)
        if store is None or store.selector(request.namespace, owner.name) is not None:
            return None
        return self._look_up((owner.api_version, owner.kind), request.namespace, owner.name)

    def _find_labels(self, namespace: str) -> _Lookup | None:
        if self._cluster.namespace_labels(namespace) is not None:
            return None
        return self._look_up(("v1", "Namespace"), "", namespace)

    def _look_up(self, kind: VersionKind, namespace: str, name: str) -> _Lookup | None:
        reflector = self._caches.find_reflector(*kind)
        if reflector is None or reflector.place is None:
            return None
        if not _is_name(name) or (namespace and not _is_name(namespace)):
            return None
        space, path = namespace or name, reflector.place.item(namespace, name)
        key = (space, path)
        task = self._lookups.get(key)
        if task is None:
            if not (self._has_capacity(space) and self._misses.admit(space, path)):
                self._report(LookupResult.SKIPPED)
                return None
            task = asyncio.create_task(self._read(space, path, reflector.resource.decode))
            self._lookups[key] = task
            task.add_done_callback(lambda _: self._lookups.pop(key))
        return task

    def _has_capacity(self, namespace: str) -> bool:
        own = sum(space == namespace for space, _ in self._lookups)
        return len(self._lookups) < LOOKUPS and own < NAMESPACE_LOOKUPS

    async def _read(
        self, namespace: str, path: str, decode: ObjectDecoder
    ) -> tuple[LookupResult, Any]:
        try:
            async with asyncio.timeout(LOOKUP_TIMEOUT_S):
                body = await read(self._source, path)
            return LookupResult.FOUND, decode(body)
        except TimeoutError:
            return LookupResult.LATE, None
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                return LookupResult.FAILED, None
            result = LookupResult.ABSENT
        except DECODE_ERRORS:  # the next lookup would read, and not decode, the same object
            result = LookupResult.FAILED
        self._misses.record(namespace, path)
        return result, None

    async def _complete(
        self, owner: _Lookup | None, labels: _Lookup | None, wait_s: float
    ) -> Facts:
        await asyncio.wait([task for task in (owner, labels) if task is not None], timeout=wait_s)
        controller, namespace = self._take_object(owner), self._take_object(labels)
        return _CompletedFacts(
            self._cluster,
            controller.selector if controller else None,
            namespace.labels if namespace else None,
        )

    def _take_object(self, task: _Lookup | None) -> Any:
        """Return the object that a lookup found, and report the result."""
        if task is None:
            return None
        result, found = LookupResult.LATE, None
        if task.done():
            result, found = (LookupResult.FAILED, None) if task.cancelled() else task.result()
        self._report(result)
        return found


class _CompletedFacts(DerivedFacts):
    """Facts of a cluster for one request, completed by lookups."""

    def __init__(
        self, cluster: Facts, selector: LabelSelector | None, labels: Mapping[str, str] | None
    ) -> None:
        super().__init__(cluster)
        self._selector = selector
        self._labels = labels

    def owner_selector(self, namespace: str, owner: OwnerReference, /) -> LabelSelector | None:
        """Return the selector of the pod's owner, the only owner that a request needs."""
        known = super().owner_selector(namespace, owner)
        return self._selector if known is None else known

    def namespace_labels(self, namespace: str, /) -> Mapping[str, str] | None:
        """Return the labels of the pod's Namespace, the only one that a request needs."""
        known = super().namespace_labels(namespace)
        return self._labels if known is None else known
