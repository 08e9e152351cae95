from typing import Any

import pytest

from webhook.cli.inputs.policyeffects import PodEffect
from webhook.cli.terminal import Terminal
from webhook.cli.views.policydiff import (
    PolicyDiff,
    describe_policy_diff,
    show_policy_diff,
    summarize_policy_diff,
)
from webhook.cli.workloadchanges import (
    ChangeCounts,
    FindingChange,
    WorkloadChange,
    WorkloadState,
    count_changes,
)
from webhook.config.profilechanges import ProfileChange, ProfileEdit, SettingsChange
from webhook.explain.explanation import Refusal
from webhook.policy.defaulting.inject import SkipReason
from webhook.policy.rule_entry import Action

ZONE: dict[str, Any] = {"maxSkew": 1, "topologyKey": "zone"}
RACK: dict[str, Any] = {"maxSkew": 1, "topologyKey": "rack"}
NO_PLACE = "0/2 nodes are available: 2 node(s) were unschedulable."
REFUSED = Refusal("TSC101", "spec.template", "counts none of its pods")
OF_API = Refusal("TSC001", "spec.maxSkew", "must be greater than zero")


def state(*constraints: Any, profile: str = "a", **changes: Any) -> WorkloadState:
    values = {"skip": SkipReason.NONE, "denied": (), **changes}
    pod = PodEffect(profile=profile, constraints=constraints, skip=values["skip"])
    failed = changes.get("failed")
    return WorkloadState(pod=pod, failed_scheduling=failed, denied=values["denied"])


def change(before: WorkloadState, after: WorkloadState, **changes: Any) -> WorkloadChange:
    return WorkloadChange(
        kind="Deployment",
        group="apps",
        namespace="shop",
        name="web",
        before=before,
        after=after,
        **changes,
    )


def diff_of(*workloads: WorkloadChange, **changes: Any) -> PolicyDiff:
    return PolicyDiff(workloads=workloads, summary=count_changes(workloads, 5), **changes)


def lines(diff: PolicyDiff, capsys: pytest.CaptureFixture[str]) -> list[str]:
    show_policy_diff(diff, Terminal())
    return capsys.readouterr().out.splitlines()


NEW = ProfileChange("a", (ProfileEdit.NEW,), after={"name": "a", "merge": "IfEmpty"})
IDLE = ProfileChange("b", (ProfileEdit.INEFFECTIVE,), "applies to no pod", {"x": 1}, {"x": 1})
SETTINGS = SettingsChange({"mode": "apply"}, {"mode": "recommend"})


def test_profiles_and_settings(capsys: pytest.CaptureFixture[str]) -> None:
    found = lines(diff_of(profiles=(NEW, IDLE), settings=SETTINGS), capsys)

    assert found == [
        "profile a: new",
        "--- in force",
        "+++ proposed",
        "@@ -0,0 +1,2 @@",
        "+name: a",
        "+merge: IfEmpty",
        "profile b: ineffective: applies to no pod",
        "settings: changed",
        "--- in force",
        "+++ proposed",
        "@@ -1 +1 @@",
        "-mode: apply",
        "+mode: recommend",
        "1 profile new, 1 profile ineffective, settings changed; nothing changes for 5 workloads",
    ]


def test_the_pods_of_a_workload(capsys: pytest.CaptureFixture[str]) -> None:
    after = state(RACK, profile="b", failed=NO_PLACE)
    finding = FindingChange("TSC110", "spec", "is not spread", Action.WARN, Action.DENY)

    found = lines(diff_of(change(state(ZONE), after, findings=(finding,))), capsys)

    assert found == [
        "Deployment shop/web: its next pod changes (profile a -> b)",
        "--- Deployment shop/web, policies in force",
        "+++ Deployment shop/web, policies proposed",
        "@@ -1,3 +1,3 @@",
        " topologySpreadConstraints:",
        " - maxSkew: 1",
        "-  topologyKey: zone",
        "+  topologyKey: rack",
        f"    Pending: {NO_PLACE}",
        "    TSC110 warn -> deny spec: is not spread",
        (
            "no profile changes; 1 of 5 workloads changes: 1 next pod changed, 1 Pending and 0 "
            "denied by the change"
        ),
    ]


# change, its lines without the diff
CONSEQUENCES: dict[str, tuple[WorkloadChange, list[str]]] = {
    "pending before, too": (
        change(state(ZONE, failed=NO_PLACE), state(RACK, failed=NO_PLACE)),
        [f"    Pending (already before): {NO_PLACE}"],
    ),
    "no longer pending": (
        change(state(ZONE, failed=NO_PLACE), state(RACK, failed="")), ["    no longer Pending"]
    ),
    "denied": (
        change(state(), state(denied=(REFUSED,))),
        ["    denied by evenspread: spec.template: counts none of its pods (TSC101)"],
    ),
    "denied before, too": (
        change(state(denied=(REFUSED,)), state(denied=(OF_API,))),
        [
            ("    denied by kube-apiserver: spec.maxSkew: must be greater than zero (TSC001) "
            "(already before)")
        ],
    ),
    "no longer denied": (change(state(denied=(REFUSED,)), state()), ["    no longer denied"]),
    "a finding that is gone": (
        change(state(), state(), findings=(FindingChange("R", "f", "m", Action.WARN),)),
        ["    R warn -> none f: m"],
    ),
    "a new finding": (
        change(state(), state(), findings=(FindingChange("R", "f", "m", None, Action.WARN),)),
        ["    R none -> warn f: m"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("one", "expected"), CONSEQUENCES.values(), ids=CONSEQUENCES.keys())
def test_consequences(
    one: WorkloadChange, expected: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    found = [line for line in lines(diff_of(one), capsys) if line.startswith("    ")]

    assert found == expected


def test_a_denied_pod_is_distinguished_from_its_workload(
    capsys: pytest.CaptureFixture[str],
) -> None:
    after = WorkloadState(pod=PodEffect(denied=(OF_API,)))

    found = lines(diff_of(change(state(), after)), capsys)

    assert (
        "    denied by kube-apiserver: its pods: spec.maxSkew: must be greater than zero (TSC001)"
        in found
    )


def test_a_template_and_the_reason_for_no_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    after = state(profile="", skip=SkipReason.NO_PROFILE)

    first, *_ = lines(diff_of(change(state(ZONE), after, template="spec.a")), capsys)

    assert first == (
        "Deployment shop/web, template spec.a: its next pod changes (profile a -> none; no "
        "defaults: no profile matches it)"
    )


def test_a_workload_whose_pod_stays(capsys: pytest.CaptureFixture[str]) -> None:
    first, *_ = lines(diff_of(change(state(), state(denied=(REFUSED,)))), capsys)

    assert first == "Deployment shop/web: its next pod stays as it is (profile a)"


SUMMARIES: dict[str, tuple[PolicyDiff, str]] = {
    "nothing": (
        PolicyDiff(summary=ChangeCounts(workloads=1)),
        "nothing changes: profiles, settings and the next pods of 1 workload stay as they are",
    ),
    "profiles without an effect": (
        diff_of(profiles=(NEW,)), "1 profile new; nothing changes for 5 workloads"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("diff", "summary"), SUMMARIES.values(), ids=SUMMARIES.keys())
def test_summaries(diff: PolicyDiff, summary: str) -> None:
    assert summarize_policy_diff(diff) == summary


def test_the_document_has_everything() -> None:
    one = change(state(ZONE), state(RACK, failed=NO_PLACE))

    document = describe_policy_diff(diff_of(one, profiles=(NEW,), settings=SETTINGS))

    (row,) = document["workloads"]
    assert row["becomes"] == {"denied": False, "pending": True}
    assert row["after"]["failedScheduling"] == NO_PLACE
    assert row["after"]["pod"]["constraints"] == [RACK]
    assert document["profiles"][0]["edits"] == ["new"]
    assert document["settings"] == {"before": {"mode": "apply"}, "after": {"mode": "recommend"}}
    assert document["summary"] == {
        "workloads": 5,
        "changed": 1,
        "pods": 1,
        "denied": 0,
        "pending": 1,
    }
