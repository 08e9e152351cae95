"""Policies and facts in force, and the reports of their changes."""

import io
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.apiserver import ApiServer
from tests.server.serving import POLICY, serving
from tests.server.test_events import NOW
from webhook.config import Configuration
from webhook.policy.api.gates import resolve
from webhook.policy.api.versions import NEWEST_VERSION, Version
from webhook.server.enforcement import Enforcement, report_reload
from webhook.server.events import EventContext, EventRecorder
from webhook.server.facts import FileFacts
from webhook.server.reload import ReloadResult
from webhook.telemetry.line_writer import LineWriter
from webhook.telemetry.logs import Log, LogFormat, make_log
from webhook.telemetry.metrics import Metrics

NODE = """
apiVersion: v1
kind: Node
metadata: {name: a, labels: {kubernetes.io/hostname: a}}
"""
RESULTS = {
    "valid": (ReloadResult(valid=True, message=""), "info", "success", 1),
    "invalid": (ReloadResult(valid=False, message="no"), "error", "failure", 0),
}


def log_to(stream: io.BytesIO) -> Log:
    lines = LineWriter(stream, lambda write: write())
    return make_log(LogFormat.JSON, lines, lambda: datetime(2026, 1, 1, tzinfo=UTC))


async def test_a_policy_and_facts_are_used_for_the_next_review(tmp_path: Path) -> None:
    (tmp_path / "nodes.yaml").write_text(NODE)
    log, metrics = log_to(io.BytesIO()), Metrics()
    older = resolve(Version(1, 30), {}, source="test", allow_locked=False)
    facts = FileFacts(str(tmp_path), (), metrics, log, lambda: None)
    async with serving() as server:
        enforcement = Enforcement(server.admission, facts, metrics, log)
        before = enforcement.version

        enforcement.apply_policy(Configuration(), replace(POLICY, gates=older))
        enforcement.use_current_facts()

        assert (before, enforcement.version) == (NEWEST_VERSION, Version(1, 30))
        assert server.admission.context.facts is facts.facts


@pytest.mark.parametrize(("result", "level", "label", "valid"), RESULTS.values(), ids=RESULTS)
@pytest.mark.parametrize("with_events", [False, True])
def test_a_reload_is_reported(
    result: ReloadResult, level: str, label: str, valid: int, with_events: bool
) -> None:
    stream, metrics = io.BytesIO(), Metrics()
    log = log_to(stream)
    context = EventContext("ns", "evenspread", "a")
    events = EventRecorder(ApiServer(), context, lambda: NOW, log) if with_events else None

    report_reload(result, metrics, log, events)

    line = json.loads(stream.getvalue())
    assert (line["level"], line["result"]) == (level, label)
    value = metrics.registry.get_sample_value
    assert value("evenspread_config_valid") == valid
    assert value("evenspread_config_reloads_total", {"result": label}) == 1
