"""Cases of remedies: constraints that are fixed, and constraints that are left."""

import textwrap
from typing import NamedTuple

from tests.fix.fixed import deployment, options, reasons, run_fix
from webhook.policy.api.versions import NEWEST_VERSION, Version


class FixCase(NamedTuple):
    """
    A rule, and what becomes of the constraints of a Deployment.

    Attributes:
        before: The member topologySpreadConstraints, or nothing.
        after: The same fixed.
    """

    rule: str
    before: str
    after: str
    labels: str = "{app: web}"
    cluster: str = ""
    version: Version = NEWEST_VERSION


HEAD = "apiVersion: apps/v1\nkind: Deployment"


class LeftCase(NamedTuple):
    """A rule, and constraints that are left, with a part of the reason."""

    rule: str
    before: str
    reason: str
    labels: str = "{app: web}"
    cluster: str = ""
    version: Version = NEWEST_VERSION
    named: bool = True
    head: str = HEAD


def lines(text: str) -> str:
    return textwrap.indent(textwrap.dedent(text.strip("\n")), "      ").rstrip(" ")


def entry(**changes: str) -> str:
    """One constraint; what is changed to nothing is left out."""
    members = {
        "maxSkew": "1",
        "topologyKey": "a",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": "{matchLabels: {app: web}}",
        **changes,
    }
    written = ", ".join(f"{key}: {value}" for key, value in members.items() if value)
    return f"- {{{written}}}\n"


def listed(*entries: str) -> str:
    return lines("topologySpreadConstraints:\n" + "".join(entries))


def assert_fixed(case: FixCase) -> None:
    """Check that a rule is fixed to the letter, and nothing is left."""
    before = deployment(lines(case.before), case.labels)
    by = options(case.rule, version=case.version)

    outcome = run_fix(before, by, case.cluster)
    again = run_fix(outcome.texts, by, case.cluster)

    assert outcome.texts["web.yaml"] == deployment(lines(case.after), case.labels)
    assert {finding.rule for finding in outcome.fixed} == {case.rule}
    assert (outcome.left, outcome.problems) == ((), ())
    assert (again.fixed, again.texts) == ((), outcome.texts)


def assert_left(case: LeftCase) -> None:
    """Check that a finding is left with its reason."""
    before = deployment(case.before, case.labels).replace(HEAD, case.head)
    by = options(*([case.rule] if case.named else []), version=case.version)

    outcome = run_fix(before, by, case.cluster)

    assert case.reason in reasons(outcome.left)[case.rule]
    assert case.rule not in {finding.rule for finding in outcome.fixed}
    assert outcome.texts["web.yaml"] == before or not case.named
