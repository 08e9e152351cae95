"""
The part of an API server that certificates need: one Secret, two webhook configurations.

Tests set its faults. It is a ``certs.api.ObjectClient``; ``over_http`` serves it on a port.
"""

import base64
import contextlib
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import EllipsisType
from typing import Any

import jsonpatch
from aiohttp import web
from cryptography import x509

from certs.inject import Hooks
from certs.pem import read_certificates, write_certificates
from certs.secret import SecretStore
from webhook.cluster.protocol import Response

SECRET = "/api/v1/namespaces/ns/secrets/ca"
MUTATING, VALIDATING = (
    f"/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations/web"
    for kind in ("mutating", "validating")
)


def dumped(content: object) -> bytes:
    return json.dumps(content).encode()


@dataclass
class Cluster:
    """
    Objects by path; each write counts up one resource version.

    ``faults`` are asked before each call: one that returns a status has it answered with that,
    one that raises breaks the connection.
    """

    clock: Callable[[], datetime]
    objects: dict[str, dict[str, Any]] = field(default_factory=dict)
    version: int = 0
    calls: list[tuple[str, str]] = field(default_factory=list)
    faults: list[Callable[[str, str], int | None]] = field(default_factory=list)
    ahead: timedelta = timedelta(0)
    date: str | EllipsisType | None = ...

    def __post_init__(self) -> None:
        self.put(SECRET, {"metadata": {"name": "ca"}, "type": "Opaque"})
        for path in (MUTATING, VALIDATING):
            hook = {"name": "one.web", "clientConfig": {"service": {"name": "web"}}}
            self.put(path, {"metadata": {"name": "web"}, "webhooks": [hook]})

    @property
    def secret(self) -> SecretStore:
        return SecretStore(self, "ns", "ca")

    @property
    def hooks(self) -> Hooks:
        return Hooks(self, "web")

    def put(self, path: str, content: dict[str, Any]) -> None:
        self.version += 1
        content["metadata"]["resourceVersion"] = str(self.version)
        self.objects[path] = content

    def bundle(self, path: str, number: int = 0) -> tuple[x509.Certificate, ...]:
        text = self.objects[path]["webhooks"][number]["clientConfig"].get("caBundle", "")
        return read_certificates(base64.b64decode(text)) if text else ()

    def set_bundle(self, path: str, *certificates: x509.Certificate, raw: str = "") -> None:
        text = base64.b64encode(write_certificates(certificates)).decode()
        self.objects[path]["webhooks"][0]["clientConfig"]["caBundle"] = raw or text
        self.put(path, self.objects[path])

    async def send(
        self, method: str, path: str, query: Mapping[str, str], body: bytes, content_type: str
    ) -> Response:
        assert not query
        return self.answer(method, path, content_type, json.loads(body or b"null"))

    def answer(self, method: str, path: str, content_type: str, body: Any) -> Response:
        self.calls.append((method, path))
        status = next(filter(None, (fault(method, path) for fault in self.faults)), None)
        status, content = (status, {}) if status else self.change(method, path, content_type, body)
        told = self.date
        if told is ...:
            told = format_datetime(self.clock().astimezone(UTC) + self.ahead, usegmt=True)
        return Response(status, dumped(content), {"date": (told,)} if told is not None else {})

    def change(
        self, method: str, path: str, content_type: str, body: Any
    ) -> tuple[int, dict[str, Any]]:
        found = self.objects.get(path)
        if found is None:
            return 404, {}
        if method == "GET":
            return 200, found
        if content_type == "application/merge-patch+json":
            changed = json.loads(json.dumps(found))
            changed["metadata"].setdefault("annotations", {}).update(
                body["metadata"]["annotations"]
            )
        else:
            try:
                changed = jsonpatch.apply_patch(found, body)
            except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException):
                return 422, {"kind": "Status", "reason": "Invalid"}
        self.put(path, changed)
        return 200, changed

    @contextlib.asynccontextmanager
    async def over_http(self) -> AsyncGenerator[str]:
        """Serve it on a real port; gives the URL."""

        async def serve(request: web.Request) -> web.Response:
            body = json.loads(await request.read() or "null")
            answer = self.answer(request.method, request.path, request.content_type, body)
            return web.Response(
                status=answer.status,
                body=answer.body,
                headers={name: value for name, (value,) in answer.headers.items()},
                content_type="application/json",
            )

        app = web.Application()
        app.router.add_route("*", "/{path:.*}", serve)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        try:
            yield f"http://{host}:{port}"
        finally:
            await runner.cleanup()
