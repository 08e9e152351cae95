"""The report of ``evenspread fix``."""

import dataclasses

import msgspec
import pytest

from tests.audit import world
from tests.fix.fixed import deployment, objects, options, run_fix
from webhook.audit.report import AuditSeverity
from webhook.audit.snapshot import Snapshot
from webhook.fix.changes import Change, Move, Put, Remove, Wrap
from webhook.fix.evaluate import Evaluation
from webhook.fix.report import (
    NOT_WRITTEN,
    FixReport,
    describe_changes,
    describe_unwritten,
    name_of,
)

CONSTRAINTS = """\
      topologySpreadConstraints:
      - topologyKey: ""
        whenUnsatisfiable: ScheduleAnyway
        matchLabelKeys: [app, tier]
        labelSelector: {matchExpressions: [{key: app, operator: Exists}]}
"""
LIST = ("spec", "template", "spec", "topologySpreadConstraints")

# change, description
DESCRIBED: dict[str, tuple[Change, str]] = {
    "an added member": (Put((*LIST, 0, "maxSkew"), 1), "added maxSkew: 1"),
    "a replaced member": (
        Put((*LIST, 0, "topologyKey"), "zone"),
        'wrote topologyKey: zone, not ""',
    ),
    "an added item": (
        Put((*LIST, 0, "matchLabelKeys", 2), "x"),
        "added x in matchLabelKeys",
    ),
    "a removed member": (
        Remove((*LIST, 0, "whenUnsatisfiable")),
        "removed whenUnsatisfiable: ScheduleAnyway",
    ),
    "a removed text": (
        Remove((*LIST, 0, "matchLabelKeys", 1)),
        "removed matchLabelKeys[1] (tier)",
    ),
    "a removed expression": (
        Remove((*LIST, 0, "labelSelector", "matchExpressions", 0)),
        "removed matchExpressions[0] ({key: app, operator: Exists})",
    ),
    "a removed item": (Remove((*LIST, 0)), "removed topologySpreadConstraints[0]"),
    "a renamed member": (
        Move((*LIST, 0, "skew"), (*LIST, 0, "maxSkew"), 1),
        "renamed skew to maxSkew",
    ),
    "a wrapped member": (
        Wrap((*LIST, 0, "matchLabels"), "labelSelector", {}),
        (
            "moved spec.template.spec.topologySpreadConstraints[0].matchLabels to "
            "spec.template.spec.topologySpreadConstraints[0].labelSelector.matchLabels"
        ),
    ),
    "a moved member": (
        Move(("spec", "topologySpreadConstraints"), LIST, []),
        "moved spec.topologySpreadConstraints to spec.template.spec.topologySpreadConstraints",
    ),
}


@pytest.mark.parametrize(("change", "words"), DESCRIBED.values(), ids=DESCRIBED.keys())
def test_a_change_is_described_in_words(change: Change, words: str) -> None:
    (written,) = objects(deployment(CONSTRAINTS))

    assert describe_changes([change], written.value) == words
    assert describe_changes([change, change], written.value) == f"{words}; {words}"


def test_an_object_is_named_by_kind_namespace_and_name() -> None:
    (evaluated,) = Evaluation.of_documents(
        objects(deployment("")), Snapshot(), options()
    ).evaluate_objects()

    assert name_of(evaluated.audited) == "Deployment shop/web"


def test_a_report_exceeds_a_severity_if_such_a_finding_is_left() -> None:
    left = run_fix(deployment(CONSTRAINTS), options("TSC002")).left
    report = FixReport(written=False, changed=(), fixed=(), left=left)

    assert report.exceeds(left[0].severity)
    assert not report.exceeds(None)
    assert not FixReport(written=True, changed=(), fixed=(), left=()).exceeds(left[0].severity)


def test_a_finding_below_the_level_may_have_a_fix() -> None:
    lenient = dataclasses.replace(options(), level=AuditSeverity.DENY)
    constraints = """\
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: "", whenUnsatisfiable: DoNotSchedule, labelSelector: {}}
"""

    left = run_fix(deployment(constraints), lenient).left

    assert {one.rule: one.below_level for one in left} == {"TSC002": False, "TSC102": True}
    assert {one.rule: one.has_fix for one in left} == {"TSC002": False, "TSC102": True}


def test_findings_below_the_level_that_have_no_fix_are_left_for_the_same_reason() -> None:
    (uneven,) = run_fix(world.LIVE, options("TSC114")).left
    (below,) = [
        left
        for left in run_fix(
            world.LIVE, dataclasses.replace(options(), level=AuditSeverity.WARN)
        ).left
        if left.rule == "TSC114"
    ]

    assert (below.reason, below.below_level) == (uneven.reason, True)
    assert not uneven.below_level


def test_a_fix_that_could_not_be_written_leaves_its_finding() -> None:
    (fixed,) = run_fix(deployment(CONSTRAINTS), options("TSC001")).fixed

    left = describe_unwritten(fixed)

    members = msgspec.to_builtins(fixed)
    assert members.pop("wrote") == "added maxSkew: 1"
    assert members.pop("resource") == "deployment.apps/web"
    assert msgspec.to_builtins(left) == members | {"reason": NOT_WRITTEN, "belowLevel": False}
