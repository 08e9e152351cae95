"""
A change of policies as text: ``show_policy_diff``, and as a document: ``describe_policy_diff``.

Nothing here compares; see ``workloadchanges`` and ``webhook.config.profilechanges``.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from webhook.cli.terminal import Style, Terminal
from webhook.cli.views.diffs import REASONS, show_yaml_diff
from webhook.cli.views.findings import name_of
from webhook.cli.workloadchanges import ChangeCounts, FindingChange, WorkloadChange, WorkloadState
from webhook.config.profilechanges import ProfileChange, ProfileEdit, SettingsChange
from webhook.explain.explanation import name_refusing_server
from webhook.policy.advice.findings import count_of
from webhook.policy.rule_entry import Action

_HEADS = ("in force", "proposed")


class PolicyDiff(msgspec.Struct, frozen=True, kw_only=True):
    """
    The effect of a change of policies.

    Attributes:
        settings: Those that are not about one profile; None if they stay as they are.
    """

    profiles: tuple[ProfileChange, ...] = ()
    settings: SettingsChange | None = None
    workloads: tuple[WorkloadChange, ...] = ()
    summary: ChangeCounts = ChangeCounts()


def describe_policy_diff(diff: PolicyDiff) -> dict[str, Any]:
    """Describe a diff as JSON's types."""
    described: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(diff))
    marks = [{"denied": one.is_denied, "pending": one.is_pending} for one in diff.workloads]
    rows = [
        {**row, "becomes": mark} for row, mark in zip(described["workloads"], marks, strict=True)
    ]
    return {**described, "workloads": rows}


def show_policy_diff(diff: PolicyDiff, terminal: Terminal) -> None:
    """Write the profiles and settings that change, the workloads, and a summary."""
    for profile in diff.profiles:
        _show_profile(profile, terminal)
    if diff.settings is not None:
        terminal.line(("settings", Style.PLACE), ": changed")
        show_yaml_diff(diff.settings.before, diff.settings.after, _HEADS, terminal)
    for workload in diff.workloads:
        _show_workload(workload, terminal)
    terminal.line((summarize_policy_diff(diff), Style.PLACE))


def _show_profile(change: ProfileChange, terminal: Terminal) -> None:
    reason = f": {change.reason}" if change.reason else ""
    style = Style.DOUBTFUL if change.reason else Style.PLAIN
    edits = ", ".join(map(str, change.edits))
    terminal.line((f"profile {change.name}", Style.PLACE), ": ", (f"{edits}{reason}", style))
    show_yaml_diff(change.before, change.after, _HEADS, terminal)


def _show_workload(change: WorkloadChange, terminal: Terminal) -> None:
    subject = name_of(change.kind, change.namespace, change.name)
    template = f", template {change.template}" if change.template else ""
    pod = "its next pod changes" if change.changes_pod else "its next pod stays as it is"
    terminal.line((f"{subject}{template}", Style.PLACE), f": {pod}{_describe_profile(change)}")
    old, new = _content_of(change.before), _content_of(change.after)
    heads = (f"{subject}, policies {_HEADS[0]}", f"{subject}, policies {_HEADS[1]}")
    show_yaml_diff(old or None, new or None, heads, terminal)
    for sentence, style in _describe_consequences(change):
        terminal.line("    ", (sentence, style))
    for finding in change.findings:
        _show_finding(finding, terminal)


def _describe_profile(change: WorkloadChange) -> str:
    before, after = change.before.pod, change.after.pod
    names = [one.profile or "none" for one in (before, after)]
    which = names[0] if names[0] == names[1] else f"{names[0]} -> {names[1]}"
    reason = f"; no defaults: {REASONS[after.skip]}" if after.skip else ""
    return f" (profile {which}{reason})"


def _content_of(state: WorkloadState) -> dict[str, Any]:
    """Return what the policy decides about a pod, without what is empty."""
    pod = state.pod
    content = {
        "labels": dict(pod.labels),
        "annotations": dict(pod.annotations),
        "topologySpreadConstraints": list(pod.constraints),
        "recommended": list(pod.recommended),
    }
    return {name: value for name, value in content.items() if value}


def _describe_consequences(change: WorkloadChange) -> Iterator[tuple[str, Style]]:
    before, after = change.before, change.after
    if after.refusals:
        first = after.refusals[0]
        what = "" if after.denied else "its pods: "
        sentence = f"denied by {name_refusing_server(after.refusals)}: {what}"
        mark = "" if change.is_denied else " (already before)"
        rule = f" ({first.rule})" if first.rule else ""
        text = f"{sentence}{first.field}: {first.message}{rule}{mark}"
        yield text, Style.BAD if change.is_denied else Style.DOUBTFUL
    elif before.refusals:
        yield "no longer denied", Style.GOOD
    if after.failed_scheduling:
        mark = "" if change.is_pending else " (already before)"
        text = f"Pending{mark}: {after.failed_scheduling}"
        yield text, Style.BAD if change.is_pending else Style.DOUBTFUL
    elif before.failed_scheduling:
        yield "no longer Pending", Style.GOOD


def _show_finding(finding: FindingChange, terminal: Terminal) -> None:
    actions = " -> ".join(str(action or "none") for action in (finding.before, finding.after))
    style = Style.BAD if finding.after is Action.DENY else Style.DOUBTFUL
    style = Style.GOOD if finding.after is None else style
    text = f" {finding.field}: {finding.message}"
    terminal.line("    ", (f"{finding.rule} {actions}", style), text)


def summarize_policy_diff(diff: PolicyDiff) -> str:
    """Summarize a diff in one line."""
    counts = diff.summary
    every = count_of(counts.workloads, "workload")
    if not (diff.profiles or diff.settings or diff.workloads):
        return f"nothing changes: profiles, settings and the next pods of {every} stay as they are"
    policies = ", ".join(_count_edits(diff.profiles)) or "no profile changes"
    if diff.settings is not None:
        policies += ", settings changed"
    if not counts.changed:
        return f"{policies}; nothing changes for {every}"
    verb = "changes" if counts.changed == 1 else "change"
    return (
        f"{policies}; {counts.changed} of {every} {verb}: {count_of(counts.pods, 'next pod')} "
        f"changed, {counts.pending} Pending and {counts.denied} denied by the change"
    )


def _count_edits(profiles: Sequence[ProfileChange]) -> Iterator[str]:
    counts = Counter(edit for change in profiles for edit in change.edits)
    for edit in ProfileEdit:
        if counts[edit]:
            yield f"{count_of(counts[edit], 'profile')} {edit}"
