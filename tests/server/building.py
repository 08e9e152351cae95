"""Servers that are built, and of which tests run single tasks."""

import asyncio
import io
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.apiserver import Json, listening, respond, write_kubeconfig
from tests.server.serving import PATIENCE, server_context
from webhook.config.settings import Settings
from webhook.server.apiserver import connect_api_server
from webhook.server.build import Server, build
from webhook.server.health import Readiness


@asynccontextmanager
async def built(
    folder: Path, readiness: Readiness | None = None, **members: Any
) -> AsyncGenerator[tuple[Server, io.BytesIO]]:
    """Build a server without a cluster."""
    stream = io.BytesIO()
    settings: dict[str, Any] = {"standalone": True, "state": str(folder)}
    context = server_context(stream, **settings | members)
    yield await build(context, readiness or Readiness()), stream


@asynccontextmanager
async def built_in_cluster(folder: Path, *objects: Json, **members: Any) -> AsyncGenerator[Server]:
    """Build a server whose API server has a version and two empty webhook configurations."""
    async with listening() as api_server:
        api_server.add(*objects)
        api_server.script("/version", respond({"gitVersion": "v1.36.0"}))
        for kind in ("mutating", "validating"):
            path = f"/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations/evenspread"
            api_server.script(path, respond({"webhooks": []}))
        settings: dict[str, Any] = {
            "kubeconfig": write_kubeconfig(folder, api_server.url),
            "tls": "standalone",
            "state": str(folder),
            "namespace": "evenspread",
            **members,
        }
        async with connect_api_server(Settings(**settings)) as api:
            context = server_context(None, api, **settings)
            async with asyncio.timeout(PATIENCE):
                yield await build(context, Readiness())


def a_policy(name: str) -> Json:
    """A SpreadPolicy without defaults, as an API server has it."""
    return {
        "apiVersion": "evenspread.io/v1alpha1",
        "kind": "SpreadPolicy",
        "metadata": {"name": name, "generation": 1},
        "spec": {"defaultConstraints": []},
    }
