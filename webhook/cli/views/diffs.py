"""Verdict of the server as text: a diff of YAML, warnings, or the reason for no defaults."""

from difflib import unified_diff
from typing import Any

from webhook.admission.offline import OfflineResult, OfflineReview
from webhook.cli.terminal import Style, Terminal
from webhook.cli.views.findings import name_of, show_causes
from webhook.cli.views.validation import causes
from webhook.manifests import format_yaml
from webhook.policy.defaulting.inject import SkipReason
from webhook.policy.request import Hook
from webhook.policy.verdict import Verdict

REASONS = {
    SkipReason.GATE_OFF: "feature gate EvenspreadDefaults or EvenPodsSpread is off",
    SkipReason.NO_SPEC: "it has no metadata or no spec",
    SkipReason.MIRROR_POD: "it is a mirror pod, which its kubelet does not change",
    SkipReason.BOUND: "it already has a node",
    SkipReason.EXEMPT_NAMESPACE: "its namespace is exempt",
    SkipReason.SKIP_LABEL: 'it is labelled evenspread.io/skip: "true"',
    SkipReason.NO_PROFILE: "no profile matches it",
    SkipReason.OWN_CONSTRAINTS: "it has its own constraints",
    SkipReason.NOTHING_TO_ADD: "its profile has nothing to add",
    SkipReason.NO_SELECTOR: "no Service selects it and its owner is unknown",
}
"""Why a pod gets no defaults, as text."""

_STYLES = {"+": Style.GOOD, "-": Style.BAD, "@": Style.HINT}
_HEADINGS = ("+++", "---")


def show_answer(
    review: OfflineReview, result: OfflineResult, hook: Hook, terminal: Terminal
) -> None:
    """Write the verdict on an object, its causes or warnings, and the patch."""
    document, verdict, request = review.document, result.verdict, result.request
    subject = name_of(request.kind.kind, request.namespace, request.shown_name)
    sentence, style = _describe_verdict(verdict, hook)
    terminal.line((document.place(), Style.PLACE), f": {subject}: ", (sentence, style))
    if not verdict.allowed:
        path, findings = request.path or (), list(verdict.findings)
        show_causes(document.source, subject, causes(document, path, findings), terminal)
    for warning in verdict.warnings:
        terminal.line("    ", ("warning", Style.DOUBTFUL), f": {warning}")
    show_diff(result.before, result.after, subject, terminal)


def show_diff(before: Any, after: Any, subject: str, terminal: Terminal) -> None:
    """Write the diff of an object as YAML; nothing if the patch changes nothing."""
    if before == after:
        return
    old, new = format_yaml(before).splitlines(), format_yaml(after).splitlines()
    for line in unified_diff(old, new, f"{subject} as sent", f"{subject} as patched", lineterm=""):
        terminal.line((line, style_of(line)))


def _describe_verdict(verdict: Verdict, hook: Hook) -> tuple[str, Style]:
    injection = verdict.injection
    if not verdict.allowed:
        return f"denied by {hook} with {verdict.code}", Style.BAD
    if verdict.patch:
        by = f" by profile {injection.profile}" if injection and injection.entries else ""
        return f"patched{by}", Style.GOOD
    if injection and injection.skip:
        return f"allowed as it is, without defaults: {REASONS[injection.skip]}", Style.PLAIN
    return "allowed as it is", Style.PLAIN


def style_of(line: str) -> Style:
    """The colour of a line of a diff."""
    return Style.PLACE if line.startswith(_HEADINGS) else _STYLES.get(line[:1], Style.PLAIN)
