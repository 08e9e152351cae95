"""Sections of the reference about rules, their messages, examples and fixes."""

import difflib

import msgspec
import yaml

from tests.docs.advice_examples import ADVICE_EXAMPLES as ADVISED
from tests.docs.advice_examples import AdviceExample
from tests.docs.api_examples import API_EXAMPLES, STRICT_EXAMPLES, RuleExample
from tests.docs.reference_texts import REMEDY_TEXTS
from tests.docs.sections import NEXT, code, table
from webhook.audit.strict import find_strict_errors
from webhook.fix.changes import FixObstacle
from webhook.fix.remedies import FIX_REMEDIES, FixRemedy
from webhook.manifests import Document, parse
from webhook.policy.advice.rules import POLICY_RULES
from webhook.policy.api import rules
from webhook.policy.api.predict import DEPRECATED_KEYS, list_warnings
from webhook.policy.api.rules import API_RULES, ValidationOptions
from webhook.policy.catalogue import API_WARNINGS, CATALOGUE, STRICT_RULES, TOO_MANY_CONSTRAINTS
from webhook.policy.model import MAX_CONSTRAINTS, Constraint

LIST = "spec.topologySpreadConstraints"
HEAD = 3  # lines of a diff that name files and places
MAX_LINES = 60  # of an example that is shown whole
FIRST_LINES = 14  # of one that is not


def api_rules() -> str:
    """Describe the rules of the API, with their messages."""
    return NEXT.join(map(_describe, API_RULES))


def api_warnings() -> str:
    """Describe the warnings of the API server."""
    return NEXT.join(map(_describe, API_WARNINGS))


def deprecated() -> str:
    """List the node labels that TSC020 warns about."""
    rows = (
        (code(key), since, code(successor)) for key, (since, successor) in DEPRECATED_KEYS.items()
    )
    return table(("label", "deprecated since", "write instead"), rows)


def own_rules() -> str:
    """Describe the rule that limits the cost of a review."""
    return _describe(TOO_MANY_CONSTRAINTS)


def advice() -> str:
    """Describe the policy rules."""
    return NEXT.join(
        f"### {row.id}: {CATALOGUE[row.id].title}{NEXT}{CATALOGUE[row.id].why}{NEXT}"
        f"- instead: {CATALOGUE[row.id].fix}\n"
        f"- checked by: {CATALOGUE[row.id].scope}, since Kubernetes {CATALOGUE[row.id].since}\n"
        f"- default action: {code(CATALOGUE[row.id].action)}{NEXT}"
        f"{_conditions(ADVISED[row.id])}{_diff_examples(ADVISED[row.id])}"
        for row in POLICY_RULES
    )


def _conditions(example: AdviceExample) -> str:
    """Describe the conditions of an example: feature gates, and a profile."""
    gates = ",".join(f"{name}={str(on).lower()}" for name, on in example.gates.items())
    given = [f"With {code(f'--feature-gates {gates}')}:"] if gates else []
    given += (
        ["With a profile whose default constraint is on zones, with ScheduleAnyway:"]
        if example.profile
        else []
    )
    return "".join(f"{condition}{NEXT}" for condition in given)


def strict_rules() -> str:
    """Describe the rules of strict decoding."""
    return NEXT.join(map(_describe, STRICT_RULES))


def _describe(rule: str) -> str:
    entry, example = CATALOGUE[rule], {**API_EXAMPLES, **STRICT_EXAMPLES}[rule]
    otherwise = f"- otherwise: {entry.effect}\n" if entry.effect != entry.why else ""
    return (
        f"### {rule}: {entry.title}{NEXT}{entry.why}{NEXT}"
        f"{otherwise}- instead: {entry.fix}\n"
        f"- message:{NEXT}  ```text\n  {_message_of(rule)}\n  ```{NEXT}"
        f"{_diff_examples(example)}"
    )


def _diff_examples(example: AdviceExample | RuleExample) -> str:
    """Format both examples of a rule as one diff, whole; a list of a thousand is cut."""
    both = (example.violates.splitlines(), example.passes.splitlines())
    lines = list(difflib.unified_diff(*both, n=sum(map(len, both)), lineterm=""))[HEAD:]
    if len(lines) > MAX_LINES:
        lines = [*lines[:FIRST_LINES], "..."]
    return "\n".join(["```diff", *lines, "```"])


def _message_of(rule: str) -> str:
    """Get the message for the violating example of a rule."""
    if rule in STRICT_EXAMPLES:
        (document,) = parse(STRICT_EXAMPLES[rule].violates, "pod.yaml")
        assert isinstance(document, Document)
        return find_strict_errors(document, ())[0].problem
    pod = yaml.safe_load(API_EXAMPLES[rule].violates)["spec"]
    constraints = msgspec.convert(pod["topologySpreadConstraints"], tuple[Constraint, ...])
    if rule in API_RULES:
        found = rules.check(constraints, LIST, ValidationOptions(merged=True))
        return next(str(violation.error) for violation in found if violation.rule == rule)
    if len(constraints) > MAX_CONSTRAINTS:
        return str(rules.too_many(constraints, LIST).error)
    warned = list_warnings(constraints, LIST)
    return next(warning.text for warning in warned if warning.rule == rule)


def remedies() -> str:
    """List what is written into manifests by rule."""
    rows = (
        (rule, CATALOGUE[rule].title, *_remedy(rule, remedy))
        for rule, remedy in FIX_REMEDIES.items()
        if rule.startswith("TSC")
    )
    return table(("rule", "title", "fix", "on request", "not fixed"), rows)


def _remedy(rule: str, remedy: FixRemedy | FixObstacle) -> tuple[str, str, str]:
    """Describe what a remedy writes, whether on request only, and what it leaves."""
    if isinstance(remedy, FixObstacle):
        return "none", "", remedy.reason
    writes, leaves = REMEDY_TEXTS[rule]
    return writes, "yes" if remedy.on_request else "", leaves
