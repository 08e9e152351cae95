"""Whose fault a failed call is."""

import pytest

from tests.soak.outages import SETTLE_S, Outages, Outcome, judge_call

TIMEOUT = 'failed calling webhook "mutate.evenspread.io": context deadline exceeded'

UNKNOWN = (
    'failed calling webhook "mutate.evenspread.io": failed to call webhook: Post '
    '"https://soak.test-1.svc:42765/mutate?timeout=10s": service "soak" not found'
)


@pytest.mark.parametrize(
    ("status", "message", "cause", "outcome"),
    [
        (201, "", "", Outcome.SUCCEEDED),
        (200, "", "etcd paused", Outcome.SUCCEEDED),
        (0, "ConnectionRefusedError()", "API server killed", Outcome.EXCUSED),
        (504, "etcdserver: request timed out", "etcd paused", Outcome.EXCUSED),
        (0, "ConnectionRefusedError()", "", Outcome.FAILED),
        (409, "the object has been modified", "", Outcome.FAILED),
        (500, TIMEOUT, "etcd paused", Outcome.FAILED),
        (500, UNKNOWN, "API server killed", Outcome.EXCUSED),
        (500, UNKNOWN, "", Outcome.FAILED),
        (422, 'admission webhook "validate.evenspread.io" denied', "", Outcome.FAILED),
    ],
)
def test_only_an_outage_excuses_a_call_and_of_webhooks_only_an_unknown_service(
    status: int, message: str, cause: str, outcome: Outcome
) -> None:
    assert judge_call(status, message, cause) is outcome


def test_an_outage_explains_calls_that_overlap_with_it_or_come_soon_after() -> None:
    now = 100.0
    outages = Outages(lambda: now)
    with outages.during("etcd paused"):
        assert outages.cause(101, 102) == "etcd paused"
        now = 110.0

    assert outages.cause(90, 99) == ""
    assert outages.cause(90, 100) == "etcd paused"
    assert outages.cause(110 + SETTLE_S, 200) == "etcd paused"
    assert outages.cause(110.1 + SETTLE_S, 200) == ""
