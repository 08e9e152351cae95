"""
Reports as texts for programs: one module a format, each with ``render_report``, a pure function.

``TEST_FORMATS`` lists them; ``render_report`` imports the requested one. The command writes what a
terminal shows.
"""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from webhook.spreadtest.results import SuiteReport

TEST_FORMATS: Mapping[str, str] = MappingProxyType(
    {
        "json": "webhook.spreadtest.renderers.jsonreport",
        "junit": "webhook.spreadtest.renderers.junit",
    }
)
"""What ``-o`` takes -> the module that renders it."""


def render_report(report: SuiteReport, output: str) -> str:
    """
    Make a text of a report; it ends with a line break.

    Args:
        report: What came of suites.
        output: A key of ``TEST_FORMATS``.
    """
    text: str = import_module(TEST_FORMATS[output]).render(report)
    return text
