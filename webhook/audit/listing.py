"""
A cluster gathered into a snapshot, page by page, from its API server.

Lists are read once and not watched: an audit is about a moment. Kinds that may not be listed are
problems, and the rest is still read.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

import msgspec

from webhook.audit.gathering import pod, without_noise, workload_of
from webhook.audit.snapshot import Owner, Snapshot, Workload
from webhook.cluster import wire
from webhook.cluster.discovery import locate
from webhook.cluster.lookup import BUILT_IN_OWNERS
from webhook.cluster.resources import Place, Resource, custom_decoder
from webhook.cluster.source import Reason, Source
from webhook.cluster.store import NamespaceStore
from webhook.config import OwnerSelector
from webhook.errors import ApiError, ExpiredError, SourceError
from webhook.policy.advice.subject import read
from webhook.policy.model import GroupKind, group_of
from webhook.policy.workloads import TemplatePath

PAGE = 500  # objects: what kubectl asks for at a time
TRIES = 3  # lists that are begun anew, since their resource version was forgotten meanwhile

Told: TypeAlias = Callable[[str, int], None]
"""Is told a kind and how many of its objects were read so far."""

_SELECTOR: TemplatePath = ("spec", "selector")
_USELESS = frozenset({Reason.UNREACHABLE, Reason.CREDENTIALS, Reason.UNAUTHORIZED, Reason.SILENT})


class Listed(NamedTuple):
    """
    A kind, and where its objects are.

    Attributes:
        namespaced: Whether its objects are in namespaces.
    """

    api_version: str
    kind: str
    plural: str
    namespaced: bool = True

    @property
    def group_kind(self) -> GroupKind:
        """The kind, whatever its version."""
        return GroupKind(group_of(self.api_version), self.kind)

    def path(self, namespace: str) -> str:
        """The path of all objects, or of those in a namespace."""
        root = f"/apis/{self.api_version}" if "/" in self.api_version else "/api/v1"
        inside = f"/namespaces/{namespace}" if namespace and self.namespaced else ""
        return f"{root}{inside}/{self.plural}"


BUILT_IN: tuple[Listed, ...] = (
    Listed("v1", "Node", "nodes", namespaced=False),
    Listed("v1", "Namespace", "namespaces", namespaced=False),
    Listed("v1", "Service", "services"),
    Listed("v1", "ReplicationController", "replicationcontrollers"),
    Listed("apps/v1", "Deployment", "deployments"),
    Listed("apps/v1", "ReplicaSet", "replicasets"),
    Listed("apps/v1", "StatefulSet", "statefulsets"),
    Listed("apps/v1", "DaemonSet", "daemonsets"),
    Listed("batch/v1", "CronJob", "cronjobs"),
    Listed("batch/v1", "Job", "jobs"),
    Listed("v1", "Pod", "pods"),
)
"""What is listed in every cluster; pods last, so that hardly one is older than its controller."""


class _PageMeta(msgspec.Struct, frozen=True):
    token: str | None = msgspec.field(default=None, name="continue")


class _Page(msgspec.Struct, frozen=True):
    metadata: _PageMeta = _PageMeta()
    items: tuple[msgspec.Raw, ...] | None = None


_decode_page = msgspec.json.Decoder(_Page).decode


class Listing:
    """
    A snapshot that grows list by list.

    Attributes:
        snapshot: What was listed so far.
        problems: Kinds that could not be listed, and objects that could not be read.
    """

    def __init__(
        self,
        source: Source,
        templates: Mapping[GroupKind, TemplatePath],
        owners: Iterable[OwnerSelector],
    ) -> None:
        """
        Ask nothing yet.

        Args:
            source: The API server.
            templates: Where each kind with a pod template holds it.
            owners: Custom controllers whose selectors are asked for.
        """
        self.snapshot = Snapshot()
        self.problems: list[SourceError] = []
        self._source = source
        self._templates = templates
        selectors = {each.kind: each.path for each in owners}
        self._selectors = {kind: custom_decoder(path) for kind, path in selectors.items()}
        self._built_in_selector = custom_decoder(_SELECTOR)

    async def read(self, namespace: str = "", told: Told = lambda _kind, _number: None) -> None:
        """
        List everything.

        Args:
            namespace: The only one whose objects are asked for; empty for all.
            told: Is told how far that is.

        Raises:
            ApiError: The API server cannot be reached at all.
        """
        for listed in BUILT_IN:
            await self._read(listed, namespace, told)
        for kind in self._customs():
            try:
                place = await locate(self._source, _resource(kind))
            except ApiError as error:
                self.problems.append(error)
                continue
            if place is not None:
                version = place.root.removeprefix("/apis/")
                await self._read(Listed(version, kind.kind, place.plural), namespace, told)

    def _customs(self) -> Iterator[GroupKind]:
        known = {each.group_kind for each in BUILT_IN} | {GroupKind("", "PodTemplate")}
        yield from sorted((self._templates.keys() | self._selectors.keys()) - known)

    async def _read(self, listed: Listed, namespace: str, told: Told) -> None:
        try:
            items = await self._list(listed, namespace, told)
        except ApiError as error:
            if error.reason in _USELESS:
                raise
            self.problems.append(error)
            return
        for item in items:
            try:
                self._put(listed, item)
            except msgspec.DecodeError as error:
                self.problems.append(SourceError(listed.path(namespace), str(error)))

    async def _list(self, listed: Listed, namespace: str, told: Told) -> list[msgspec.Raw]:
        for attempt in range(1, TRIES + 1):
            try:
                return await self._pages(listed, namespace, told)
            except ExpiredError:
                if attempt == TRIES:
                    raise
        raise AssertionError("the last try returns or raises")

    async def _pages(self, listed: Listed, namespace: str, told: Told) -> list[msgspec.Raw]:
        items: list[msgspec.Raw] = []
        token: str | None = ""
        while token is not None:
            query = {"limit": str(PAGE), **({"continue": token} if token else {})}
            body = await self._source.read(listed.path(namespace), query)
            try:
                page = _decode_page(body)
            except msgspec.MsgspecError:
                problem = f"answered with no list of {listed.plural}"
                raise ApiError(self._source.name, problem, Reason.GARBAGE) from None
            items += [each.copy() for each in page.items or ()]
            told(listed.kind, len(items))
            token = page.metadata.token or None
        return items

    def _put(self, listed: Listed, item: msgspec.Raw) -> None:
        snapshot, kind = self.snapshot, listed.group_kind
        match listed.api_version, listed.kind:
            case "v1", "Node":
                snapshot.nodes.append(msgspec.json.decode(item, type=wire.Node))
            case "v1", "Namespace":
                snapshot.namespaces.append(msgspec.json.decode(item, type=wire.Namespace))
            case "v1", "Service":
                snapshot.services.append(msgspec.json.decode(item, type=wire.Service))
            case "v1", "Pod":
                found = pod(item)
                snapshot.pods.append(found)
                if found.metadata is None or found.metadata.controller is None:
                    snapshot.workloads.append(workload_of(found))
            case _:
                self._put_workload(listed, kind, item)

    def _put_workload(self, listed: Listed, kind: GroupKind, item: msgspec.Raw) -> None:
        path = self._templates.get(kind)
        subject = read(item, kind, path) if path is not None else None
        if subject is not None:
            self.snapshot.workloads.append(
                Workload(api_version=listed.api_version, subject=without_noise(subject))
            )
        owner = self._owner(listed, kind, item)
        if owner is not None:
            self.snapshot.owners.append(
                Owner(
                    api_version=listed.api_version,
                    kind=listed.kind,
                    namespace=owner.namespace,
                    name=owner.name,
                    selector=owner.selector,
                )
            )

    def _owner(self, listed: Listed, kind: GroupKind, item: msgspec.Raw) -> Any:
        if listed.kind == "ReplicationController":
            return msgspec.json.decode(item, type=wire.ReplicationController)
        if (listed.api_version, listed.kind) in BUILT_IN_OWNERS:
            return self._built_in_selector(item)
        decode = self._selectors.get(kind)
        return decode(item) if decode else None


def _resource(kind: GroupKind) -> Resource:
    """A custom kind as discovery asks for it; what its store would be is of no account."""
    return Resource(str(kind), NamespaceStore(), _no_object, None, kind)


def _no_object(_data: bytes | msgspec.Raw) -> Place | None:
    return None
