"""A finding with its object, as remedies read it."""

import dataclasses

import pytest
from msgspec.structs import replace

from tests.fix.fixed import context_of, deployment
from webhook.fix.finding import ABSENT, FindingContext
from webhook.policy.api.schema import DUPLICATE_FIELD, UNKNOWN_FIELD, StrictFinding
from webhook.policy.paths import FieldPath

CONSTRAINTS = """\
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway, labelSelector: {}}
      - {maxSkew: 0, topologyKey: "", whenUnsatisfiable: DoNotSchedule, labelSelector: {}}
"""
VALID = CONSTRAINTS.splitlines(keepends=True)[1]
LIST = ("spec", "template", "spec", "topologySpreadConstraints")
MISSPELT = StrictFinding(UNKNOWN_FIELD, (*LIST, 1, "minDomain"), meant=(*LIST, 1, "minDomains"))
UNKNOWN = StrictFinding(UNKNOWN_FIELD, (*LIST, 1, "colour"))


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

    assert found.instead == (((*LIST, 0, "labelSelector"), {"matchLabels": {"app": "web"}}),)


def test_a_finding_may_propose_several_values() -> None:
    found = context("TSC102", CONSTRAINTS.splitlines(keepends=True)[0] + VALID)
    policies = "labelSelector: {}\nnodeTaintsPolicy: Honor"
    several = dataclasses.replace(found, finding=replace(found.finding, instead=policies))

    assert several.instead == (
        ((*LIST, 0, "labelSelector"), {}),
        ((*LIST, 0, "nodeTaintsPolicy"), "Honor"),
    )


def test_a_comment_is_no_value() -> None:
    found = context("TSC102", CONSTRAINTS.splitlines(keepends=True)[0] + VALID)
    commented = dataclasses.replace(
        found, finding=replace(found.finding, instead="# label the nodes")
    )

    assert commented.instead == ()


def test_a_finding_may_propose_a_value_of_another_field() -> None:
    found = context("TSC001")
    soft = "whenUnsatisfiable: ScheduleAnyway\nminDomains: null"
    changed = dataclasses.replace(found, finding=replace(found.finding, instead=soft))

    assert changed.instead == (
        ((*LIST, 1, "whenUnsatisfiable"), "ScheduleAnyway"),
        ((*LIST, 1, "minDomains"), None),
    )


@pytest.mark.parametrize("one", [MISSPELT, UNKNOWN], ids=["misspelled", "unknown"])
def test_a_finding_about_an_unknown_field_leads_to_this_field(one: StrictFinding) -> None:
    found = context("TSC001")
    about = replace(found.finding, rule=UNKNOWN_FIELD, field=one.field)
    duplicate = StrictFinding(DUPLICATE_FIELD, one.path)
    changed = dataclasses.replace(
        found, finding=about, strict_findings=(duplicate, MISSPELT, UNKNOWN)
    )

    assert changed.strict == one


def test_other_findings_are_about_no_unknown_field() -> None:
    assert (
        dataclasses.replace(context("TSC001"), strict_findings=(MISSPELT, UNKNOWN)).strict is None
    )


# path, whether the misspelled minDomain has its value
PATHS: dict[str, tuple[FieldPath, bool]] = {
    "the field": ((*LIST, 1, "minDomains"), True),
    "its constraint": ((*LIST, 1), True),
    "a part of the field": ((*LIST, 1, "minDomains", "x"), True),
    "another field": ((*LIST, 1, "maxSkew"), False),
    "another constraint": ((*LIST, 0, "minDomains"), False),
}


@pytest.mark.parametrize(("path", "is_misspelled"), PATHS.values(), ids=PATHS.keys())
def test_a_misspelled_field_is_found_by_the_path_that_was_meant(
    path: FieldPath, *, is_misspelled: bool
) -> None:
    found = dataclasses.replace(context("TSC001"), strict_findings=(UNKNOWN, MISSPELT))

    assert found.find_misspelled(path) == (MISSPELT if is_misspelled else None)


def test_a_field_that_is_written_is_not_misspelled() -> None:
    skew = StrictFinding(UNKNOWN_FIELD, (*LIST, 1, "skew"), meant=(*LIST, 1, "maxSkew"))
    found = dataclasses.replace(context("TSC001"), strict_findings=(skew,))

    assert found.find_misspelled(skew.meant) is None


def test_a_finding_about_an_unknown_field_has_no_other_misspelled_field() -> None:
    found = context("TSC001")
    about = replace(found.finding, rule=UNKNOWN_FIELD, field=MISSPELT.field)
    changed = dataclasses.replace(found, finding=about, strict_findings=(MISSPELT,))

    assert changed.find_misspelled(MISSPELT.meant) is None


def test_only_a_field_that_is_written_several_times_is_a_duplicate() -> None:
    duplicate = StrictFinding(DUPLICATE_FIELD, (*LIST, 1, "maxSkew"))
    found = dataclasses.replace(context("TSC001"), strict_findings=(duplicate, UNKNOWN))

    assert found.is_duplicate(duplicate.path)
    assert not found.is_duplicate(UNKNOWN.path)
