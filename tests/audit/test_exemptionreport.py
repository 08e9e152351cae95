from datetime import UTC, datetime, timedelta, timezone

import pytest

from tests.build import NAMESPACE
from webhook.audit.exemptionreport import FROM_DEFAULTS, ExceptionReport, report_exceptions
from webhook.policy.policyexceptions import MOST_EXCEPTIONS, PolicyException

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


def test_what_the_operator_forbids_is_reported_as_without_effect() -> None:
    both = PolicyException(
        namespace="a", name="a", reason="a", rules=("TSC101", "TSC110"), defaults=True
    )

    (reported,) = report_exceptions([both], {}, NOW, lambda _, scope: scope == "TSC110")

    assert reported.forbidden == ("TSC101", FROM_DEFAULTS)
    none = "(no effect: exemptible is false)"
    assert reported.scope == f"TSC101 {none}, TSC110, defaults {none}"


@pytest.mark.parametrize("hours", [-5, 0, 9])
def test_an_end_is_reported_in_utc(hours: int) -> None:
    there = NOW.astimezone(timezone(timedelta(hours=hours)))
    ends = PolicyException(namespace="a", name="a", reason="a", defaults=True, expires=there)

    (reported,) = report_exceptions([ends], {}, NOW - timedelta(seconds=1))

    assert reported.term == "until 2027-01-01T00:00:00Z"


ENDS = {
    datetime.max.replace(tzinfo=timezone(timedelta(hours=-12))): "9999-12-31T23:59:59.999999-12:00",
    datetime.min.replace(tzinfo=timezone(timedelta(hours=12))): "0001-01-01T00:00:00+12:00",
}


@pytest.mark.parametrize(("end", "written"), ENDS.items(), ids=str)
def test_an_end_that_utc_cannot_write_is_reported_as_written(end: datetime, written: str) -> None:
    ends = PolicyException(namespace="a", name="a", reason="a", defaults=True, expires=end)

    (reported,) = report_exceptions([ends], {}, NOW)

    assert reported.expires == written


def test_exceptions_behind_those_that_count_are_reported_as_without_effect() -> None:
    many = [
        PolicyException(namespace=namespace, name=f"{number:03}", reason="a", defaults=True)
        for namespace in ("a", "b")
        for number in range(MOST_EXCEPTIONS + (namespace == "a"))
    ]

    ignored = [one for one in report_exceptions(many, {}, NOW) if one.is_ignored]

    assert [(one.namespace, one.name, one.term) for one in ignored] == [
        ("a", "100", "without effect, behind the first 100 of its namespace")
    ]
