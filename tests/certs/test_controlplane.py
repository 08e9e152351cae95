"""Rotation with the real kube-apiserver: three replicas, a webhook that must not fail."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import pytest
from aiohttp import web

from certs.inject import Hooks
from certs.pem import issued_by
from certs.rotate import SelfSource
from certs.secret import RotationRequest, SecretStore, request_time
from certs.serving import LiveContext
from certs.source import Notice, SourceEnvironment
from certs.state import Lifetimes
from tests.certs.world import real_clock
from tests.controlplane import webhooks
from tests.controlplane.api import Api, Json
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import until
from tests.listener import listening_app
from webhook.cluster.client import Api as ClusterApi
from webhook.cluster.client import ApiAccess

# A rotation takes 8 s: an overlap, then the life of a leaf, then an overlap.
LIFETIMES = Lifetimes(
    ca=timedelta(hours=1), leaf=timedelta(seconds=4), overlap=timedelta(seconds=2)
)


@dataclass
class Replica:
    """A listener on a port of its own, with certificates of its own making."""

    source: SelfSource
    port: int
    notices: list[Notice]


@asynccontextmanager
async def listening(client: ClusterApi, namespace: str) -> AsyncGenerator[Replica]:
    live, notices = LiveContext(), list[Notice]()
    app = web.Application()
    app.router.add_post("/", allow)
    source = SelfSource(
        live=live,
        secret=SecretStore(client, namespace, "ca"),
        hooks=Hooks(client, namespace),
        hosts=("127.0.0.1",),
        environment=SourceEnvironment(clock=real_clock, sleep=asyncio.sleep, report=notices.append),
        lifetimes=LIFETIMES,
    )
    async with listening_app(app, live.context) as port:
        yield Replica(source, port, notices)


async def allow(request: web.Request) -> web.Response:
    review = await request.json()
    answer = {"uid": review["request"]["uid"], "allowed": True}
    kind = {"apiVersion": review["apiVersion"], "kind": review["kind"]}
    # Each call shakes hands anew.
    return web.json_response({**kind, "response": answer}, headers={"Connection": "close"})


def configuration(kind: str, name: str, ports: list[int]) -> Json:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
    return {
        "apiVersion": webhooks.VERSION,
        "kind": kind,
        "metadata": {"name": name},
        "webhooks": [
            {
                "name": f"replica-{number}.evenspread.test",
                "clientConfig": {"url": f"https://127.0.0.1:{port}/"},
                "rules": [{**rule, "operations": ["CREATE"]}],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}},
                "failurePolicy": "Fail",
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
            }
            for number, port in enumerate(ports)
        ],
    }


def create(api: Api, namespace: str) -> None:
    metadata = {"generateName": "probe-", "namespace": namespace}
    api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}, dryRun="All")


@pytest.fixture
async def client(control_plane: ControlPlane) -> AsyncIterator[ClusterApi]:
    kubeconfig = str(control_plane.apiserver.kubeconfig)
    async with ClusterApi(ApiAccess(kubeconfig=kubeconfig), time.monotonic) as client_api:
        yield client_api


@pytest.fixture
async def replicas(
    control_plane: ControlPlane, client: ClusterApi, namespace: str
) -> AsyncIterator[list[Replica]]:
    """Three replicas, and both kinds of configuration that call each of them."""
    api = control_plane.api
    async with AsyncExitStack() as stack:
        found = [await stack.enter_async_context(listening(client, namespace)) for _ in range(3)]
        for kind in webhooks.KINDS:
            hook = configuration(kind, namespace, [replica.port for replica in found])
            api.create(hook)
            stack.callback(api.delete, hook)
        yield found


@pytest.fixture
def namespace(control_plane: ControlPlane) -> str:
    name = control_plane.create_namespace()
    metadata = {"name": "ca", "namespace": name}
    control_plane.api.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata})
    return name


async def test_authorities_change_and_no_call_of_the_api_server_fails(
    control_plane: ControlPlane, client: ClusterApi, namespace: str, replicas: list[Replica]
) -> None:
    api, calls, enough = control_plane.api, 0, False
    sources = [replica.source for replica in replicas]

    async def write_all_the_time() -> None:
        nonlocal calls
        while not enough:
            await asyncio.to_thread(create, api, namespace)
            calls += 1

    async with asyncio.TaskGroup() as group:
        await asyncio.gather(*(source.start() for source in sources))
        tasks = [group.create_task(source.run()) for source in sources]
        await asyncio.to_thread(
            until, lambda: all(source.status.ready for source in sources), "all to be ready"
        )
        await asyncio.to_thread(webhooks.settle, api)
        writer = group.create_task(write_all_the_time())

        (old,) = sources[0].status.authorities
        at = request_time(real_clock())
        await SecretStore(client, namespace, "ca").request_rotation(RotationRequest.CA, at)
        await asyncio.to_thread(
            until,
            lambda: all(
                len(source.status.authorities) == 1 and old not in source.status.authorities
                for source in sources
            ),
            "the old authority to be gone",
        )

        (new,) = sources[0].status.authorities
        leaves = [source.status.leaf for source in sources]
        calls_so_far = calls
        await asyncio.to_thread(until, lambda: calls > calls_so_far + 20, "more calls")
        enough = True  # not cancelled: a thread would go on calling while the listeners close
        await writer
        for task in tasks:
            task.cancel()

    assert all(leaf is not None and issued_by(leaf, new) for leaf in leaves)
    assert [n.text for replica in replicas for n in replica.notices if not n.ok] == []
