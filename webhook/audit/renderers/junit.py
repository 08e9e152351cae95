"""
The audit report as JUnit XML: one suite for each namespace, one case for each finding.

Findings below the threshold are passed cases with an output; exempted ones are skipped. A workload
without findings is a passed case. ``document``, ``add`` and ``as_text`` build any document; callers
decide its suites and cases.

Source: the schema of Jenkins' xUnit plugin, junit-10.xsd.
"""

from collections.abc import Iterable
from itertools import groupby
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from webhook.audit.rendering import RenderOptions
from webhook.audit.report import (
    SEVERITY_RANKS,
    AuditFinding,
    AuditReport,
    AuditSeverity,
    WorkloadReport,
)
from webhook.errors import SourceError
from webhook.policy.escape import printable, printable_lines


def render(report: AuditReport, options: RenderOptions) -> str:
    """Render the suites; what cannot be read is an error in a suite of its own."""
    root = document("evenspread audit")
    for namespace, workloads in groupby(report.workloads, lambda workload: workload.namespace):
        suite = add(root, "testsuite", name=namespace)
        for workload in workloads:
            _add_cases(suite, workload, options.threshold)
    _add_problems(root, options.problems)
    return as_text(root)


def _add_problems(root: Element, problems: Iterable[SourceError]) -> None:
    suite: Element | None = None
    for problem in problems:
        suite = add(root, "testsuite", name="unreadable") if suite is None else suite
        case = add(suite, "testcase", classname="unreadable", name=problem.source)
        add(case, "error", printable(str(problem)), type="unreadable", message=problem.problem)


def _add_cases(suite: Element, workload: WorkloadReport, threshold: AuditSeverity | None) -> None:
    if not workload.findings and not workload.exempted:
        _add_case(suite, workload, "audit", workload.line)
    for finding in workload.findings:
        case = _add_case(suite, workload, f"{finding.rule} {finding.field}", finding.line)
        text = _describe(workload, finding)
        if threshold is not None and SEVERITY_RANKS[finding.severity] <= SEVERITY_RANKS[threshold]:
            add(case, "failure", text, type=finding.rule, message=finding.problem)
        else:
            add(case, "system-out", f"{finding.severity}: {text}")
    for finding in workload.exempted:
        case = _add_case(suite, workload, f"{finding.rule} {finding.field}", finding.line)
        add(case, "skipped", message=finding.reason)


def _add_case(suite: Element, workload: WorkloadReport, name: str, line: int) -> Element:
    place = {"file": workload.source, "line": str(line)} if workload.source else {}
    return add(suite, "testcase", classname=workload.title, name=name, **place)


def _describe(workload: WorkloadReport, finding: AuditFinding) -> str:
    place = f"{workload.source}:{finding.line}: " if workload.source else ""
    text = f"{printable(f'{place}{finding.located_problem}')}\ninstead:\n{finding.instead}\n"
    return f"{text}to read more: {finding.read_on}"


_COUNTED = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
"""Attribute of a suite -> the elements that it counts."""


def document(name: str) -> Element:
    """Create a document: the parent element of ``testsuite`` elements."""
    return Element("testsuites", name=printable(name))


def add(parent: Element, tag: str, text: str = "", **attributes: str) -> Element:
    """Add an element; escape its attributes, and each line of its text."""
    shown = {name: printable(value) for name, value in attributes.items()}
    element = SubElement(parent, tag, shown)
    element.text = printable_lines(text) or None
    return element


def as_text(document: Element) -> str:
    """Write a document, indented, with the counts of the document and of each suite."""
    for suite in (*document, document):
        for attribute, tag in _COUNTED.items():
            suite.set(attribute, str(len(list(suite.iter(tag)))))
    indent(document)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(document, encoding="unicode")}\n'
