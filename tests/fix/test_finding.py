"""A finding with its object, as remedies read it."""

import dataclasses

from msgspec.structs import replace

from tests.fix.fixed import context_of, deployment
from webhook.fix.finding import ABSENT, FindingContext

CONSTRAINTS = """\
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway, labelSelector: {}}
      - {maxSkew: 0, topologyKey: "", whenUnsatisfiable: DoNotSchedule, labelSelector: {}}
"""
VALID = CONSTRAINTS.splitlines(keepends=True)[1]
LIST = ("spec", "template", "spec", "topologySpreadConstraints")


def context(rule: str, constraints: str = CONSTRAINTS) -> FindingContext:
    return context_of(deployment(constraints), rule)


def test_a_finding_leads_to_its_constraint() -> None:
    found = context("TSC001")

    assert found.path == (*LIST, 1, "maxSkew")
    assert (found.list_path, found.entry, found.entry_index) == (LIST, (*LIST, 1), 1)
    assert found.constraint.when_unsatisfiable == "DoNotSchedule"


def test_a_field_that_is_not_written_is_absent() -> None:
    found = context("TSC001")

    assert found.written(found.path) == 0
    assert found.written((*found.entry, "minDomains")) is ABSENT
    assert found.written((*LIST, 7)) is ABSENT


def test_a_finding_may_propose_a_value() -> None:
    found = context("TSC102", CONSTRAINTS.splitlines(keepends=True)[0] + VALID)

    assert found.instead == (
        (*LIST, 0, "labelSelector"),
        {"matchLabels": {"app": "web"}},
    )


def test_a_comment_is_no_value() -> None:
    found = context("TSC102", CONSTRAINTS.splitlines(keepends=True)[0] + VALID)
    commented = dataclasses.replace(
        found, finding=replace(found.finding, instead="# label the nodes")
    )

    assert commented.instead is None
