"""Verdict of the server as text: a diff of YAML, warnings, or the reason for no defaults."""

from collections.abc import Iterator, Sequence
from difflib import unified_diff
from typing import Any

from webhook.admission.offline import OfflineResult, OfflineReview
from webhook.cli.terminal import Style, Terminal
from webhook.cli.views.findings import name_of, show_causes
from webhook.cli.views.validation import causes
from webhook.cli.views.validationreport import Cause
from webhook.manifests import Document, format_yaml
from webhook.policy.defaulting.inject import SkipReason
from webhook.policy.paths import constraints_field
from webhook.policy.request import AdmissionRequest
from webhook.policy.verdict import Verdict

REASONS = {
    SkipReason.GATE_OFF: "feature gate EvenspreadDefaults or EvenPodsSpread is off",
    SkipReason.NO_SPEC: "it has no metadata or no spec",
    SkipReason.MIRROR_POD: "it is a mirror pod, which its kubelet does not change",
    SkipReason.BOUND: "it already has a node",
    SkipReason.EXEMPT_NAMESPACE: "its namespace is exempt",
    SkipReason.SKIP_LABEL: 'it is labelled evenspread.io/skip: "true"',
    SkipReason.NO_PROFILE: "no profile matches it",
    SkipReason.EXCEPTION: "a SpreadPolicyException of its namespace exempts it",
    SkipReason.GANG: "it is part of a gang, and its profile does not have gangs: true",
    SkipReason.OWN_CONSTRAINTS: "it has its own constraints",
    SkipReason.NOTHING_TO_ADD: "its profile has nothing to add",
    SkipReason.NO_SELECTOR: "no Service selects it, and no selector of an owner applies",
}
"""Why a pod gets no defaults, as text."""

_STYLES = {"+": Style.GOOD, "-": Style.BAD, "@": Style.HINT}
_HEADINGS = ("+++", "---")


def show_answer(
    review: OfflineReview,
    results: Sequence[OfflineResult],
    terminal: Terminal,
) -> None:
    """
    Write the verdict on an object, its causes or warnings, and the patch.

    Args:
        results: The answers of the webhooks, as ``answer_in_turn`` returns them.
    """
    document, first, last = review.document, results[0], results[-1]
    subject = name_subject(review, last)
    sentence, style = _describe_verdict(first if last.verdict.allowed else last)
    terminal.line((document.place(), Style.PLACE), f": {subject}: ", (sentence, style))
    if not last.verdict.allowed:
        found = _list_causes(document, last.request, last.verdict)
        show_causes(document.source, subject, found, terminal)
    # A user sees each warning once, see ``webhook.spreadtest.response``.
    warnings = [text for result in results for text in result.verdict.warnings]
    for warning in dict.fromkeys(warnings):
        terminal.line("    ", ("warning", Style.DOUBTFUL), f": {warning}")
    show_diff(first.before, last.after, subject, terminal)


def name_subject(review: OfflineReview, result: OfflineResult) -> str:
    """Render an object as ``Pod shop/web``, or a created one as ``pod of Deployment shop/web``."""
    request = result.request
    if review.creator:
        return f"{request.kind.kind.lower()} of {review.creator}"
    return name_of(request.kind.kind, request.namespace, request.shown_name)


def _list_causes(
    document: Document, request: AdmissionRequest, verdict: Verdict
) -> Iterator[Cause]:
    """List the causes of a denial; each is in one of the object's pod templates."""
    for finding in verdict.findings:
        field = finding.error.field
        inside = (
            one for one in request.siblings if field.startswith(constraints_field(one.path or ()))
        )
        judged = next(inside, request)
        yield from causes(document, judged.path or (), [finding], judged.template)


def show_diff(before: Any, after: Any, subject: str, terminal: Terminal) -> None:
    """Write the diff of an object as YAML; nothing if the patch changes nothing."""
    if before == after:
        return
    show_yaml_diff(before, after, (f"{subject} as sent", f"{subject} as patched"), terminal)


def show_yaml_diff(before: Any, after: Any, heads: tuple[str, str], terminal: Terminal) -> None:
    """
    Write the diff of two values as YAML; nothing if they are equal.

    Args:
        before: None if there is no such value; likewise ``after``.
        heads: The titles of both.
    """
    old, new = ([] if one is None else format_yaml(one).splitlines() for one in (before, after))
    for line in unified_diff(old, new, *heads, lineterm=""):
        terminal.line((line, style_of(line)))


def _describe_verdict(result: OfflineResult) -> tuple[str, Style]:
    verdict, injection = result.verdict, result.verdict.injection
    if not verdict.allowed:
        return f"denied by {result.hook} with {verdict.code}", Style.BAD
    if verdict.patch:
        adds = injection is not None and (injection.entries or verdict.labelled)
        by = f" by profile {injection.profile}" if injection and adds else ""
        return f"patched{by}", Style.GOOD
    if injection and injection.skip:
        return f"allowed as it is, without defaults: {REASONS[injection.skip]}", Style.PLAIN
    return "allowed as it is", Style.PLAIN


def style_of(line: str) -> Style:
    """The colour of a line of a diff."""
    return Style.PLACE if line.startswith(_HEADINGS) else _STYLES.get(line[:1], Style.PLAIN)
