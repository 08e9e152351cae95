"""The replica that holds the Lease audits, and corrects ranks if the configuration wants it."""

import asyncio
import io
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NoReturn

import pytest

from tests.apiserver import ApiServer, listening, write_kubeconfig
from tests.background import working
from tests.cluster.zones import Zones
from tests.server.serving import server_context, settled
from webhook.cluster.caches import Start
from webhook.cluster.pods import PodStore
from webhook.config.settings import Settings
from webhook.policy.scaledown.binding import BindingResult
from webhook.server.apiserver import connect_api_server
from webhook.server.context import ServerContext
from webhook.server.leader import LeaderWork, build_leader

LEASE = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/evenspread-audit"


class Audits:
    """Audits that begin, and never end."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()

    async def work(self) -> NoReturn:
        self.begun.set()
        await asyncio.Event().wait()
        raise AssertionError("they end only by being cancelled")


@asynccontextmanager
async def in_cluster(folder: Path) -> AsyncGenerator[tuple[ApiServer, ServerContext]]:
    async with listening() as server:
        server.put(LEASE, {"metadata": {"name": "evenspread-audit"}})
        settings = Settings(kubeconfig=write_kubeconfig(folder, server.url))
        async with connect_api_server(settings) as api:
            yield server, server_context(io.BytesIO(), api, namespace="ns")


def off() -> BindingResult:
    return BindingResult.OFF


async def test_audits_begin_without_corrections(tmp_path: Path) -> None:
    audits = Audits()
    async with in_cluster(tmp_path) as (_, context):
        leader = build_leader(
            context, [LeaderWork(audits.work, lambda: True)], off, None, lambda: False
        )
        assert leader is not None
        async with working(as_coroutine(leader)):
            await settled(audits.begun.is_set)


async def test_nothing_is_requested_without_work(tmp_path: Path) -> None:
    async with in_cluster(tmp_path) as (server, context):
        leader = build_leader(context, [], off, None, lambda: False)
        assert leader is not None
        async with working(as_coroutine(leader)):
            for _ in range(100):
                await asyncio.sleep(0)
        assert not server.requests


@pytest.mark.parametrize("ranks", [off, lambda: Zones().pods], ids=["off", "without pods"])
async def test_the_lease_is_taken_for_corrections(
    ranks: Callable[[], PodStore | BindingResult], tmp_path: Path
) -> None:
    async with in_cluster(tmp_path) as (server, context):
        leader = build_leader(context, [], ranks, None, lambda: True)
        assert leader is not None
        async with working(as_coroutine(leader)):
            await settled(lambda: bool(server.writes))
        assert {write.path for write in server.writes} == {LEASE}


@pytest.mark.parametrize("needed", [True, False])
async def test_other_work_is_done_if_it_is_needed(needed: bool, tmp_path: Path) -> None:
    first, second = Audits(), Audits()
    async with in_cluster(tmp_path) as (server, context):
        works = [
            LeaderWork(first.work, lambda: False),
            LeaderWork(second.work, lambda: needed),
        ]
        leader = build_leader(context, works, off, None, lambda: False)
        assert leader is not None
        async with working(as_coroutine(leader)):
            if needed:
                await settled(lambda: first.begun.is_set() and second.begun.is_set())
            else:
                for _ in range(100):
                    await asyncio.sleep(0)
        assert bool(server.requests) is needed


def test_without_a_cluster_nothing_leads() -> None:
    assert build_leader(server_context(namespace="ns"), [], off, None, lambda: True) is None


async def test_without_a_namespace_nothing_leads(tmp_path: Path) -> None:
    async with in_cluster(tmp_path) as (_, context):
        outside = server_context(io.BytesIO(), context.api)
        assert build_leader(outside, [], off, None, lambda: True) is None


async def as_coroutine(start: Start) -> None:
    await start()
