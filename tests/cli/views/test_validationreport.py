from typing import Any

import pytest

from webhook.cli.views.validationreport import ValidationNotice, ValidationReport

NOTICE = ValidationNotice("minDomains: dropped", "minDomains", "TSC111", 13, "leave it out")

# members of a report, whether it is denied, whether it has warnings
REPORTS: dict[str, tuple[dict[str, Any], bool, bool]] = {
    "an object that is created": ({}, False, False),
    "a violated rule": ({"code": 422}, True, False),
    "an object that cannot be decoded": ({"code": 400}, True, False),
    "a warning": ({"warnings": (NOTICE,)}, False, True),
    "a dropped field": ({"dropped": (NOTICE,)}, False, True),
}


@pytest.mark.parametrize(("members", "denied", "warned"), REPORTS.values(), ids=REPORTS)
def test_a_report_is_denied_or_has_warnings(
    members: dict[str, Any], denied: bool, warned: bool
) -> None:
    report = ValidationReport(
        source="pod.yaml",
        line=1,
        api_version="v1",
        kind="Pod",
        namespace="shop",
        name="web",
        **members,
    )

    assert (report.denied, report.has_warnings) == (denied, warned)
