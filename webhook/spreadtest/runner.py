"""Runs the cases of suites: the server is asked, and its answer compared."""

from collections.abc import Sequence

import msgspec

from webhook.errors import SourceError
from webhook.policy.facts import Facts
from webhook.spreadtest.expectations import compare
from webhook.spreadtest.response import call_webhooks
from webhook.spreadtest.results import CaseResult, CaseStatus, SuiteResult
from webhook.spreadtest.suite import Suite, SuiteCase


def run_suite(suite: Suite) -> SuiteResult:
    """Run all cases of a suite."""
    cases = (_run(case, suite.cluster, suite.problems) for case in suite.cases)
    return SuiteResult(suite.source, suite.name, tuple(cases))


def _run(case: SuiteCase, facts: Facts, problems: Sequence[SourceError]) -> CaseResult:
    for problem in problems:
        return _broken(case, problem)
    if isinstance(case.asked, SourceError):
        return _broken(case, case.asked)
    try:
        answer = call_webhooks(case.asked, case.hooks, case.policy, facts)
    except SourceError as error:
        return _broken(case, error)
    mismatches = tuple(compare(case.expected, msgspec.to_builtins(answer)))
    if not mismatches:
        return CaseResult(name=case.name, line=case.line, status=CaseStatus.PASSED)
    said = (*filter(None, [answer.message]), *answer.warnings)
    return CaseResult(
        name=case.name, line=case.line, status=CaseStatus.FAILED, mismatches=mismatches, said=said
    )


def _broken(case: SuiteCase, problem: SourceError) -> CaseResult:
    return CaseResult(name=case.name, line=case.line, status=CaseStatus.ERROR, problem=str(problem))
