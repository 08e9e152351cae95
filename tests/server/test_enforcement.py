"""Policies and facts in force, and the reports of their changes."""

import io
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.apiserver import ApiServer
from tests.server.serving import POLICY, Running, logged, server_context, serving
from webhook.cluster.pods import PodStore
from webhook.config.configuration import Configuration
from webhook.config.spreadpolicies import SpreadPolicy
from webhook.errors import ConfigError
from webhook.policy.api.gates import resolve
from webhook.policy.api.versions import Version
from webhook.policy.defaulting.profiles import Mode, Policy, Profile, ScaleDown
from webhook.policy.model import Constraint
from webhook.policy.scaledown.binding import BindingResult
from webhook.server.enforcement import Enforcement
from webhook.server.events import EventRecorder
from webhook.server.facts import WatchedKinds
from webhook.server.filefacts import FactsFiles, FileFacts

NODE = """
apiVersion: v1
kind: Node
metadata: {name: a, labels: {kubernetes.io/hostname: a}}
"""


async def test_a_policy_and_facts_are_used_for_the_next_review(tmp_path: Path) -> None:
    (tmp_path / "nodes.yaml").write_text(NODE)
    context = server_context()
    older = resolve(Version(1, 30), {}, allow_locked=False)
    facts = FileFacts(
        FactsFiles([str(tmp_path)]), WatchedKinds(()), context.metrics, context.log, lambda: None
    )
    async with serving() as server:
        enforcement = Enforcement(context, server.admission, facts, None)

        enforcement.apply_policy(Configuration(), replace(POLICY, gates=older))
        enforcement.use_current_facts()

        assert server.admission.context.policy.gates.version == Version(1, 30)
        assert server.admission.context.facts is facts.facts


async def test_notices_and_advice_are_logged_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "nodes.yaml").write_text(NODE)
    stream = io.BytesIO()
    context = server_context(stream)
    zones = Constraint(1, "topology.kubernetes.io/zone", "DoNotSchedule")
    policy = replace(POLICY, profiles=(Profile(name="cluster", constraints=(zones,)),))
    facts = FileFacts(
        FactsFiles([str(tmp_path)]), WatchedKinds(()), context.metrics, context.log, lambda: None
    )
    async with serving() as server:
        enforcement = Enforcement(context, server.admission, facts, None)
        enforcement.start(Configuration(notices=("a notice",)), policy)

    events = [line["event"] for line in logged(stream)]
    assert events == ["advice", "configuration"]
    value = context.metrics.registry.get_sample_value
    assert value("evenspread_config_valid") == 1
    assert value("evenspread_config_advice") == 1


@pytest.mark.parametrize("with_events", [False, True])
async def test_a_reload_is_reported(with_events: bool) -> None:
    stream = io.BytesIO()
    context = server_context(stream, namespace="ns")
    events = EventRecorder(ApiServer(), context) if with_events else None
    facts = FileFacts(FactsFiles([]), WatchedKinds(()), context.metrics, context.log, lambda: None)
    value = context.metrics.registry.get_sample_value
    reloads = "evenspread_config_reloads_total"
    async with serving() as server:
        enforcement = Enforcement(context, server.admission, facts, events)

        enforcement.refuse(ConfigError("no"))
        invalid = value("evenspread_config_valid")
        enforcement.reload(Configuration(notices=("a", "b")), POLICY)

    assert (invalid, value("evenspread_config_valid")) == (0, 1)
    assert value(reloads, {"result": "failure"}) == value(reloads, {"result": "success"}) == 1
    failure, success = (line for line in logged(stream) if line["event"] == "reload")
    assert (failure["level"], failure["message"]) == ("error", "no")
    assert (success["level"], success["message"]) == ("info", "a; b")


def spread_policy(order: int, name: str, **members: Any) -> SpreadPolicy:
    return SpreadPolicy(order, Profile(name=name, **members))


POLICIES = (spread_policy(1, "b"), spread_policy(1, "a"), spread_policy(0, "cluster"))


@asynccontextmanager
async def enforcing(
    stream: io.BytesIO | None = None, **settings: Any
) -> AsyncGenerator[tuple[Enforcement, Running, FileFacts]]:
    """An enforcement without a cluster whose file has a profile named cluster."""
    context = server_context(stream, **settings)
    files = FactsFiles((), context.now)
    facts = FileFacts(files, WatchedKinds(()), context.metrics, context.log, lambda: None)
    async with serving() as server:
        enforcement = Enforcement(context, server.admission, facts, None)
        enforcement.start(Configuration(), POLICY)
        yield enforcement, server, facts


def in_force(server: Running) -> list[str]:
    return [profile.name for profile in server.admission.context.policy.profiles]


async def test_policies_follow_the_profiles_of_the_file() -> None:
    stream = io.BytesIO()
    async with enforcing(stream) as (enforcement, server, _):
        enforcement.use_policies(POLICIES)
        enforcement.use_policies(POLICIES)

        assert in_force(server) == ["cluster", "a", "b"]
        assert server.admission.context.policy.profiles[0] is POLICY.profiles[0]
        enforcement.reload(Configuration(), replace(POLICY, profiles=()))
        assert in_force(server) == ["cluster", "a", "b"]
        assert server.admission.context.policy.profiles[0] == Profile(name="cluster")
        enforcement.use_policies(())
        assert in_force(server) == []

    lines = [line for line in logged(stream) if line["event"] in ("policy", "policies")]
    assert [line.get("profiles") or line["message"] for line in lines[:3]] == [
        (
            "SpreadPolicy 'cluster' is not used: a profile of the configuration has its name; "
            "rename one of the two"
        ),
        "cluster, a, b",
        "cluster, a, b",
    ]


async def test_profiles_of_the_file_can_be_left_out() -> None:
    async with enforcing(policies="resource") as (enforcement, server, _):
        assert in_force(server) == []
        enforcement.use_policies(POLICIES)

        assert in_force(server) == ["cluster", "a", "b"]
        assert server.admission.context.policy.profiles[0] == Profile(name="cluster")


@pytest.mark.parametrize(
    ("source", "names", "unused"),
    [("both", ["cluster", "a", "b"], ("cluster",)), ("resource", ["cluster", "a", "b"], ())],
)
async def test_policies_are_merged_without_putting_them_in_force(
    source: str, names: list[str], unused: tuple[str, ...]
) -> None:
    async with enforcing(policies=source) as (enforcement, server, _):
        before = in_force(server)
        merged = enforcement.merge(POLICIES)

        assert ([profile.name for profile in merged.profiles], merged.unused) == (names, unused)
        assert in_force(server) == before
        assert enforcement.policy is server.admission.context.policy


async def test_pods_are_watched_while_a_policy_keeps_their_spread() -> None:
    async with enforcing() as (enforcement, _, facts):
        before = facts.find_ranks()
        enforcement.use_policies([spread_policy(0, "a", scale_down=ScaleDown.KEEP_SPREAD)])
        with_policy = facts.find_ranks()
        enforcement.use_policies([])

        assert isinstance(with_policy, PodStore)
        assert (before, facts.find_ranks()) == (BindingResult.OFF, BindingResult.OFF)


async def test_the_same_advice_is_logged_once() -> None:
    stream = io.BytesIO()
    async with enforcing(stream, policies="resource") as (enforcement, _, __):
        for owner in ("Replicaset", "Replicaset", "Statefulset"):
            enforcement.use_policies([spread_policy(0, "a", owner_kinds=frozenset({owner}))])

    advice = [line["message"] for line in logged(stream) if line["event"] == "advice"]
    assert [message.rpartition("mean ")[2] for message in advice] == ["ReplicaSet?", "StatefulSet?"]


REPAIRING = Configuration(scale_down_repair=True)
KEEPING = replace(POLICY, profiles=(Profile(name="a", scale_down=ScaleDown.KEEP_SPREAD),))

# configuration, policy, whether ranks are corrected
REPAIRS = {
    "as configured": (REPAIRING, KEEPING, True),
    "not configured": (Configuration(), KEEPING, False),
    "no pod gets a rank": (REPAIRING, POLICY, False),
    "recommend mode writes nothing": (REPAIRING, replace(KEEPING, mode=Mode.RECOMMEND), False),
}


@pytest.mark.parametrize(("configuration", "policy", "repairs"), REPAIRS.values(), ids=REPAIRS)
async def test_ranks_are_corrected(
    configuration: Configuration, policy: Policy, *, repairs: bool
) -> None:
    context = server_context()
    facts = FileFacts(FactsFiles([]), WatchedKinds(()), context.metrics, context.log, lambda: None)
    async with serving() as server:
        enforcement = Enforcement(context, server.admission, facts, None)
        before = enforcement.repairs_ranks

        enforcement.apply_policy(configuration, policy)

        assert (before, enforcement.repairs_ranks) == (False, repairs)
