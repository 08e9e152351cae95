"""``evenspread review``: show the verdict of the server, without running one."""

from typing import Any

import click

from webhook.admission.offline import (
    HOOK_CHOICES,
    OfflineResult,
    OfflineReview,
    answer_review,
    build_reviews,
    follow_up_review,
    unpack_recording,
)
from webhook.audit.report import AuditSeverity
from webhook.cli import options
from webhook.cli.command import Command
from webhook.cli.exits import ExitCode, outcome
from webhook.cli.inputs.manifests import Inputs, facts_from
from webhook.cli.inputs.policy import read_policy
from webhook.cli.output import OutputFormat, write_document
from webhook.cli.terminal import Terminal
from webhook.cli.views.diffs import show_answer
from webhook.cli.views.findings import show
from webhook.cli.views.validation import ValidationReport, reports_on
from webhook.errors import ReviewError
from webhook.policy.advice.findings import count_of
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.facts import Facts
from webhook.policy.request import Hook


class Reviewer:
    """
    Answers reviews, shows the answers and counts them.

    Attributes:
        terminal: For answers as text; None for JSON and YAML.
        warned: Number of answers with warnings.
    """

    def __init__(self, policy: Policy, facts: Facts, output: OutputFormat) -> None:
        """Start with empty counts."""
        self._policy, self._facts, self._output = policy, facts, output
        self.terminal = Terminal() if output is OutputFormat.TABLE else None
        self.outcomes = {"patched": 0, "allowed as they are": 0, "denied": 0}
        self.warned = 0

    def answer(self, request: OfflineReview, hooks: tuple[Hook, ...]) -> None:
        """
        Answer one review by each webhook in turn, until one denies.

        Raises:
            ReviewError: The object is not a valid review.
        """
        result = None
        for hook in hooks:
            request = follow_up_review(request, result) if result else request
            result = answer_review(request, hook, self._policy, self._facts)
            self._show(request, result, hook)
            if not result.verdict.allowed:
                break

    def show_refusal(self, report: ValidationReport) -> None:
        """Show an object that kube-apiserver itself would deny, before it calls a webhook."""
        self.outcomes["denied"] += 1
        if self.terminal:
            show(report, self.terminal)
        else:
            status = {"code": report.code, "reason": "BadRequest", "message": report.message}
            response = {"allowed": False, "status": status}
            write_document(
                {"source": report.source, "line": report.line, "response": response}, self._output
            )

    def _show(self, request: OfflineReview, result: OfflineResult, hook: Hook) -> None:
        verdict = result.verdict
        patched = "patched" if verdict.patch else "allowed as they are"
        self.outcomes[patched if verdict.allowed else "denied"] += 1
        self.warned += bool(verdict.warnings)
        if self.terminal:
            show_answer(request, result, hook, self.terminal)
        else:
            source, line = request.document.source, request.document.line()
            place = {"source": source, "line": line, "hook": str(hook)}
            write_document(place | result.review, self._output)

    def summary(self) -> str:
        """Format the counts as one line."""
        outcomes = ", ".join(f"{count} {what}" for what, count in self.outcomes.items())
        return f"{count_of(sum(self.outcomes.values()), 'answer')}: {outcomes}"


def review(
    *,
    filename: tuple[str, ...],
    strict: bool,
    output: OutputFormat,
    fail_on: AuditSeverity,
    hook: str | None,
    cluster: str,
    **policy_options: Any,
) -> ExitCode:
    """Answer every object and show the answers."""
    requested = read_policy(**policy_options)
    policy = requested.policy
    inputs = Inputs(filename, strict=strict, unpack=unpack_recording)
    documents = list(inputs.objects())
    facts = facts_from(cluster, documents, requested.configuration.owner_selectors, inputs)
    reviewer = Reviewer(policy, facts, output)
    for request in build_reviews(documents, policy.pod_templates):
        try:
            reviewer.answer(request, HOOK_CHOICES[hook] if hook else (request.hook,))
        except ReviewError as error:
            report = reports_on(request.document, policy.pod_templates, [requested.gates])[0]
            if request.recorded or not report.denied:
                problem = f"the server would answer {error.status}: {error}"
                inputs.problems.append(request.document.error(problem))
            else:
                reviewer.show_refusal(report)
    inputs.report()
    if reviewer.terminal:
        reviewer.terminal.line(reviewer.summary())
    warned = reviewer.warned and fail_on is AuditSeverity.WARN
    findings = bool(reviewer.outcomes["denied"] or warned)
    return outcome(findings=findings, unfinished=bool(inputs.problems))


command = Command(
    "review",
    callback=review,
    params=[
        options.filename("Manifests or recorded AdmissionReviews"),
        options.STRICT,
        options.CLUSTER,
        *options.POLICY,
        click.Option(
            ["--hook"],
            type=click.Choice(list(HOOK_CHOICES)),
            help="Webhook to call; `both` calls mutate first, and then validate with the patched "
            "object. Default: mutate, or the webhook of a recorded review.",
        ),
        options.output(),
        options.fail_on(),
    ],
    help=(
        "Show what the server would answer to manifests and recorded AdmissionReviews: the patch "
        "as a diff, warnings, or a denial with its causes. A manifest is reviewed as if it were "
        "created now. Services, owners and Nodes are read from --cluster, or from the same files."
    ),
    examples=(
        "evenspread review -f pod.yaml --config config.yaml --cluster cluster/",
        "evenspread review -f review.json --scheduler-config kube-scheduler.yaml -o json",
        "kubectl get pods -o yaml | evenspread review -f - --hook validate",
    ),
)
