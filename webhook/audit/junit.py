"""
Writer of JUnit XML, for the test view of a CI system.

``document``, ``add`` and ``as_text`` build a document; callers decide its suites and cases.

Source: the schema of Jenkins' xUnit plugin, junit-10.xsd.
"""

from xml.etree.ElementTree import Element, SubElement, indent, tostring

from webhook.policy.escape import printable, printable_lines

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
