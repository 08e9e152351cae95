"""
Runner of suites: calls the webhooks for each case and compares the responses.

``run_suite`` is the entry point. It reads no file; ``suite`` loads what it needs.
"""

from collections.abc import Sequence

import msgspec

from webhook.errors import SourceError
from webhook.manifests.files import encodable
from webhook.policy.facts import Facts
from webhook.spreadtest.expectations import compare
from webhook.spreadtest.response import call_webhooks
from webhook.spreadtest.results import CaseResult, CaseStatus, SuiteResult
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
