"""The REST semantics of the fake API server, without faults and transports; see ``RestApi``."""

import copy
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any

import jsonpatch

from tests.apiserver.answers import (
    Json,
    Request,
    Stream,
    bookmark,
    encode,
    event,
    failure,
    refuse,
    respond,
)
from tests.apiserver.store import (
    KINDS,
    ObjectPath,
    ObjectStore,
    parse_path,
    path_of,
    plural_of,
    root_of,
    version_of,
)
from webhook.cluster.protocol import METADATA_LIST, Response

MERGE_PATCH = "application/merge-patch+json"
_STATUS = "/status"  # the only subresource, which can only be changed


class RestApi(ObjectStore):
    """
    Reads and writes objects, and answers discovery and access reviews.

    Attributes:
        version: Answer to ``GET /version``.
        kinds: API version -> kinds. Other resources do not exist.
        page_size: Most objects of a page, whatever the limit of the request.
        allows: Whether a ``SubjectAccessReview`` with this spec is allowed.
    """

    def __init__(self, *objects: Json) -> None:
        super().__init__()
        self.version = "v1.37.0"
        self.kinds = {version: list(kinds) for version, kinds in KINDS.items()}
        self.page_size: int | None = None
        self.allows: Callable[[Json], bool] = lambda _spec: True
        self._rests: dict[str, tuple[list[Json], int]] = {}
        self.add(*objects)

    def add(self, *objects: Json) -> None:
        """Add objects; a new kind is defined, as by a CustomResourceDefinition."""
        for obj in objects:
            self.define(version_of(obj), obj["kind"])
            self.put(path_of(obj), obj)

    def define(self, api_version: str, kind: str) -> None:
        """Define a kind, unless it is defined already."""
        kinds = self.kinds.setdefault(api_version, [])
        if kind not in kinds:
            kinds.append(kind)

    def compact(self) -> None:
        """Forget the history: older watches and the rests of lists fail with 410."""
        super().compact()
        self._rests.clear()

    def respond(self, request: Request) -> Response | Stream:
        """Answer a request from the objects."""
        if request.path.endswith("subjectaccessreviews"):
            status = {"allowed": self.allows(request.content["spec"])}
            return respond({**request.content, "status": status}, 201)
        found = self._discover(request.path)
        if found is not None:
            return respond(found)
        place = parse_path(_object_path(request))
        if place is None or place[:2] not in self._resources():
            return refuse("the server could not find the requested resource", 404)
        if place.name:
            return self._respond_for_object(request)
        if request.method == "POST":
            return self._create(request, place)
        return self._watch_or_list(request, place)

    def _discover(self, path: str) -> Json | None:
        if path == "/version":
            return {"gitVersion": self.version}
        if path == "/apis":
            return {"groups": _groups([version for version in self.kinds if "/" in version])}
        for version, kinds in self.kinds.items():
            if path == root_of(version):
                return {"resources": [{"name": plural_of(kind), "kind": kind} for kind in kinds]}
        return None

    def _resources(self) -> set[tuple[str, ...]]:
        return {
            (root_of(version), plural_of(kind))
            for version, kinds in self.kinds.items()
            for kind in kinds
        }

    def _respond_for_object(self, request: Request) -> Response:
        known = self.objects.get(_object_path(request))
        if known is None:
            return refuse("not found", 404)
        match request.method:
            case "GET":
                return respond(known)
            case "PUT":
                return self._replace(request.path, known, request.content)
            case "PATCH":
                return self._patch(request, known)
            case "DELETE":
                return self._delete(request, known)
            case method:
                return refuse(f"{method} is not supported", 405)

    def _create(self, request: Request, place: ObjectPath) -> Response:
        obj = request.content
        metadata = obj["metadata"]
        if "generateName" in metadata and "name" not in metadata:
            metadata = {**metadata, "name": f"{metadata['generateName']}{self.revision}"}
        path = f"{request.path}/{metadata['name']}"
        if path in self.objects:
            return refuse(f"{metadata['name']} already exists", 409)
        if request.query.get("dryRun"):
            return respond({**obj, "metadata": metadata}, 201)
        namespace = {"namespace": place.namespace} if place.namespace else {}
        return respond(self.put(path, {**obj, "metadata": {**metadata, **namespace}}), 201)

    def _replace(self, path: str, known: Json, obj: Json) -> Response:
        version = obj["metadata"].get("resourceVersion")
        if version not in (None, known["metadata"]["resourceVersion"]):
            return refuse("the object has been modified", 409)
        return respond(self.put(path, obj))

    def _patch(self, request: Request, known: Json) -> Response:
        if request.path.endswith(_STATUS):
            return self._patch_status(request, known)
        if request.content_type == MERGE_PATCH:
            return self._replace(request.path, known, merge(known, request.content))
        try:
            patched = jsonpatch.apply_patch(known, request.content)
        except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as error:
            return refuse(str(error), 422)
        return respond(self.put(request.path, patched))

    def _patch_status(self, request: Request, known: Json) -> Response:
        """Change the status of an object by a merge patch, if it is the one of its metadata."""
        wanted = request.content.get("metadata", {})
        if any(known["metadata"].get(name) != value for name, value in wanted.items()):
            return refuse("the object has been modified", 409)
        status = {"status": request.content["status"]}
        return respond(self.put(_object_path(request), merge(known, status)))

    def _delete(self, request: Request, known: Json) -> Response:
        wanted = (request.content or {}).get("preconditions", {})
        if any(known["metadata"].get(name) != value for name, value in wanted.items()):
            return refuse("the preconditions do not hold", 409)
        self.delete(request.path)
        return respond({"kind": "Status", "status": "Success"})

    def _watch_or_list(self, request: Request, place: ObjectPath) -> Response | Stream:
        if request.query.get("watch") in ("1", "true"):
            return Stream(self._watch(request.query, place))
        token = request.query.get("continue", "")
        if token and token not in self._rests:
            is_ours = all(part.isdecimal() for part in token.split("-"))
            return refuse("the continue token is invalid or has expired", 410 if is_ours else 400)
        if token:
            items, start = self._rests[token]
        else:
            items, start = list(select(self.select(place), request.query)), 0
        version = token.partition("-")[0] or str(self.revision)
        limit = int(request.query.get("limit", len(items)))
        end = start + min(self.page_size or limit, limit)
        metadata = {"resourceVersion": version, "continue": ""}
        if end < len(items):
            metadata["continue"] = f"{version}-{len(self._rests)}"
            self._rests[metadata["continue"]] = (items, end)
        found = items[start:end]
        if METADATA_LIST in (request.content_type, request.headers.get("Accept")):
            found = [{"metadata": item["metadata"]} for item in found]
        return respond({"metadata": metadata, "items": found})

    def pending_events(self, query: Mapping[str, str], place: ObjectPath) -> list[Json]:
        """Return the events that a watch sends at once."""
        if "sendInitialEvents" in query:
            added = [event("ADDED", obj) for obj in self.select(place)]
            return [*added, bookmark(self.revision, ends=True)]
        since = int(query.get("resourceVersion") or self.revision)
        if since < self.compacted:
            return [event("ERROR", failure(410, "too old resource version"))]
        return [change.event for change in self.history if change.is_of(place, since)]

    async def _watch(self, query: Mapping[str, str], place: ObjectPath) -> AsyncIterator[bytes]:
        since = self.revision
        for pending in self.pending_events(query, place):
            yield encode(pending) + b"\n"
            if pending["type"] == "ERROR":
                return
        while True:
            await self.wait_for_change(since)
            changes = [change for change in self.history if change.is_of(place, since)]
            since = self.revision
            for change in changes:
                yield encode(change.event) + b"\n"


def _object_path(request: Request) -> str:
    """Return the path of the object whose status a request changes, else that of the request."""
    return request.path.removesuffix(_STATUS) if request.method == "PATCH" else request.path


def _groups(versions: Iterable[str]) -> list[Json]:
    """Group API versions; the first one of a group is the preferred one."""
    groups: dict[str, list[Json]] = {}
    for version in versions:
        name, _, number = version.partition("/")
        groups.setdefault(name, []).append({"groupVersion": version, "version": number})
    return [
        {"name": name, "versions": found, "preferredVersion": found[0]}
        for name, found in groups.items()
    ]


def select(objects: Iterable[Json], query: Mapping[str, str]) -> Iterable[Json]:
    """Yield the objects that the label selector and the field selector of a query match."""
    labels = _pairs(query.get("labelSelector", ""))
    fields = _pairs(query.get("fieldSelector", ""))
    for obj in objects:
        found = obj["metadata"].get("labels") or {}
        if labels.items() <= found.items() and all(
            _member(obj, path) == value for path, value in fields.items()
        ):
            yield obj


def _pairs(selector: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in selector.split(",") if pair)


def _member(obj: Any, path: str) -> Any:
    for name in path.split("."):
        obj = obj.get(name, {})
    return obj


def merge(target: Any, patch: Any) -> Any:
    """Apply a JSON Merge Patch (RFC 7386)."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        merged[name] = merge(merged.get(name), value)
        if value is None:
            del merged[name]
    return merged
