"""What is reported of answered reviews, and when."""

import io
import json
from collections.abc import Callable
from datetime import UTC, datetime

from tests import build
from tests.server.serving import broken_review
from webhook import admission
from webhook.policy.facts import NoFacts
from webhook.policy.request import AdmissionRequest, AnyHook, Hook
from webhook.policy.verdict import Verdict, judge
from webhook.server.reporting import AnsweredReview, Observers, ReviewReporter
from webhook.server.verdict_log import VerdictLog
from webhook.telemetry.line_writer import LineWriter
from webhook.telemetry.logs import LogFormat, Throttle, make_log
from webhook.telemetry.metrics import Metrics

NOON = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)


class Turns:
    """The callbacks that wait for the next turn of an event loop."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def soon(self, callback: Callable[[], None]) -> None:
        self.waiting.append(callback)

    def turn(self) -> None:
        waiting, self.waiting = self.waiting, []
        for callback in waiting:
            callback()


class Reported:
    """A reporter, its turns, and the lines that it has written."""

    def __init__(self, metrics: Metrics | None = None, most_lines: int = 100) -> None:
        self.turns, self._log = Turns(), io.BytesIO()
        lines = LineWriter(self._log, lambda write: write())
        throttle = Throttle(most_lines, lambda: 0.0)
        verdicts = VerdictLog(LogFormat.JSON, lines, lambda: NOON, throttle)
        self.metrics = metrics or Metrics()
        log = make_log(LogFormat.JSON, lines, lambda: NOON)
        observers = Observers(self.metrics, log, verdicts)
        self._reporter = ReviewReporter(observers, throttle, self.turns.soon)

    def take(self, *uids: str) -> None:
        for uid in uids:
            request = admission.decode(broken_review(uid))
            verdict = judge(request, Hook.MUTATE, build.policy(), NoFacts())
            self._reporter.take(AnsweredReview(request, Hook.MUTATE, verdict, 0.001))

    @property
    def lines(self) -> list[tuple[str, str]]:
        decoded = map(json.loads, self._log.getvalue().splitlines())
        return [(line["event"], line["uid"]) for line in decoded]


class FailingMetrics(Metrics):
    """Cannot count the first reviews."""

    def __init__(self, fails: int) -> None:
        super().__init__()
        self.fails = fails

    def count_review(
        self, request: AdmissionRequest, hook: AnyHook, verdict: Verdict, seconds: float
    ) -> None:
        self.fails -= 1
        if self.fails >= 0:
            raise LookupError("canary")
        super().count_review(request, hook, verdict, seconds)


def test_nothing_is_reported_before_the_next_turn() -> None:
    reported = Reported()

    reported.take("a", "b")

    assert reported.lines == []
    reported.turns.turn()
    assert reported.lines == [("denied", "a"), ("denied", "b")]


def test_the_reviews_of_one_turn_are_reported_by_one_callback() -> None:
    reported = Reported()

    reported.take("a", "b")
    waiting = len(reported.turns.waiting)
    reported.turns.turn()
    reported.take("c")
    reported.turns.turn()

    assert waiting == 1
    assert [uid for _, uid in reported.lines] == ["a", "b", "c"]
    assert reported.turns.waiting == []


def test_a_review_that_cannot_be_reported_keeps_no_other_from_it() -> None:
    reported = Reported(FailingMetrics(1))

    reported.take("a", "b")
    reported.turns.turn()

    assert reported.lines == [("bug", "a"), ("denied", "b")]
    failures = reported.metrics.registry.get_sample_value("evenspread_telemetry_failures_total")
    assert failures == 1


def test_lines_about_failed_reports_are_limited() -> None:
    reported = Reported(FailingMetrics(3), most_lines=1)

    reported.take("a", "b", "c")
    reported.turns.turn()

    assert reported.lines == [("bug", "a")]
    failures = reported.metrics.registry.get_sample_value("evenspread_telemetry_failures_total")
    assert failures == 3
