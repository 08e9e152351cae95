"""The line of a binding, at level debug only."""

import io
import json
import logging

import pytest

from tests.build import UID, binding_body
from tests.server.test_verdict_log import NOON, throttle
from webhook.admission import decode
from webhook.policy.request import BindHook
from webhook.policy.scaledown.binding import BindingResult, Ranking
from webhook.policy.verdict import Verdict
from webhook.server.verdict_log import VerdictLog
from webhook.telemetry.line_writer import LineWriter
from webhook.telemetry.logs import LogFormat


@pytest.mark.parametrize("level", [logging.DEBUG, logging.INFO])
def test_a_binding_is_logged_with_its_rank_at_level_debug(level: int) -> None:
    stream = io.BytesIO()
    lines = LineWriter(stream, lambda write: write())
    log = VerdictLog(LogFormat.JSON, lines, lambda: NOON, throttle(), level)
    verdict = Verdict(ranking=Ranking(BindingResult.RANKED, "a", 3))

    log.write(decode(binding_body("web-1", "n1")), BindHook.BIND, verdict)

    written = [json.loads(line) for line in stream.getvalue().splitlines()]
    expected = {
        "time": "2026-01-02T12:00:00Z",
        "level": "debug",
        "event": "binding",
        "uid": UID,
        "name": "web-1",
        "hook": "bind",
        "kind": "Binding",
        "namespace": "shop",
        "verdict": "allow",
        "result": "ranked",
        "node": "n1",
        "domain": "a",
        "rank": 3,
    }
    assert written == ([expected] if level == logging.DEBUG else [])
