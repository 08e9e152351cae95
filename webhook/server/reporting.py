"""
Metrics and log lines of answered reviews.

``ReviewReporter.take`` is the entry point. An answer is sent before anything about it is reported,
and the reviews of one turn of the event loop are reported together. So the caller does not wait,
and the processor finds this code in its caches: for each of eight reviews it takes half the time.
"""

from typing import NamedTuple

from webhook.policy.request import AdmissionRequest, AnyHook
from webhook.policy.verdict import Verdict
from webhook.server.verdict_log import VerdictLog
from webhook.telemetry.line_writer import Soon
from webhook.telemetry.logs import Log, Throttle, log_bug
from webhook.telemetry.metrics import Metrics


class Observers(NamedTuple):
    """Where the listener reports: metrics, the log, and the log of verdicts."""

    metrics: Metrics
    log: Log
    verdict_log: VerdictLog


class AnsweredReview(NamedTuple):
    """
    A review with its verdict.

    Attributes:
        seconds: From the receipt of the request to the verdict.
    """

    request: AdmissionRequest
    hook: AnyHook
    verdict: Verdict
    seconds: float


class ReviewReporter:
    """Reports answered reviews in the next turn of the event loop."""

    def __init__(self, observers: Observers, throttle: Throttle, soon: Soon) -> None:
        """
        Start without a review.

        Args:
            throttle: Limits the lines about failures of reports.
            soon: ``call_soon`` of the event loop.
        """
        self._metrics, self._log, self._verdict_log = observers
        self._throttle = throttle
        self._soon = soon
        self._answered: list[AnsweredReview] = []

    def take(self, answered: AnsweredReview) -> None:
        """Keep a review until the next turn of the event loop."""
        if not self._answered:
            self._soon(self._report_all)
        self._answered.append(answered)

    def _report_all(self) -> None:
        answered, self._answered = self._answered, []
        for one in answered:
            self._report(one)

    def _report(self, answered: AnsweredReview) -> None:
        """Count and log a verdict; a failure here does not change any answer."""
        request, hook, verdict, seconds = answered
        try:
            self._metrics.count_review(request, hook, verdict, seconds)
            self._verdict_log.write(request, hook, verdict)
        except Exception as error:  # noqa: BLE001  # a bug of ours that no caller must notice
            self._metrics.telemetry_failures.inc()
            if (missed := self._throttle.admit()) is not None:
                log_bug(self._log, error, uid=request.uid, missed=str(missed))
