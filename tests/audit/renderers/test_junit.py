from collections.abc import Iterable
from typing import Any
from xml.etree.ElementTree import fromstring

import pytest
from hypothesis import given
from hypothesis import strategies as st
from junitparser import JUnitXml

from tests.audit.world import EVERYTHING, audit, finding, report
from webhook.audit.renderers import junit, render_report
from webhook.audit.rendering import RenderOptions
from webhook.audit.report import AuditReport, AuditSeverity
from webhook.errors import ManifestError, SourceError
from webhook.policy.escape import printable, printable_lines


def read(made: AuditReport, threshold: AuditSeverity | None = AuditSeverity.DENY) -> Any:
    return JUnitXml.fromstring(render_report(made, "junit", RenderOptions(threshold)).encode())


def cases(suites: Any) -> Iterable[Any]:
    return [case for suite in suites for case in suite]


def test_a_suite_a_namespace_and_a_case_a_finding() -> None:
    suites = read(audit(EVERYTHING))

    assert [suite.name for suite in suites] == ["ops", "shop"]
    assert (suites.tests, suites.failures, suites.errors, suites.skipped) == (3, 1, 0, 0)
    assert [(case.classname, case.name.split()[0]) for case in cases(suites)] == [
        ("Pod ops/lone", "TSC001"),
        ("Deployment shop/web", "TSC114"),
        ("StatefulSet shop/db", "TSC110"),
    ]


THRESHOLDS = {
    "only what is denied": (AuditSeverity.DENY, 0),
    "warnings too": (AuditSeverity.WARN, 1),
    "everything": (AuditSeverity.AUDIT, 2),
    "nothing": (None, 0),
}


@pytest.mark.parametrize(("threshold", "failures"), THRESHOLDS.values(), ids=THRESHOLDS.keys())
def test_the_threshold_decides_what_is_a_failure(
    threshold: AuditSeverity | None, failures: int
) -> None:
    made = report(finding(), finding(severity=AuditSeverity.AUDIT))

    assert read(made, threshold).failures == failures


def test_unreadable_files_are_errors() -> None:
    problems = (ManifestError("b.yaml", 3, "invalid YAML"), SourceError("c.yaml", "not text"))
    suites: Any = JUnitXml.fromstring(
        render_report(report(finding()), "junit", RenderOptions(problems=problems)).encode()
    )

    assert (suites.tests, suites.errors, suites.failures) == (3, 2, 0)
    *_, unreadable = suites
    assert [case.name for case in unreadable] == ["b.yaml", "c.yaml"]
    assert [case.result[0].message for case in unreadable] == ["invalid YAML", "not text"]


def test_a_case_is_on_the_line_of_its_finding() -> None:
    made = report(finding(), source="web.yaml")

    lines = [case.get("line") for case in fromstring(render_report(made, "junit")).iter("testcase")]

    assert lines == ["7"]


def test_a_failure_contains_where_what_and_what_instead() -> None:
    (case,) = cases(read(report(finding(), source="web.yaml"), AuditSeverity.WARN))
    (failure,) = case.result

    assert failure.message == "it does not match"
    assert "web.yaml:7: spec.topologySpreadConstraints[0].labelSelector" in failure.text
    assert "instead:\nlabelSelector: {matchLabels: {app: web}}" in failure.text


def test_exempted_findings_are_skipped_and_workloads_in_order_pass() -> None:
    assert read(report(exempted=(finding(reason="by contract"),))).skipped == 1
    assert read(report()).tests == 1


def test_control_characters_of_manifests_do_not_break_it() -> None:
    made = report(finding(problem="a\x01b"), name="web\x02", namespace="\x03")

    assert read(made, AuditSeverity.WARN).failures == 1


def test_what_suites_hold_is_counted() -> None:
    root = junit.document("all")
    for result in ("failure", "error", "skipped"):
        suite = junit.add(root, "testsuite", name=result)
        junit.add(suite, "testcase", name="passed")
        junit.add(junit.add(suite, "testcase", name=result), result, "why", message=result)

    read = fromstring(junit.as_text(root))

    counted = ("tests", "failures", "errors", "skipped")
    assert [[suite.get(name) for name in counted] for suite in (read, *read)] == [
        ["6", "1", "1", "1"],
        ["2", "1", "0", "0"],
        ["2", "0", "1", "0"],
        ["2", "0", "0", "1"],
    ]


@given(st.text(), st.text())
def test_any_text_can_be_written(name: str, text: str) -> None:
    root = junit.document(name)
    junit.add(root, "system-out", text, message=name)

    (read,) = fromstring(junit.as_text(root))

    assert (read.get("message"), read.text or "") == (printable(name), printable_lines(text))


def test_control_characters_are_escaped() -> None:
    root = junit.document("a\x00b")

    assert fromstring(junit.as_text(root)).get("name") == r"a\x00b"
