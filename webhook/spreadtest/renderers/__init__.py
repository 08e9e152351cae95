"""
Reports as texts for programs: one module a format, each with ``render``, a pure function.

``FORMATS`` lists them; ``render`` imports the one that is asked for. What people read on a terminal
is written by the command.
"""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from webhook.spreadtest.results import Report

FORMATS: Mapping[str, str] = MappingProxyType(
    {
        "json": "webhook.spreadtest.renderers.jsonreport",
        "junit": "webhook.spreadtest.renderers.junit",
    }
)
"""What ``-o`` takes -> the module that renders it."""


def render(report: Report, output: str) -> str:
    """
    Make a text of a report; it ends with a line break.

    Args:
        report: What came of suites.
        output: A key of ``FORMATS``.
    """
    text: str = import_module(FORMATS[output]).render(report)
    return text
