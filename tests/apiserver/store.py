"""Objects of the fake API server: their paths, resource versions and history."""

import asyncio
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple
from urllib.parse import quote, unquote

from tests.apiserver.answers import Json, event

KINDS: Mapping[str, tuple[str, ...]] = {
    "v1": (
        "ConfigMap", "Event", "Namespace", "Node", "Pod", "PodTemplate", "ReplicationController",
        "Secret", "Service",
    ),
    "apps/v1": ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"),
    "batch/v1": ("CronJob", "Job"),
    "autoscaling/v1": ("HorizontalPodAutoscaler",),
    "storage.k8s.io/v1": ("StorageClass",),
    "node.k8s.io/v1": ("RuntimeClass",),
    "policy/v1": ("PodDisruptionBudget",),
    "discovery.k8s.io/v1": ("EndpointSlice",),
    "coordination.k8s.io/v1": ("Lease",),
    "admissionregistration.k8s.io/v1": (
        "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
        "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
        "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
    ),
}  # fmt: skip
"""API version -> the built-in kinds that tests use."""

_PATH = re.compile(
    r"(?P<root>/api/[^/]+|/apis/[^/]+/[^/]+)(?:/namespaces/(?P<namespace>[^/]+)(?=/))?"
    r"/(?P<plural>[^/]+)(?:/(?P<name>[^/]+))?"
)


class ObjectPath(NamedTuple):
    """The parts of the path of an object, or of a collection if the name is empty."""

    root: str
    plural: str
    namespace: str
    name: str

    @property
    def key(self) -> str:
        """The key that etcd orders objects of a kind by."""
        return f"{self.namespace}/{self.name}"

    def is_in(self, collection: "ObjectPath") -> bool:
        """Whether the object belongs to a collection."""
        same_namespace = collection.namespace in ("", self.namespace)
        return self[:2] == collection[:2] and same_namespace


@cache
def parse_path(path: str) -> ObjectPath | None:
    """Parse the path of an object or a collection; None if it is neither."""
    found = _PATH.fullmatch(path)
    if found is None:
        return None
    root, namespace, plural, name = (unquote(part or "") for part in found.groups())
    return ObjectPath(root, plural, namespace, name)


def root_of(api_version: str) -> str:
    """Build the path of an API version."""
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def plural_of(kind: str) -> str:
    """Build the resource name of a kind."""
    name = kind.lower()
    if name.endswith("cy"):
        return f"{name[:-1]}ies"
    return f"{name}es" if name.endswith("s") else f"{name}s"


def version_of(obj: Json) -> str:
    """Return the API version of an object; items of lists leave out those of built-in kinds."""
    if "apiVersion" in obj:
        return str(obj["apiVersion"])
    return next(version for version, kinds in KINDS.items() if obj["kind"] in kinds)


def path_of(obj: Json) -> str:
    """Build the path of an object from its kind, namespace and name."""
    metadata = obj["metadata"]
    namespace = quote(metadata.get("namespace", ""), safe="")
    folder = f"/namespaces/{namespace}" if namespace else ""
    name = quote(metadata["name"], safe="")
    return f"{root_of(version_of(obj))}{folder}/{plural_of(obj['kind'])}/{name}"


class Change(NamedTuple):
    """A write, as watches report it."""

    revision: int
    place: ObjectPath | None
    event: Json

    def is_of(self, collection: ObjectPath, since: int) -> bool:
        """Whether a watch of a collection reports it after a resource version."""
        in_collection = self.place is not None and self.place.is_in(collection)
        return in_collection and self.revision > since


class ObjectStore:
    """
    Objects by path; each write gets the next resource version.

    Attributes:
        objects: Path -> object. A test may change an object in place; watches miss such a change.
        revision: The last resource version.
        history: All changes, in order.
        compacted: Watches cannot start before this resource version.
    """

    def __init__(self) -> None:
        self.objects: dict[str, Json] = {}
        self.revision = 1
        self.history: list[Change] = []
        self.compacted = 0
        self._watchers: set[asyncio.Event] = set()

    def put(self, path: str, obj: Json) -> Json:
        """Create or replace an object, whatever its resource version."""
        known = self.objects.get(path)
        uid = known["metadata"].get("uid") if known else f"uid-{self.revision + 1}"
        stored = {**obj, "metadata": {**obj.get("metadata", {}), "uid": uid}}
        self.objects[path] = stored
        self._record("MODIFIED" if known else "ADDED", path, stored)
        return stored

    def delete(self, path: str) -> Json:
        """Delete an object and return its last state."""
        deleted = self.objects.pop(path)
        deleted = {**deleted, "metadata": {**deleted["metadata"]}}
        self._record("DELETED", path, deleted)
        return deleted

    def select(self, collection: ObjectPath) -> Iterator[Json]:
        """Yield the objects of a collection in the order of their keys."""
        found = [
            (place.key, path)
            for path in self.objects
            if (place := parse_path(path)) and place.is_in(collection)
        ]
        for _, path in sorted(found):
            yield self.objects[path]

    def compact(self) -> None:
        """Forget the history: a watch from an older resource version fails with 410."""
        self.compacted = self.revision

    async def wait_for_change(self, since: int) -> None:
        """Wait until there is a change after a resource version."""
        changed = asyncio.Event()
        self._watchers.add(changed)
        try:
            while self.revision <= since:
                await changed.wait()
                changed.clear()
        finally:
            self._watchers.discard(changed)

    def _record(self, kind: str, path: str, obj: Json) -> None:
        self.revision += 1
        obj["metadata"]["resourceVersion"] = str(self.revision)
        self.history.append(Change(self.revision, parse_path(path), event(kind, obj)))
        for changed in self._watchers:
            changed.set()
