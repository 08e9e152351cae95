from datetime import UTC, datetime, timedelta, timezone

import pytest

from tests.build import NAMESPACE
from webhook.audit.exemptionreport import ExceptionReport, report_exceptions
from webhook.policy.policyexceptions import PolicyException

NOW = datetime(2027, 1, 1, tzinfo=UTC)
RULES = PolicyException(
    namespace=NAMESPACE, name="rules", reason="a", rules=("TSC101", "TSC110"), expires=NOW
)
DEFAULTS = PolicyException(namespace=NAMESPACE, name="all", reason="b", defaults=True)


def test_exceptions_are_reported_in_order_with_what_they_exempt() -> None:
    reported = report_exceptions([RULES, DEFAULTS], {(NAMESPACE, "rules"): 2}, NOW)

    assert reported == (
        ExceptionReport(
            namespace=NAMESPACE,
            name="all",
            rules=(),
            defaults=True,
            reason="b",
            expires="",
            is_expired=False,
            exempted=0,
        ),
        ExceptionReport(
            namespace=NAMESPACE,
            name="rules",
            rules=("TSC101", "TSC110"),
            defaults=False,
            reason="a",
            expires="2027-01-01T00:00:00Z",
            is_expired=True,
            exempted=2,
        ),
    )
    assert [one.scope for one in reported] == ["defaults", "TSC101, TSC110"]
    assert [one.term for one in reported] == ["without end", "expired 2027-01-01T00:00:00Z"]


@pytest.mark.parametrize("hours", [-5, 0, 9])
def test_an_end_is_reported_in_utc(hours: int) -> None:
    there = NOW.astimezone(timezone(timedelta(hours=hours)))
    ends = PolicyException(namespace="a", name="a", reason="a", defaults=True, expires=there)

    (reported,) = report_exceptions([ends], {}, NOW - timedelta(seconds=1))

    assert reported.term == "until 2027-01-01T00:00:00Z"
