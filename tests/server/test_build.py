"""The parts of a server, as the settings choose them."""

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.apiserver import Json
from tests.background import working
from tests.cluster.environment import unsupervised
from tests.config.configs import HEAD, one_profile
from tests.server.building import a_policy, built, built_in_cluster
from tests.server.serving import settled
from webhook.policy.api.versions import Version
from webhook.server.facts import WatchedKinds
from webhook.server.health import Readiness
from webhook.server.livefacts import LiveFacts

CONFIG = """
apiVersion: evenspread.io/v1alpha1
kind: SpreadConfiguration
mode: apply
rules: {TSC101: deny}
"""


ALWAYS = ["certificate", "facts", "reload", "advice", "stalled connections", "memory", "lag"]


async def test_a_server_without_a_cluster_has_neither_events_nor_audits(tmp_path: Path) -> None:
    async with built(tmp_path) as (server, _):
        names = [name for name, _ in server.background()]

    assert names == ALWAYS
    assert (server.events, server.leader) == (None, None)


WITHOUT_VERSION = ["policies", "exceptions", "events", "registration", "election"]
IN_CLUSTER = [*WITHOUT_VERSION, "version"]

# settings -> background tasks besides those of every server
TASKS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a cluster": ({}, IN_CLUSTER),
    "a cluster whose version is set": (
        {"kube_version": "1.30"},
        WITHOUT_VERSION,
    ),
    "audits": (
        {"audit_interval": "10m"},
        IN_CLUSTER,
    ),
}


@pytest.mark.parametrize(("members", "names"), TASKS.values(), ids=TASKS)
async def test_a_server_in_a_cluster_has_further_tasks(
    members: dict[str, Any], names: list[str], tmp_path: Path
) -> None:
    async with built_in_cluster(tmp_path, **members) as server:
        assert [name for name, _ in server.background()] == ALWAYS + names
        assert isinstance(server.facts, LiveFacts)


WRITTEN = """
apiVersion: evenspread.io/v1alpha1
kind: SpreadPolicy
metadata: {name: web}
spec: {defaultConstraints: []}
"""


@pytest.mark.parametrize(
    ("source", "names"),
    [("both", ["a", "web"]), ("file", ["a"]), ("resource", ["web"])],
)
async def test_policies_of_files_are_in_force_without_a_cluster(
    source: str, names: list[str], tmp_path: Path
) -> None:
    (tmp_path / "policies.yaml").write_text(WRITTEN)
    config = tmp_path / "config.yaml"
    config.write_text(HEAD + one_profile("defaultConstraints: []"))

    async with built(
        tmp_path,
        policies=source,
        facts=str(tmp_path / "policies.yaml"),
        config=str(config),
    ) as (server, _):
        assert [one.name for one in server.admission.context.policy.profiles] == names


LEASE: Json = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"name": "evenspread-audit", "namespace": "evenspread"},
}


@pytest.mark.parametrize("members", [{}, {"audit_interval": "10m"}], ids=["alone", "with audits"])
async def test_the_holder_of_the_lease_writes_the_status_of_policies(
    members: dict[str, Any], tmp_path: Path
) -> None:
    async with built_in_cluster(tmp_path, a_policy("web"), LEASE, **members) as server:
        tasks = dict(server.background())
        written = server.context.metrics.policy_status_writes.labels("success")
        async with working(unsupervised("election", tasks["election"])):
            await settled(lambda: next(iter(written.collect())).samples[0].value == 1)
        api = server.context.api
        assert api is not None
        path = "/apis/evenspread.io/v1alpha1/spreadpolicies/web"
        stored = msgspec.json.decode((await api.send("GET", path)).body)
    assert [one["type"] for one in stored["status"]["conditions"]] == ["Accepted", "Effective"]


async def test_the_advice_waits_for_the_facts_of_a_cluster(tmp_path: Path) -> None:
    async with built_in_cluster(tmp_path) as server:
        tasks = dict(server.background())
        advising = asyncio.ensure_future(tasks["advice"]())
        await asyncio.sleep(0)

        assert not advising.done()
        advising.cancel()
        with suppress(asyncio.CancelledError):
            await advising


async def test_the_advice_is_given_once_the_facts_are_complete(tmp_path: Path) -> None:
    async with built_in_cluster(tmp_path) as server:
        tasks = dict(server.background())
        following = asyncio.ensure_future(tasks["facts"]())
        await tasks["advice"]()
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following

        read = server.context.metrics.registry.get_sample_value
        assert read("evenspread_config_advice") == 0


async def test_the_registration_is_compared_with_the_kinds_in_force(tmp_path: Path) -> None:
    kind = "MutatingWebhookConfiguration"
    async with built_in_cluster(tmp_path) as server:
        watching = asyncio.ensure_future(dict(server.background())["registration"]())
        read = server.context.metrics.registry.get_sample_value
        drift = "evenspread_webhook_configuration_drift"
        await settled(lambda: read(drift, {"kind": kind}) is not None)
        watching.cancel()

        assert read(drift, {"kind": kind}) != 0


async def test_conditions_have_the_order_of_the_start(tmp_path: Path) -> None:
    readiness = Readiness()
    async with built(tmp_path, readiness):
        pass

    assert list(readiness.check()) == ["configuration", "certificate", "facts", "tasks", "server"]


async def test_the_rules_are_those_of_the_version_in_the_settings(tmp_path: Path) -> None:
    async with built(tmp_path, kube_version="1.30") as (server, _):
        assert server.admission.context.policy.gates.version == Version(1, 30)


async def test_an_invalid_newer_configuration_leaves_the_server_ready(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(CONFIG)
    readiness = Readiness()
    async with built(tmp_path, readiness, config=str(file)) as (server, stream):
        file.write_text(f"{CONFIG}mode: sometimes\n")
        server.watcher.check()
        condition = readiness.check()["configuration"]

    assert condition.ok
    assert condition.degraded
    assert condition.detail.startswith(f"{file}:")
    assert "mode" in condition.detail
    assert condition.detail.endswith(" UTC stays in force")
    assert b'"result":"failure"' in stream.getvalue()


async def test_a_changed_configuration_is_put_in_force(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(CONFIG)
    async with built(tmp_path, config=str(file)) as (server, _):
        before = server.admission.context.policy
        file.write_text(CONFIG.replace("apply", "recommend"))
        server.watcher.check()

        assert server.admission.context.policy.mode != before.mode


async def test_other_custom_controllers_change_the_facts_in_use(tmp_path: Path) -> None:
    async with built(tmp_path) as (server, _):
        before = server.admission.context.facts
        server.facts.follow(WatchedKinds(()))

        assert server.admission.context.facts is server.facts.facts is not before


@pytest.mark.parametrize("task", ["advice", "stalled connections", "memory"])
async def test_tasks_of_the_server_itself_run(tmp_path: Path, task: str) -> None:
    async with built(tmp_path) as (server, _):
        running_task = asyncio.ensure_future(dict(server.background())[task]())
        for _ in range(3):
            await asyncio.sleep(0)
        running_task.cancel()
        with suppress(asyncio.CancelledError):
            await running_task
