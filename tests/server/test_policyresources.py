"""The watchers of policies that a server has, and the writer of their status."""

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.apiserver import Json
from tests.background import working
from tests.cluster.environment import unsupervised
from tests.server.building import a_policy, built, built_in_cluster
from tests.server.serving import settled
from webhook.server.livefacts import SharedCaches
from webhook.server.policyresources import PolicyResources, build_status_writer

# setting -> whether SpreadPolicies are watched
SOURCES = {"both": True, "resource": True, "file": False}

POLICY_CACHE = "cache SpreadPolicy.evenspread.io"
EXCEPTION_CACHE = "cache SpreadPolicyException.evenspread.io"
EXCEPTION: Json = {
    "apiVersion": "evenspread.io/v1alpha1",
    "kind": "SpreadPolicyException",
    "metadata": {"name": "legacy", "namespace": "shop"},
    "spec": {"defaults": True, "reason": "old"},
}


async def test_without_a_cluster_there_is_nothing_to_watch(tmp_path: Path) -> None:
    async with built(tmp_path) as (server, _):
        assert server.resources == PolicyResources()
        assert list(server.resources.background(server.supervisor.run)) == []
        assert server.resources.caches == SharedCaches()
        status = build_status_writer(server.context, None, server.enforcement, None)
    assert status is None


@pytest.mark.parametrize(("source", "watched"), SOURCES.items())
async def test_policies_are_watched_as_configured(
    source: str, watched: bool, tmp_path: Path
) -> None:
    async with built_in_cluster(tmp_path, policies=source) as server:
        status = build_status_writer(
            server.context, server.resources.policies, server.enforcement, None
        )
        assert ("policies" in dict(server.background())) == watched
        assert (POLICY_CACHE in server.facts.check()) == watched
    assert (status is not None) == watched


@pytest.mark.parametrize("source", SOURCES)
async def test_exceptions_are_watched_in_every_cluster(source: str, tmp_path: Path) -> None:
    async with built_in_cluster(tmp_path, policies=source) as server:
        assert "exceptions" in dict(server.background())
        assert server.facts.check()[EXCEPTION_CACHE].ok


async def test_all_are_known_before_the_server_is_built(tmp_path: Path) -> None:
    async with built_in_cluster(tmp_path, a_policy("web"), EXCEPTION) as server:
        assert [one.name for one in server.enforcement.policy.profiles] == ["web"]
        assert [one.name for one in server.facts.facts.exceptions("shop")] == ["legacy"]


async def test_changes_are_seen_while_the_tasks_run(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(
            built_in_cluster(tmp_path, a_policy("web"), EXCEPTION)
        )
        for name, start in server.resources.background(unsupervised):
            await stack.enter_async_context(working(unsupervised(name, start)))
        api = server.context.api
        assert api is not None
        for path in ("spreadpolicies/web", "namespaces/shop/spreadpolicyexceptions/legacy"):
            await api.send("DELETE", f"/apis/evenspread.io/v1alpha1/{path}")
        await settled(lambda: not server.enforcement.policy.profiles)
        await settled(lambda: not server.facts.facts.exceptions("shop"))
