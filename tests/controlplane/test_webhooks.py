"""Webhooks are really called, by URL and by Service, as soon as settle() returns."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import trustme
from aiohttp import web

from tests.controlplane import webhooks
from tests.controlplane.api import Json
from tests.controlplane.plane import ControlPlane
from tests.listener import listening_app


@dataclass
class Hook:
    """A server of one webhook that allows everything, and records the reviews."""

    ca_bundle: str
    port: int = 0
    reviews: list[Json] = field(default_factory=list[Json])

    @property
    def names(self) -> list[str]:
        return [review["request"]["name"] for review in self.reviews]

    async def answer(self, request: web.Request) -> web.Response:
        review: Json = await request.json()
        self.reviews.append(review)
        response = {"uid": review["request"]["uid"], "allowed": True, "warnings": ["was called"]}
        kind = {"apiVersion": review["apiVersion"], "kind": review["kind"]}
        return web.json_response({**kind, "response": response})


@pytest.fixture
async def hook() -> AsyncIterator[Hook]:
    authority = trustme.CA()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", "hook.hooks.svc").configure_cert(tls)
    hook = Hook(base64.b64encode(authority.cert_pem.bytes()).decode())
    app = web.Application()
    app.router.add_post("/validate", hook.answer)
    async with listening_app(app, tls) as hook.port:
        yield hook


def configuration(name: str) -> Json:
    """As a chart renders it: by service reference, without a caBundle."""
    service: dict[str, Any] = {"name": "hook", "namespace": "hooks", "path": "/validate"}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
    return {
        "apiVersion": webhooks.VERSION,
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [
            {
                "name": f"{name}.evenspread.test",
                "clientConfig": {"service": service},
                "rules": [{**rule, "operations": ["CREATE"]}],
                "objectSelector": {"matchLabels": {"hook": name}},
                "failurePolicy": "Fail",
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
            }
        ],
    }


def labelled(name: str, hook: str) -> Json:
    metadata = {"name": name, "namespace": "default", "labels": {"hook": hook}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def created_under(plane: ControlPlane, configuration: Json) -> tuple[str, ...]:
    """Warnings for an object created as soon as a configuration is in force, then removed."""
    name = configuration["metadata"]["name"]
    plane.api.create(configuration)
    try:
        webhooks.settle(plane.api)
        obj = labelled(name, name)
        reply = plane.api.request("POST", plane.api.collection_of(obj), obj)
        assert reply.status == 201, reply.body
        return reply.warnings
    finally:
        plane.api.delete(configuration)
        webhooks.settle(plane.api)


async def test_a_webhook_is_called_by_url(control_plane: ControlPlane, hook: Hook) -> None:
    url = f"https://127.0.0.1:{hook.port}"
    by_url = webhooks.by_url(configuration("by-url"), url, hook.ca_bundle)

    warnings = await asyncio.to_thread(created_under, control_plane, by_url)

    assert warnings == ("was called",)
    assert hook.names == ["by-url"]


async def test_a_webhook_is_called_by_its_service(control_plane: ControlPlane, hook: Hook) -> None:
    def register() -> tuple[str, ...]:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "hooks"}}
        service: Json = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "hook", "namespace": "hooks"},
            "spec": {"selector": {"app": "hook"}, "ports": [{"port": 443}]},
        }
        control_plane.api.create(namespace)
        control_plane.api.create(webhooks.external_name(service))
        by_service = webhooks.by_service(configuration("by-service"), hook.port, hook.ca_bundle)
        return created_under(control_plane, by_service)

    warnings = await asyncio.to_thread(register)

    assert warnings == ("was called",)
    assert hook.names == ["by-service"]


async def test_a_deleted_webhook_is_not_called_after_settling(
    control_plane: ControlPlane, hook: Hook
) -> None:
    url = f"https://127.0.0.1:{hook.port}"
    by_url = webhooks.by_url(configuration("deleted"), url, hook.ca_bundle)
    await asyncio.to_thread(created_under, control_plane, by_url)

    later = labelled("after-deletion", "deleted")
    await asyncio.to_thread(control_plane.api.create, later)

    assert hook.names == ["deleted"]
