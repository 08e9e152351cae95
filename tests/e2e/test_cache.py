"""Whatever befalls the API server, the caches serve on and end with what it has."""

import asyncio
import gc
import itertools
import os
import ssl
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from tests.build import owned_by, pod, policy, profile, request
from tests.controlplane.api import Json
from tests.controlplane.assets import Assets
from tests.controlplane.fixtures import run_plane
from tests.controlplane.options import Options
from tests.controlplane.plane import ControlPlane
from tests.e2e.live import converged, following, reviewing, until
from tests.e2e.relay import relaying
from tests.faults.plugin import FaultReport
from tests.listener import listening_app
from webhook.cluster.client import Timeouts
from webhook.cluster.listwatch import MAX_LINE_BYTES
from webhook.policy.model import OwnerReference

RECONNECTS = 1000
WARM = 400  # reconnects after which caches of aiohttp, ssl and malloc are filled
MOST_GROWTH = (
    4 * 1024 * 1024
)  # bytes of 600 reconnects; half of what one leaked 14 KB each would take
RACES = 500
SPECIFIED_SILENCE_S = 70.0  # in which a half-open watch must be noticed


@pytest.fixture(scope="module")
def only_plane(
    control_plane_assets: Assets, request: pytest.FixtureRequest
) -> Iterator[ControlPlane]:
    options = Options(controllers=False, scheduler=False, service_accounts=False)
    with run_plane(ControlPlane(control_plane_assets, options), request.config) as started:
        yield started


@pytest.fixture
def plane(only_plane: ControlPlane) -> Iterator[ControlPlane]:
    """One for all these tests: each may break it, and finds it whole and empty."""
    yield only_plane
    if not only_plane.process("kube-apiserver").alive:
        only_plane.restart("kube-apiserver")
    for version, kind in (("v1", "Service"), ("v1", "Node"), ("apps/v1", "ReplicaSet")):
        for value in only_plane.api.items(version, kind):
            if value["metadata"]["name"] != "kubernetes":
                only_plane.api.delete(value)


def through(plane: ControlPlane, port: int, kubeconfig: Path | None = None) -> Path:
    """Write a kubeconfig that reaches a control plane by another port."""
    original = kubeconfig or plane.apiserver.kubeconfig
    path = plane.folder / f"through-{port}.kubeconfig"
    path.write_text(original.read_text().replace(f":{plane.apiserver.port}", f":{port}"))
    return path


def service(name: str) -> Json:
    spec = {"selector": {"app": name}, "ports": [{"port": 80}]}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def node(name: str, zone: str) -> Json:
    metadata = {"name": name, "labels": {"topology.kubernetes.io/zone": zone}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata}


def replica_set(name: str) -> Json:
    labels = {"app": name}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template},
    }


def large_replica_set(name: str, size: int) -> Json:
    made = replica_set(name)
    made["spec"]["template"]["spec"]["containers"][0]["args"] = ["x" * size]
    return made


def populate(plane: ControlPlane, *names: str) -> None:
    for name in names:
        plane.api.create(service(name))
        plane.api.create(node(name, "a"))
        plane.api.create(replica_set(name))


def stir(plane: ControlPlane, old: str, new: str) -> None:
    """Change everything: delete, change and create objects of each kind."""
    for value in (service(old), node(old, ""), replica_set(old)):
        plane.api.delete(value)
    populate(plane, new)
    for value in plane.api.items("v1", "Node"):
        plane.api.merge(value, {"metadata": {"labels": {"stirred": new}}})


@pytest.mark.parametrize("streams", [True, False])
async def test_caches_follow(plane: ControlPlane, *, streams: bool) -> None:
    await asyncio.to_thread(populate, plane, "a", "b")
    async with following(plane.apiserver.kubeconfig, streams=streams) as live:
        await converged(live, plane.api)
        await asyncio.to_thread(stir, plane, "a", "c")
        await converged(live, plane.api)

        assert not live.restarts
        assert live.troubles == []


@pytest.mark.fault(2, 3)
@pytest.mark.parametrize("streams", [True, False])
async def test_after_a_compaction_during_a_cut_all_is_listed_again(
    plane: ControlPlane, fault_report: FaultReport, *, streams: bool
) -> None:
    await asyncio.to_thread(populate, plane, "a", "b")
    async with (
        relaying(plane.apiserver.port) as relay,
        following(through(plane, relay.port), streams=streams) as live,
        reviewing(live, "b") as reviews,
    ):
        await converged(live, plane.api)
        relay.closed = True
        relay.cut()
        await asyncio.to_thread(stir, plane, "a", "c")
        await asyncio.to_thread(plane.etcd.compact)
        await asyncio.to_thread(plane.restart, "kube-apiserver")  # its watch cache remembers
        relay.closed = False

        await converged(live, plane.api)
        assert 0 < live.restarts["expired"] <= len(live.caches.reflectors)
        await until(lambda: not live.troubles, "all watches to go on")
    fault_report.record(
        load="3 kinds deleted, created and changed during a cut",
        calls=reviews.calls,
        failed=reviews.failed,
        outcome=f"{live.restarts['expired']} kinds listed once more, caches equal to etcd",
    )


LARGE = 45
LARGE_BYTES = 1_400_000  # nearly what etcd stores; all together 63 MB


async def test_large_objects_are_listed_in_pages_that_fit(plane: ControlPlane) -> None:
    for number in range(LARGE):
        large = large_replica_set(f"large-{number:02}", LARGE_BYTES)
        await asyncio.to_thread(plane.api.create, large)

    async with following(plane.apiserver.kubeconfig, streams=False) as live:
        await converged(live, plane.api)
        assert not live.restarts
        assert not live.skipped


async def test_an_object_that_fits_into_no_answer_is_left_out(plane: ControlPlane) -> None:
    await asyncio.to_thread(populate, plane, "a", "b")
    too_large = await asyncio.to_thread(plane.api.create, large_replica_set("ab", 100_000))

    async with following(plane.apiserver.kubeconfig, streams=False, max_body=50_000) as live:
        assert live.skipped == {("ab", "object-size")}
        await asyncio.to_thread(plane.api.delete, too_large)
        await converged(live, plane.api)


async def test_a_killed_api_server_is_followed_when_it_is_back(plane: ControlPlane) -> None:
    await asyncio.to_thread(populate, plane, "a", "b")
    async with following(plane.apiserver.kubeconfig) as live:
        plane.process("kube-apiserver").kill()
        await until(lambda: len(live.troubles) == len(live.caches.reflectors), "all to notice")
        assert [service.name for service in live.cluster.services("default", {"app": "a"})] == ["a"]
        live.caches.require()
        await asyncio.to_thread(plane.restart, "kube-apiserver")
        await asyncio.to_thread(stir, plane, "a", "c")

        await converged(live, plane.api)
        await until(lambda: not live.troubles, "all watches to go on")


GARBAGE = (
    (200, b"Welcome to nginx!\n"),
    (200, b'{"type": "ADDED", "object": {"metadata": {"na'),
    (200, b'{"type": "DELETED", "object": {}}\n'),
    (200, b'{"kind": "List", "metadata": {}, "items": []}\n'),
    (429, b"Too many requests, please try again later.\n"),
    (500, b"\x00\xff"),
    (404, b"404 page not found\n"),
    (200, b'{"type": "CHANGED", "object": {"metadata": {"name": "a"}}}\n'),
    (200, b'{"type": "ERROR", "object": {"kind": "Status", "code": 500}}\n'),
    (200, b"x" * 5 * 1024 * 1024 + b"\n"),
    (200, b"x" * (MAX_LINE_BYTES + 1) + b"\n"),
)


@asynccontextmanager
async def babbling(plane: ControlPlane) -> AsyncGenerator[None]:
    """Serve garbage where the API server was, with its certificate."""
    answers = itertools.cycle(GARBAGE)

    async def answer(_request: web.Request) -> web.Response:
        status, body = next(answers)
        return web.Response(status=status, body=body)

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(plane.folder / "serving.pem")
    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    async with listening_app(app, context, plane.apiserver.port):
        yield


@pytest.mark.fault(6)
async def test_garbage_where_the_api_server_was_changes_nothing(
    plane: ControlPlane, fault_report: FaultReport
) -> None:
    await asyncio.to_thread(populate, plane, "a", "b")
    async with following(plane.apiserver.kubeconfig) as live, reviewing(live, "b") as reviews:
        await converged(live, plane.api)
        before = live.known
        plane.process("kube-apiserver").kill()
        async with babbling(plane):
            await until(lambda: live.restarts["garbage"] >= 10, "garbage to be noticed")
            await until(lambda: live.restarts["oversized"], "a line above the limit")
        assert live.known == before
        await asyncio.to_thread(plane.restart, "kube-apiserver")
        await asyncio.to_thread(stir, plane, "a", "c")

        await converged(live, plane.api)
    fault_report.record(
        load=f"{len(GARBAGE)} kinds of garbage",
        calls=reviews.calls,
        failed=reviews.failed,
        outcome=f"caches unchanged in {live.restarts.total()} restarts, then equal to etcd",
    )


@pytest.mark.fault(5)
async def test_a_half_open_connection_is_noticed(
    plane: ControlPlane, fault_report: FaultReport
) -> None:
    await asyncio.to_thread(populate, plane, "a", "b")
    async with (
        relaying(plane.apiserver.port) as relay,
        following(through(plane, relay.port), silence=1.0) as live,
        reviewing(live, "b") as reviews,
    ):
        relay.swallow()
        await asyncio.to_thread(stir, plane, "a", "c")

        await converged(live, plane.api)
        assert live.restarts["silent"]
    assert Timeouts().silence <= SPECIFIED_SILENCE_S
    fault_report.record(
        load="3 kinds changed while no byte arrives",
        calls=reviews.calls,
        failed=reviews.failed,
        outcome=f"noticed by silence, of 1 s here and {Timeouts().silence:g} s in a replica",
    )


@pytest.mark.fault(28)
async def test_a_lost_permission_is_reported_and_its_return_noticed(
    plane: ControlPlane, fault_report: FaultReport
) -> None:
    account = {"namespace": "default", "name": "reader"}
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "reader"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "cluster-admin",
        },
        "subjects": [{"kind": "ServiceAccount", **account}],
    }

    def grant() -> Path:
        plane.api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
        plane.api.create(binding)
        return plane.kubeconfig_of("default", "reader")

    await asyncio.to_thread(populate, plane, "a", "b")
    config = await asyncio.to_thread(grant)
    async with (
        relaying(plane.apiserver.port) as relay,
        following(through(plane, relay.port, config)) as live,
        reviewing(live, "b") as reviews,
    ):
        await asyncio.to_thread(plane.api.delete, binding)
        relay.cut()
        await until(lambda: live.restarts["forbidden"] >= len(live.caches.reflectors), "refusals")
        assert any("is forbidden" in trouble for trouble in live.troubles)
        assert len(live.cluster.node_store) == 2
        await asyncio.to_thread(stir, plane, "a", "c")
        await asyncio.to_thread(plane.api.create, binding)

        await converged(live, plane.api)
        await until(lambda: not live.troubles, "all watches to go on")
    fault_report.record(
        load="3 kinds changed without permission",
        calls=reviews.calls,
        failed=reviews.failed,
        outcome=f"{live.restarts['forbidden']} refusals shown as forbidden, then equal to etcd",
    )


async def test_nothing_grows_with_reconnects(plane: ControlPlane) -> None:
    await asyncio.to_thread(populate, plane, "a", "b")
    async with (
        relaying(plane.apiserver.port) as relay,
        following(through(plane, relay.port), pauses=0.001) as live,
    ):

        async def reconnect(number: int) -> tuple[int, int, int]:
            """Cut until there were so many reconnects; give tasks, files and bytes."""

            def enough() -> bool:
                if relay.links >= len(live.caches.reflectors) - 1:  # one kind is not installed
                    relay.cut()
                return live.restarts.total() >= number

            await until(enough, "reconnects")
            await asyncio.to_thread(stir, plane, "a", "a")
            await converged(live, plane.api)
            await until(lambda: not live.troubles, "all watches to go on")
            gc.collect()
            return len(asyncio.all_tasks()), open_files(), resident()

        tasks, files, memory = await reconnect(WARM)
        end = await reconnect(RECONNECTS)

        # Two connections of the relay may be on their way out, more after a stall.
        await until(lambda: len(asyncio.all_tasks()) <= tasks + 6, "tasks to end")
        await until(lambda: open_files() <= files + 4, "files to be closed")
        assert end[2] <= memory + MOST_GROWTH


def open_files() -> int:
    """File descriptors of this process, sockets among them."""
    return len(list(Path("/proc/self/fd").iterdir()))


def resident() -> int:
    """Bytes of memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def test_no_owner_is_missed_however_young(plane: ControlPlane) -> None:
    rules = policy(profile())
    async with following(plane.apiserver.kubeconfig) as live:
        for i in range(RACES):
            name = f"young-{i}"
            created = await asyncio.to_thread(plane.api.create, replica_set(name))
            pod_request = request(pod(owner=owned_by(name=name)), namespace="default")
            fetching = live.fallback.fetch(pod_request, rules, 10.0)
            late = live.results["late"]
            facts = live.cluster if fetching is None else await fetching
            if live.results["late"] > late:  # 0.5 s, for which a process stood still
                continue

            found = facts.owner_selector("default", OwnerReference("apps/v1", "ReplicaSet", name))
            assert found is not None
            assert found.match_labels == created["spec"]["selector"]["matchLabels"]

        assert set(live.results) <= {"found", "late"}
        assert live.results["late"] <= RACES // 10
