"""
JUnit, for the test view of a CI: a suite a namespace, a case a finding or a workload in order.

Findings below the threshold are passed cases that say what they found; exempted ones are skipped.

Source: the schema of Jenkins' xUnit plugin, junit-10.xsd.
"""

from itertools import groupby
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from webhook.audit.report import RANKS, Finding, Report, Weight, WorkloadReport

_IN_ORDER = "audit"


def render(report: Report, threshold: Weight | None) -> str:
    """Write the suites."""
    root = Element("testsuites", name="evenspread audit")
    for namespace, workloads in groupby(report.workloads, lambda each: each.namespace):
        suite = SubElement(root, "testsuite", name=_printable(namespace))
        for workload in workloads:
            _cases(suite, workload, threshold)
        _count(suite)
    _count(root)
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _cases(suite: Element, workload: WorkloadReport, threshold: Weight | None) -> None:
    if not workload.findings and not workload.exempted:
        _case(suite, workload, _IN_ORDER)
    for finding in workload.findings:
        case = _case(suite, workload, f"{finding.rule} {finding.field}")
        said = _text(workload, finding)
        if threshold is not None and RANKS[finding.weight] <= RANKS[threshold]:
            told = _printable(finding.problem)
            SubElement(case, "failure", type=finding.rule, message=told).text = said
        else:
            SubElement(case, "system-out").text = f"{finding.weight}: {said}"
    for finding in workload.exempted:
        case = _case(suite, workload, f"{finding.rule} {finding.field}")
        SubElement(case, "skipped", message=_printable(finding.reason))


def _case(suite: Element, workload: WorkloadReport, name: str) -> Element:
    case = SubElement(
        suite, "testcase", classname=_printable(workload.title), name=_printable(name)
    )
    if workload.source:
        case.set("file", _printable(workload.source))
        case.set("line", str(workload.line))
    return case


def _text(workload: WorkloadReport, finding: Finding) -> str:
    place = f"{workload.source}:{finding.line}: " if workload.source else ""
    said = f"{place}{finding.field}: {finding.problem}\ninstead:\n{finding.instead}\n"
    return _printable(f"{said}to read more: {finding.read_on}")


def _printable(text: str) -> str:
    """A text without the control characters that XML 1.0 has no way to write."""
    return "".join(
        each if each.isprintable() or each in "\n\t" else "\N{REPLACEMENT CHARACTER}"
        for each in text
    )


def _count(element: Element) -> None:
    cases = list(element.iter("testcase"))
    element.set("tests", str(len(cases)))
    element.set("failures", str(len(list(element.iter("failure")))))
    element.set("skipped", str(len(list(element.iter("skipped")))))
    element.set("errors", "0")
