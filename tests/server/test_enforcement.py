"""Policies and facts in force, and the reports of their changes."""

import io
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.apiserver import ApiServer
from tests.server.serving import POLICY, logged, server_context, serving
from webhook.config.configuration import Configuration
from webhook.errors import ConfigError
from webhook.policy.api.gates import resolve
from webhook.policy.api.versions import Version
from webhook.policy.defaulting.profiles import Mode, Policy, Profile, ScaleDown
from webhook.policy.model import Constraint
from webhook.server.enforcement import Enforcement
from webhook.server.events import EventRecorder
from webhook.server.facts import FactsFiles, FileFacts, WatchedKinds

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
