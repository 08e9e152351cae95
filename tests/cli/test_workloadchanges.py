from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.cli.inputs.policyeffects import ObjectEffect, PodEffect, RuleResult
from webhook.cli.workloadchanges import (
    ChangeCounts,
    FindingChange,
    WorkloadChange,
    WorkloadEffect,
    WorkloadTemplateName,
    compare_findings,
    compare_workload,
    count_changes,
)
from webhook.explain.explanation import Refusal
from webhook.policy.defaulting.inject import SkipReason
from webhook.policy.rule_entry import Action

NAME = WorkloadTemplateName("Deployment", "apps", "shop", "web")
ZONE: dict[str, Any] = {"topologyKey": "zone"}
RACK: dict[str, Any] = {"topologyKey": "rack"}
NO_PLACE = "0/2 nodes are available: 2 node(s) were unschedulable."
REFUSED = Refusal("TSC101", "spec", "counts none of its pods")
PLAIN, ZONES, RACKS = PodEffect(), PodEffect(constraints=(ZONE,)), PodEffect(constraints=(RACK,))


def effect(pod: PodEffect = PLAIN, *findings: RuleResult, denied: bool = False) -> WorkloadEffect:
    return WorkloadEffect(pod, ObjectEffect(findings, (REFUSED,) if denied else ()))


def found(action: Action, rule: str = "TSC101", message: str = "why") -> RuleResult:
    return RuleResult(rule, "spec", message, action)


def compare(
    before: WorkloadEffect, after: WorkloadEffect, *failures: str | None
) -> WorkloadChange | None:
    """Compare; the failures are those of the pods before and after, or the pods are not placed."""

    def find_failure(side: int) -> str | None:
        return failures[side]

    return compare_workload(NAME, before, after, find_failure)


# effects before and after, failures; changes pod, denied, pending, warns
CHANGES: dict[str, tuple[WorkloadEffect, WorkloadEffect, tuple[str, ...], tuple[bool, ...]]] = {
    "constraints": (effect(ZONES), effect(RACKS), ("", ""), (True, False, False, False)),
    "pending": (effect(ZONES), effect(RACKS), ("", NO_PLACE), (True, False, True, False)),
    "pending before, too": (
        effect(ZONES), effect(RACKS), (NO_PLACE, NO_PLACE), (True, False, False, False)
    ),
    "no longer pending": (
        effect(ZONES), effect(RACKS), (NO_PLACE, ""), (True, False, False, False)
    ),
    "an annotation": (
        effect(PodEffect(annotations={"a": "1"})), effect(), (), (True, False, False, False)
    ),
    "a label": (effect(PodEffect(labels={"a": "1"})), effect(), (), (True, False, False, False)),
    "a recommendation": (
        effect(), effect(PodEffect(recommended=(ZONE,))), (), (False, False, False, False)
    ),
    "denied": (effect(), effect(denied=True), (), (False, True, False, False)),
    "denied before, too": (
        effect(denied=True), effect(ZONES, denied=True), ("", ""), (True, False, False, False)
    ),
    "pending instead of denied": (
        effect(denied=True), effect(ZONES), ("", NO_PLACE), (True, False, False, False)
    ),
    "no longer denied": (effect(denied=True), effect(), (), (False, False, False, False)),
    "a pod that is denied": (
        effect(), effect(PodEffect(denied=(REFUSED,))), (), (False, True, False, False)
    ),
    "a warning": (effect(), effect(PLAIN, found(Action.WARN)), (), (False, False, False, True)),
    "a milder action": (
        effect(PLAIN, found(Action.DENY)), effect(PLAIN, found(Action.WARN)), (),
        (False, False, False, False),
    ),
    "a record": (effect(), effect(PLAIN, found(Action.AUDIT)), (), (False, False, False, False)),
}  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "failures", "properties"), CHANGES.values(), ids=CHANGES.keys()
)
def test_changes(
    before: WorkloadEffect,
    after: WorkloadEffect,
    failures: tuple[str, ...],
    properties: tuple[bool, ...],
) -> None:
    change = compare(before, after, *failures)

    assert change is not None
    found = (change.changes_pod, change.is_denied, change.is_pending, change.warns)
    assert found == properties
    assert (change.kind, change.group, change.namespace, change.name) == NAME_PARTS


NAME_PARTS = ("Deployment", "apps", "shop", "web")

# effects that differ in nothing that a user notices
EQUAL = {
    "the same": (effect(ZONES), effect(ZONES)),
    "another reason": (
        effect(PodEffect(skip=SkipReason.NO_PROFILE)),
        effect(PodEffect(skip=SkipReason.NOTHING_TO_ADD)),
    ),
    "another profile without an effect": (effect(PodEffect(profile="a")), effect()),
    "another message": (
        effect(PLAIN, found(Action.WARN)),
        effect(PLAIN, found(Action.WARN, message="other words")),
    ),
}


@pytest.mark.parametrize(("before", "after"), EQUAL.values(), ids=EQUAL.keys())
def test_no_change(before: WorkloadEffect, after: WorkloadEffect) -> None:
    assert compare(before, after) is None


def test_a_denied_pod_is_not_placed() -> None:
    denied = PodEffect(constraints=(RACK,), denied=(REFUSED,))

    change = compare(effect(ZONES), effect(denied), "")

    assert change is not None
    assert (change.before.failed_scheduling, change.after.failed_scheduling) == ("", None)


def test_equal_constraints_are_not_placed() -> None:
    change = compare(effect(ZONES), effect(ZONES, denied=True))

    assert change is not None
    assert change.after.failed_scheduling is None


def test_findings_are_those_whose_action_differs() -> None:
    before = [found(Action.WARN), found(Action.AUDIT, "TSC110"), found(Action.WARN, "TSC102")]
    after = [found(Action.WARN), found(Action.DENY, "TSC110", "new"), found(Action.WARN, "TSC103")]

    assert list(compare_findings(before, after)) == [
        FindingChange("TSC110", "spec", "new", Action.AUDIT, Action.DENY),
        FindingChange("TSC102", "spec", "why", Action.WARN, None),
        FindingChange("TSC103", "spec", "why", None, Action.WARN),
    ]


def test_changes_are_counted() -> None:
    rows = (compare(*row[:2], *row[2]) for row in CHANGES.values())
    changes = [change for change in rows if change is not None]

    counts = count_changes(changes, 50)

    assert counts == ChangeCounts(workloads=50, changed=15, pods=8, denied=2, pending=1)


pods = st.builds(
    PodEffect,
    profile=st.sampled_from("ab"),
    labels=st.dictionaries(st.sampled_from("xy"), st.sampled_from("12")),
    constraints=st.lists(st.sampled_from([ZONE, RACK]), max_size=2).map(tuple),
    denied=st.sampled_from([(), (REFUSED,)]),
)
results = st.lists(
    st.builds(found, st.sampled_from(Action), st.sampled_from(["TSC101", "TSC110"])),
    max_size=2,
    unique_by=lambda one: one.rule,
)
effects = st.builds(
    lambda pod, findings, denied: effect(pod, *findings, denied=denied),
    pods, results, st.booleans(),
)  # fmt: skip


@given(effects)
def test_an_effect_does_not_differ_from_itself(one: WorkloadEffect) -> None:
    assert compare(one, one) is None


@given(effects, effects)
def test_the_reverse_of_a_change_is_never_a_harm_too(
    before: WorkloadEffect, after: WorkloadEffect
) -> None:
    there, back = compare(before, after, "", ""), compare(after, before, "", "")

    assert (there is None) == (back is None)
    if there is not None and back is not None:
        assert there.changes_pod == back.changes_pod
        assert not (there.is_denied and back.is_denied)
        assert len(there.findings) == len(back.findings)
