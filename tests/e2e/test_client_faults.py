"""Between two requests of a replica, its list expires, or its credentials change."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path

import pytest
import trustme

from tests.controlplane.api import Json
from tests.controlplane.assets import Assets
from tests.controlplane.fixtures import run_plane
from tests.controlplane.options import Options
from tests.controlplane.plane import ControlPlane
from tests.e2e.apiproxy import ApiProxy, Mode, proxying
from tests.e2e.live import QUICK, Live, converged, filling, reviewing, until
from tests.e2e.test_cache import large_replica_set, populate, stir
from tests.faults.plugin import FaultReport
from webhook.cluster.client import RELOAD_S, Api, ApiAccess
from webhook.cluster.protocol import JSON, NO_QUERY, Query, Response

SETS = "/apis/apps/v1/replicasets"
NUMBER = 40
SIZE = 20_000  # bytes of a ReplicaSet
ANSWER = 100_000  # bytes: NUMBER of them make ten pages


@pytest.fixture(scope="module")
def plane(control_plane_assets: Assets, request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """A control plane whose lists and watches come from etcd."""
    options = Options(
        controllers=False,
        scheduler=False,
        service_accounts=False,
        apiserver_flags=("--watch-cache=false",),
    )
    with run_plane(ControlPlane(control_plane_assets, options), request.config) as started:
        yield started


class CompactingClient:
    """A client during whose first list of several pages etcd forgets the list."""

    def __init__(self, api: Api, plane: ControlPlane) -> None:
        self.name = api.name
        self.expired = 0
        self._api = api
        self._plane = plane
        self._compacted = False

    async def send(
        self,
        method: str,
        path: str,
        query: Query = NO_QUERY,
        body: bytes = b"",
        content_type: str = JSON,
    ) -> Response:
        response = await self._api.send(method, path, query, body, content_type)
        self.expired += response.status == 410
        if "continue" in query and path == SETS and not self._compacted:
            self._compacted = True
            await asyncio.to_thread(self._compact)
        return response

    def stream(self, path: str, query: Query) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._api.stream(path, query)

    def _compact(self) -> None:
        """Delete the first object, create one, and compact etcd."""
        self._plane.api.delete(large_replica_set("set-00", SIZE))
        self._plane.api.create(large_replica_set("set-late", SIZE))
        self._plane.etcd.compact()


@pytest.mark.fault(3)
async def test_a_list_whose_continue_token_expires_begins_again(
    plane: ControlPlane, fault_report: FaultReport
) -> None:
    for number in range(NUMBER):
        large = large_replica_set(f"set-{number:02}", SIZE)
        await asyncio.to_thread(plane.api.create, large)
    access = ApiAccess(kubeconfig=str(plane.apiserver.kubeconfig))
    async with Api(access, time.monotonic, max_body=ANSWER) as api:
        client = CompactingClient(api, plane)
        async with filling(Live(client, streams=False, pauses=QUICK)) as live:
            await converged(live, plane.api)
            restarts = live.restarts["expired"]

    assert (client.expired, restarts) == (1, 1)
    fault_report.record(
        load=f"{NUMBER} ReplicaSets in pages of {ANSWER // SIZE}",
        calls=1,
        failed=0,
        outcome="one 410 for the continue token, one further list, caches equal to etcd",
    )


ACCOUNT: Json = {"namespace": "default", "name": "replica"}


def create_account(plane: ControlPlane) -> str:
    """Create the ServiceAccount anew, which makes its old tokens invalid; return a token."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": dict(ACCOUNT)}
    if any(it["metadata"]["name"] == "replica" for it in plane.api.items("v1", "ServiceAccount")):
        plane.api.delete(account)
    plane.api.create(account)
    return plane.token("default", "replica")


def bind_account(plane: ControlPlane) -> None:
    group = "rbac.authorization.k8s.io"
    plane.api.create(
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "replica"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", **ACCOUNT}],
        }
    )


class Frontend:
    """A proxy before the API server, whose certificate and CA can change."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        self.ca_file, self.token_file = folder / "ca.crt", folder / "token"
        self.authority = trustme.CA()
        self.proxy: ApiProxy
        self._plane = plane
        self._stack = AsyncExitStack()
        self._port = 0

    async def start(self) -> None:
        """Begin to serve, with a new CA."""
        self.authority = trustme.CA()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.authority.issue_cert("127.0.0.1").configure_cert(context)
        proxy = proxying(self._plane.api, context, self._port)
        self.proxy = await self._stack.enter_async_context(proxy)
        self._port = self.proxy.port

    async def stop(self) -> None:
        await self._stack.aclose()

    def publish_ca(self) -> None:
        self.authority.cert_pem.write_to_path(str(self.ca_file))

    @property
    def access(self) -> ApiAccess:
        port = str(self._port)
        environ = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": port}
        return ApiAccess(
            token_file=str(self.token_file), ca_file=str(self.ca_file), environ=environ
        )


@pytest.mark.fault(27)
async def test_tokens_and_authorities_are_followed_without_a_restart(
    plane: ControlPlane, tmp_path: Path, fault_report: FaultReport
) -> None:
    await asyncio.to_thread(populate, plane, "a", "b")
    await asyncio.to_thread(bind_account, plane)
    front = Frontend(plane, tmp_path)
    await front.start()
    front.publish_ca()
    front.token_file.write_text(await asyncio.to_thread(create_account, plane))
    passed = [0.0]  # seconds by which the clock of the client is ahead

    async with (
        Api(front.access, lambda: time.monotonic() + passed[0]) as api,
        filling(Live(api, streams=True, pauses=QUICK)) as live,
        reviewing(live, "b") as reviews,
    ):
        await converged(live, plane.api)

        front.token_file.write_text("")  # a kubelet replaces it in two steps
        passed[0] += RELOAD_S
        front.proxy.behave(Mode.PASS)  # all watches begin anew
        await asyncio.to_thread(stir, plane, "a", "c")
        await converged(live, plane.api)
        await until(lambda: not live.troubles, "all watches to go on")
        assert not live.restarts["unauthorized"]

        front.token_file.write_text(await asyncio.to_thread(create_account, plane))
        front.proxy.behave(Mode.PASS)
        await asyncio.to_thread(stir, plane, "c", "d")
        await converged(live, plane.api)
        await until(lambda: not live.troubles, "all watches to go on")
        assert not live.restarts["unauthorized"], "one request is repeated with the new token"

        front.proxy.behave(Mode.UNAUTHORIZED)
        kinds = len(live.caches.reflectors)
        await until(lambda: live.restarts["unauthorized"] >= kinds, "refusals")
        await asyncio.to_thread(stir, plane, "d", "e")
        front.proxy.behave(Mode.PASS)
        await converged(live, plane.api)
        await until(lambda: not live.troubles, "all watches to go on")

        await front.stop()
        await front.start()
        await until(lambda: any("not trusted" in problem for problem in live.troubles), "distrust")
        front.publish_ca()
        await asyncio.to_thread(stir, plane, "e", "f")
        await converged(live, plane.api)
        await until(lambda: not live.troubles, "all watches to go on")
    await front.stop()
    fault_report.record(
        load="3 kinds changed at each step",
        calls=reviews.calls,
        failed=reviews.failed,
        outcome="an empty token file, a revoked token, 401 by a proxy and a new CA: "
        "caches equal to etcd after each",
    )
