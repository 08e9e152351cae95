"""
A client of the Kubernetes API that adds nothing to it: JSON in, JSON out.

Not the product's client (webhook/cluster/client), so that a test does not check one with itself.
It blocks; in a coroutine wrap a call in ``asyncio.to_thread``, or a webhook served by the same
event loop cannot answer. Safe to share between threads.
"""

import http.client
import json
import select
import socket
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlencode

Json: TypeAlias = dict[str, Any]
"""An object of the API as decoded JSON."""

LONGEST_CALL_S = 90.0  # the API server gives up after 60 s, and may stand still itself

PATCH = "application/strategic-merge-patch+json"  # what kubectl sends for built-in kinds


class ApiError(Exception):
    """
    The API server answered with a status of 400 or more.

    Attributes:
        status: HTTP status.
        body: The Status object: ``reason``, ``message``, ``details.causes``.
    """

    def __init__(self, status: int, body: Json) -> None:
        super().__init__(f"{status} {body.get('reason')}: {body.get('message')}")
        self.status = status
        self.body = body


@dataclass(frozen=True, slots=True)
class Reply:
    """
    One answer.

    Attributes:
        status: HTTP status.
        body: Decoded JSON; for other content its text under ``text``.
        warnings: Texts of the ``Warning`` headers, in their order.
    """

    status: int
    body: Json
    warnings: tuple[str, ...] = ()


class Api:
    """
    The API server at one URL, for one user.

    Args:
        port: Of 127.0.0.1.
        ca: File with the certificate to trust, PEM.
        token: Bearer token of the user.
    """

    def __init__(self, *, port: int, ca: Path, token: str) -> None:
        self.url = f"https://127.0.0.1:{port}"
        self.token = token
        self._port = port
        self._tls = ssl.create_default_context(cafile=str(ca))
        self._local = threading.local()  # http.client connections are for one thread each
        self._connections: list[http.client.HTTPSConnection] = []
        self._plurals: dict[tuple[str, str], tuple[str, bool]] = {}

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Reply:
        """
        One request, whatever its answer.

        Args:
            body: Sent as JSON; bytes are sent as they are.

        Raises:
            OSError, http.client.HTTPException: There was no answer. Nothing is sent twice, so a
                test that counts knows what it sent.
        """
        target = f"{path}?{urlencode(query)}" if query else path
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json"}
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        if data is not None:
            headers["Content-Type"] = content_type
        connection = self._connection()
        try:
            connection.request(method, target, data, headers)
            answer = connection.getresponse()
            content = answer.read()
        except BaseException:
            connection.close()
            raise
        return Reply(answer.status, _decoded(content), _warnings(answer.msg.get_all("Warning", [])))

    def call(self, method: str, path: str, body: object = None, **query: str) -> Json:
        """
        One request whose answer must be below 400; returns its body.

        Raises:
            ApiError: It was not.
        """
        kind = PATCH if method == "PATCH" else "application/json"
        reply = self.request(method, path, body, query=query, content_type=kind)
        if reply.status >= http.client.BAD_REQUEST:
            raise ApiError(reply.status, reply.body)
        return reply.body

    def create(self, obj: Json, **query: str) -> Json:
        """Create an object; returns it as stored. May raise ApiError, as all below."""
        return self.call("POST", self.collection_of(obj), obj, **query)

    def read(self, obj: Json) -> Json:
        """The stored object of the same kind, namespace and name."""
        return self.call("GET", self.path_of(obj))

    def replace(self, obj: Json, **query: str) -> Json:
        """Update an object as a whole."""
        return self.call("PUT", self.path_of(obj), obj, **query)

    def merge(self, obj: Json, changes: Json, *, subresource: str = "", **query: str) -> Json:
        """
        Patch an object with a strategic merge patch; built-in kinds only.

        Args:
            obj: Its kind, namespace and name are used.
            changes: The patch.
            subresource: Such as ``/status``; empty for the object itself.
        """
        return self.call("PATCH", self.path_of(obj) + subresource, changes, **query)

    def delete(self, obj: Json, *, grace_s: int = 0) -> None:
        """
        Delete an object; gone is fine too.

        Args:
            obj: Its kind, namespace and name are used.
            grace_s: Grace period; without a kubelet a bound pod with one is never removed.
        """
        options = {"gracePeriodSeconds": grace_s, "propagationPolicy": "Background"}
        reply = self.request("DELETE", self.path_of(obj), options)
        if reply.status >= http.client.BAD_REQUEST and reply.status != http.client.NOT_FOUND:
            raise ApiError(reply.status, reply.body)

    def items(self, version: str, kind: str, namespace: str = "", **query: str) -> list[Json]:
        """Objects of a kind, of one namespace or (empty) all; ``labelSelector="a=b"`` and such."""
        listed = self.call("GET", self.collection(version, kind, namespace), **query)["items"]
        return [{"apiVersion": version, "kind": kind, **item} for item in listed]  # left out there

    def path_of(self, obj: Json) -> str:
        """Path of an object; one of a namespaced kind without a namespace is in ``default``."""
        return f"{self.collection_of(obj)}/{obj['metadata']['name']}"

    def collection_of(self, obj: Json) -> str:
        """Path of the collection that an object is in."""
        namespace = obj["metadata"].get("namespace", "default")
        return self.collection(obj["apiVersion"], obj["kind"], namespace)

    def collection(self, version: str, kind: str, namespace: str = "") -> str:
        """
        Path of the objects of a kind.

        The plural comes from discovery, so that custom kinds work as well.

        Args:
            version: ``v1`` or ``apps/v1``.
            kind: Such as ``Pod``.
            namespace: Empty: of all namespaces; ignored if the kind is not in namespaces.
        """
        plural, namespaced = self._resource(version, kind)
        inside = f"/namespaces/{namespace}" if namespaced and namespace else ""
        return f"{_root(version)}{inside}/{plural}"

    def is_served(self, path: str) -> bool:
        """
        Whether a custom kind can be listed and is discovered, which may come a moment later.

        Args:
            path: Of the objects of all namespaces, such as ``/apis/example.com/v1/fleets``.
        """
        version, _, plural = path.rpartition("/")
        discovered = self.request("GET", version)
        resources = discovered.body["resources"] if discovered.status == http.client.OK else ()
        is_discovered = any(resource["name"] == plural for resource in resources)
        return is_discovered and self.request("GET", path).status == http.client.OK

    def close(self) -> None:
        """Close the connections of all threads."""
        for connection in self._connections:
            connection.close()

    def _resource(self, version: str, kind: str) -> tuple[str, bool]:
        """Plural of a kind, and whether its objects are in namespaces."""
        if (version, kind) not in self._plurals:
            for resource in self.call("GET", _root(version))["resources"]:
                if "/" not in resource["name"]:  # subresources carry the kind of their body
                    key = (version, resource["kind"])
                    self._plurals[key] = (resource["name"], resource["namespaced"])
        return self._plurals[version, kind]

    def _connection(self) -> http.client.HTTPSConnection:
        kept: http.client.HTTPSConnection | None = getattr(self._local, "connection", None)
        if kept is None:
            kept = http.client.HTTPSConnection(
                "127.0.0.1", self._port, timeout=LONGEST_CALL_S, context=self._tls
            )
            self._local.connection = kept
            self._connections.append(kept)
        elif kept.sock is not None and _readable(kept.sock):
            kept.close()  # the server has gone meanwhile; the next request connects anew
        return kept


def _root(version: str) -> str:
    return f"/apis/{version}" if "/" in version else f"/api/{version}"


def _readable(idle: socket.socket) -> bool:
    """Whether something came on a connection on which nothing is due: its end, as a rule."""
    poll = select.poll()  # select.select() fails for file descriptors over 1023
    poll.register(idle, select.POLLIN)
    return bool(poll.poll(0))


def _decoded(content: bytes) -> Json:
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):  # no JSON, or nested deeper than this decoder reads
        return {"text": content.decode(errors="replace")}
    return body if isinstance(body, dict) else {"text": content.decode()}


def _warnings(headers: list[str]) -> tuple[str, ...]:
    """The texts of ``299 - "text"`` headers (RFC 7234 section 5.5), quotes and escapes undone."""
    texts = (header.split(" ", 2)[2] for header in headers)
    return tuple(text[1:-1].replace('\\"', '"').replace("\\\\", "\\") for text in texts)
