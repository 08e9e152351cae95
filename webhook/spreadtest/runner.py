"""
Runner of suites: calls the webhooks for each case and compares the responses.

``run_suite`` is the entry point. It reads no file; ``suite`` loads what it needs. Each member of an
expectation has a view that reduces the response to what the expectation mentions: parts that
nothing expects are left out, and matching parts are written as expected. So the view and the
expectation differ only where the response is not as expected.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from webhook.errors import SourceError
from webhook.manifests.files import encodable
from webhook.policy.facts import Facts
from webhook.policy.paths import is_array, is_object
from webhook.spreadtest.response import call_webhooks
from webhook.spreadtest.results import CaseResult, CaseStatus, Mismatch, SuiteResult
from webhook.spreadtest.suite import Suite, SuiteCase


def run_suite(suite: Suite) -> SuiteResult:
    """Run all cases of a suite."""
    cases = (_run_case(case, suite.cluster, suite.problems) for case in suite.cases)
    return SuiteResult(encodable(suite.source), encodable(suite.name), tuple(cases))


def _run_case(case: SuiteCase, facts: Facts, problems: Sequence[SourceError]) -> CaseResult:
    if problems:
        return _build_error(case, problems[0])
    if isinstance(case.request, SourceError):
        return _build_error(case, case.request)
    try:
        response = call_webhooks(case.request, case.hooks, case.policy, facts)
    except SourceError as error:
        return _build_error(case, error)
    mismatches = tuple(compare(case.expected, msgspec.to_builtins(response)))
    if not mismatches:
        return CaseResult(name=case.name, line=case.line, status=CaseStatus.PASSED)
    return CaseResult(
        name=case.name,
        line=case.line,
        status=CaseStatus.FAILED,
        mismatches=mismatches,
        messages=(*filter(None, [response.message]), *response.warnings),
    )


def _build_error(case: SuiteCase, problem: SourceError) -> CaseResult:
    return CaseResult(name=case.name, line=case.line, status=CaseStatus.ERROR, problem=str(problem))


View = Callable[[Any, Any], Any]
"""Actual value, expected value -> the actual value reduced to what is expected."""


def compare(expected: Mapping[str, Any], actual: Mapping[str, Any]) -> Iterator[Mismatch]:
    """
    Find the members that differ from the expectation.

    Args:
        expected: The members written in an ``Expectation``, of JSON's types.
        actual: All members of a ``CaseResponse``, of JSON's types.
    """
    for member, value in actual.items():
        if member not in expected:
            continue
        required, view = expected[member], VIEWS.get(member)
        found = view(value, required) if view else value
        if _encode(found) != _encode(required):  # unlike in Python, true is not equal to 1
            yield Mismatch(member, required, found)


def view_in_any_order(actual: Sequence[str], expected: Sequence[str]) -> list[str]:
    """Return all items: first the expected ones, in the expected order."""
    matching = [item for item in expected if item in actual]
    return matching + [item for item in actual if item not in expected]


def view_fragment(actual: str, expected: str) -> str:
    """Return the expected part if the text contains it, else the whole text."""
    return expected if expected in actual else actual


def view_fragments(actual: Sequence[str], expected: Sequence[str]) -> list[str]:
    """Return the texts, each as ``view_fragment`` of the expected text at the same position."""
    views = [view_fragment(text, part) for text, part in zip(actual, expected, strict=False)]
    return views + list(actual[len(views) :])


def view_members(actual: Any, expected: Any) -> Any:
    """Return the expected members of a mapping, also within lists of the expected length."""
    if is_object(actual) and is_object(expected):
        return {
            key: view_members(actual[key], inner)
            for key, inner in expected.items()
            if key in actual
        }
    if is_array(actual) and is_array(expected) and len(actual) == len(expected):
        return [view_members(*pair) for pair in zip(actual, expected, strict=True)]
    return actual


VIEWS: Mapping[str, View] = {
    "denied": view_in_any_order,
    "message": view_fragment,
    "warnings": view_fragments,
    "patched": view_members,
    "auditAnnotations": view_members,
}
"""Members that are compared in part; the others are compared as a whole."""

_encode = msgspec.json.Encoder(order="deterministic").encode
