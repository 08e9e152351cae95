"""
JUnit's XML, for the test view of a CI; what its suites and cases are, is decided by who writes it.

Source: the schema of Jenkins' xUnit plugin, junit-10.xsd.
"""

from xml.etree.ElementTree import Element, SubElement, indent, tostring

_COUNTED = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
"""Attribute of a suite -> the elements in it that it counts."""


def document(name: str) -> Element:
    """Begin a document: the element that takes ``testsuite`` elements."""
    return Element("testsuites", name=_printable(name))


def add(parent: Element, tag: str, text: str = "", **attributes: str) -> Element:
    """Add an element; what XML has no way to write is replaced in its text and attributes."""
    shown = {name: _printable(value) for name, value in attributes.items()}
    element = SubElement(parent, tag, shown)
    element.text = _printable(text) or None
    return element


def as_text(document: Element) -> str:
    """Count what is in a document and in each of its suites, and write it, indented."""
    for suite in (*document, document):
        for attribute, tag in _COUNTED.items():
            suite.set(attribute, str(len(list(suite.iter(tag)))))
    indent(document)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(document, encoding="unicode")}\n'


def _printable(text: str) -> str:
    """A text without the control characters that XML 1.0 has no way to write."""
    return "".join(
        each if each.isprintable() or each in "\n\t" else "\N{REPLACEMENT CHARACTER}"
        for each in text
    )
