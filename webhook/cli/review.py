"""``evenspread review``: show the verdict of the server, without running one."""

from collections.abc import Sequence
from typing import Any

import click
from msgspec.structs import replace

from webhook.admission.created_pods import ReviewedObjects, build_created_pod
from webhook.admission.offline import (
    OfflineResult,
    OfflineReview,
    answer_in_turn,
    build_creation,
    build_reviews,
    unpack_recording,
)
from webhook.audit.renderers.names import format_reference
from webhook.audit.report import AuditSeverity
from webhook.cli.exits import ExitCode, outcome
from webhook.cli.inputs.facts import (
    FactsSources,
    list_namespaces,
    namespace_of,
    read_facts,
    read_objects,
    resolve_namespace,
    takes_sources,
)
from webhook.cli.inputs.labelselectors import describe_selected, selects
from webhook.cli.inputs.manifests import Inputs, name_judged
from webhook.cli.inputs.namespaces import put_into_namespace, require_namespace
from webhook.cli.inputs.notes import limit_notes
from webhook.cli.inputs.policy import RequestedPolicy, read_policy
from webhook.cli.inputs.references import TemplateFinder
from webhook.cli.inputs.spreadpolicies import add_spread_policies
from webhook.cli.inputs.unknownnamespaces import note_unknown_namespaces
from webhook.cli.inputs.unknowntemplates import UNKNOWN_TEMPLATES
from webhook.cli.output import OutputFormat, write_document, write_stderr
from webhook.cli.terminal import Terminal
from webhook.cli.views.diffs import name_subject, show_answer
from webhook.cli.views.findings import show
from webhook.cli.views.validation import report_strict_errors, reports_on
from webhook.cli.views.validationreport import ValidationReport
from webhook.cluster.facts import Cluster
from webhook.cluster.manifests import fill
from webhook.config.project import Project
from webhook.errors import ApiError, ManifestError, ReviewError, SourceError
from webhook.manifests import Document
from webhook.policy.advice.findings import count_of
from webhook.policy.kinds import BUILT_IN_KINDS
from webhook.policy.model import LabelSelector
from webhook.policy.paths import FieldPath, is_constraint_list
from webhook.policy.request import BOTH, HOOK_CHOICES, Hook


class Reviewer:
    """
    Answers reviews, shows the answers and counts them.

    Attributes:
        terminal: For answers as text; None for other formats.
        warned: Number of answers with warnings.
        problems: Errors in the selectors of workloads, which may be known already, and templates
            that cannot be read.
        notes: References to pod templates that are unknown.
    """

    def __init__(
        self,
        requested: RequestedPolicy,
        cluster: Cluster,
        templates: TemplateFinder,
        output: OutputFormat,
        hook: str | None,
        *,
        strict: bool,
    ) -> None:
        """
        Start with empty counts.

        Args:
            requested: The policy of the server.
            cluster: Gets the controllers of the pods to be created.
            templates: Finds the pod templates that objects refer to.
            output: The format of the answers.
            hook: The webhooks to call, of ``HOOK_CHOICES``; None for both, and for the one that
                received a recorded request.
            strict: Whether unknown and duplicate fields deny an object, as with kubectl.
        """
        self._policy, self._gates = requested.policy, requested.gates
        self._cluster, self._output, self._hook = cluster, output, hook
        self._templates = templates
        self._strict = strict
        self.terminal = Terminal() if output is OutputFormat.TABLE else None
        self.outcomes = {"patched": 0, "allowed as they are": 0, "denied": 0}
        self.warned = 0
        self.problems: list[SourceError] = []
        self.notes: list[str] = []

    def review(self, request: OfflineReview, *, has_pods: bool) -> list[ManifestError]:
        """
        Answer the review of an object, and those of the pods that it gets.

        Args:
            request: The review.
            has_pods: Whether its pods are reviewed themselves.

        Returns:
            The error of a request that the server cannot answer; empty otherwise.
        """
        before = self._count_noticed()
        problems = self._review(request, has_pods=has_pods)
        if self._output is OutputFormat.NAME and self._count_noticed() > before:
            document = request.document
            click.echo(format_reference(document.group_kind, document.name))
        return problems

    def _count_noticed(self) -> int:
        """Count the answers that are more than a plain permission."""
        return self.outcomes["patched"] + self.outcomes["denied"] + self.warned

    def _review(self, request: OfflineReview, *, has_pods: bool) -> list[ManifestError]:
        strict_errors = self._report_strict_errors(request)
        if strict_errors is not None and strict_errors.denied:
            self._show_refusal(strict_errors)
            return []
        if strict_errors is not None:
            self._show_strict_errors(strict_errors)
        hooks = HOOK_CHOICES[self._hook or BOTH]
        if request.recorded and not self._hook:
            hooks = (request.hook,)
        try:
            result = self._answer(request, hooks)
            if not has_pods:
                self._answer_pod(request, result, hooks)
        except ReviewError as error:
            report = self._predict_response(request.document)
            if request.recorded or not report.denied:
                return [request.document.error(f"the server would answer {error.status}: {error}")]
            shown = () if strict_errors is None else strict_errors.warnings
            rest = tuple(notice for notice in report.warnings if notice not in shown)
            self._show_refusal(replace(report, warnings=rest))
        return []

    def exceeds(self, limit: AuditSeverity) -> bool:
        """Whether an object was denied, or got warnings if the limit is a warning."""
        return bool(self.outcomes["denied"] or (self.warned and limit is AuditSeverity.WARN))

    def summary(self) -> str:
        """Format the counts as one line."""
        outcomes = ", ".join(f"{count} {what}" for what, count in self.outcomes.items())
        return f"{count_of(sum(self.outcomes.values()), 'answer')}: {outcomes}"

    def _predict_response(self, document: Document) -> ValidationReport:
        """Predict the response of kube-apiserver to an object, before it calls a webhook."""
        templates, not_exemptible = self._policy.pod_templates, self._policy.not_exemptible
        return reports_on(document, templates, [self._gates], not_exemptible=not_exemptible)[0]

    def _report_strict_errors(self, request: OfflineReview) -> ValidationReport | None:
        """
        Report the unknown and duplicate fields that kube-apiserver finds before any webhook.

        The webhook itself warns of those of custom kinds.
        """
        kind, strict = request.document.group_kind, self._strict
        places = self._policy.pod_templates.get(kind)
        if request.recorded or places is None or (kind not in BUILT_IN_KINDS and not strict):
            return None
        not_exemptible = self._policy.not_exemptible
        return report_strict_errors(
            request.document, places, strict=strict, not_exemptible=not_exemptible
        )

    def _answer(self, request: OfflineReview, hooks: tuple[Hook, ...]) -> OfflineResult:
        """
        Answer one review by each webhook in turn, until one denies.

        Returns:
            The last answer.

        Raises:
            ReviewError: The object is not a valid review.
        """
        results = answer_in_turn(request, hooks, self._policy, self._cluster)
        self._show(request, results)
        return results[-1]

    def _answer_pod(
        self, request: OfflineReview, result: OfflineResult, hooks: tuple[Hook, ...]
    ) -> None:
        """
        Answer the reviews of the pods that a workload gets: the first one of each pod template.

        Args:
            request: The review of the workload.
            result: The last answer to it.
        """
        if request.recorded or not result.verdict.allowed:
            return
        workload = replace(request.document, value=result.after)
        for judged in (result.request, *result.request.siblings):
            path = judged.path or ()
            workload = self._complete(workload, path)
            created = None if is_constraint_list(path) else build_created_pod(workload, path)
            if created is not None:
                self.problems += fill(self._cluster, [created.controller])
                uid = f"{judged.uid}-pod"
                creation = build_creation(created.document, uid, name_subject(request, result))
                self._answer(creation, hooks)

    def _complete(self, workload: Document, path: FieldPath) -> Document:
        """Give a workload the template that it refers to; without it, note what is not shown."""
        try:
            return self._templates.complete(workload, path)
        except ApiError as error:
            self.problems.append(error)
        except SourceError as error:
            self.notes.append(f"note: {workload.place()}: {error}")
        return workload

    def _show_refusal(self, report: ValidationReport) -> None:
        """Show an object that kube-apiserver itself would deny, before it calls a webhook."""
        self.outcomes["denied"] += 1
        status = {"code": report.code, "reason": "BadRequest", "message": report.message}
        self._show_prediction(report, {"allowed": False, "status": status})

    def _show_strict_errors(self, report: ValidationReport) -> None:
        """Show the warnings of kube-apiserver about fields that it drops."""
        self.warned += 1
        warnings = [notice.message for notice in report.warnings]
        self._show_prediction(report, {"allowed": True, "warnings": warnings})

    def _show_prediction(self, report: ValidationReport, response: dict[str, Any]) -> None:
        if self.terminal:
            show(report, self.terminal)
        elif self._output is not OutputFormat.NAME:
            place = {"source": report.source, "line": report.line}
            write_document({**place, "response": response}, self._output)

    def _show(self, request: OfflineReview, results: Sequence[OfflineResult]) -> None:
        patched = any(result.verdict.patch for result in results)
        outcome = "patched" if patched else "allowed as they are"
        self.outcomes[outcome if results[-1].verdict.allowed else "denied"] += 1
        self.warned += any(result.verdict.warnings for result in results)
        if self.terminal:
            show_answer(request, results, self.terminal)
        elif self._output is not OutputFormat.NAME:
            for result in results:
                write_document(_as_document(request, result), self._output)


def _as_document(request: OfflineReview, result: OfflineResult) -> dict[str, Any]:
    """Build the document of one answer; that of a created pod contains the pod as sent."""
    place = {"source": request.document.source, "line": request.document.line()}
    created = {"createdBy": request.creator, "object": result.before} if request.creator else {}
    return {**place, **created, "hook": str(result.hook), **result.review}


@takes_sources
def review(
    *,
    filename: tuple[str, ...],
    strict: bool,
    output: OutputFormat,
    fail_on: AuditSeverity,
    hook: str | None,
    namespace: str,
    selector: LabelSelector,
    project: Project | None,
    sources: FactsSources,
    **policy_options: Any,
) -> ExitCode:
    """Answer every object and show the answers."""
    requested = read_policy(project=project, **policy_options)
    judged = requested.configuration.pod_templates
    inputs = Inputs(
        filename, strict=strict, unpack=unpack_recording, project=project, judged=judged
    )
    inside = resolve_namespace(namespace, sources)
    documents = list(put_into_namespace(inputs.objects(), inside))
    if sources.live is None:
        require_namespace(namespace, set(list_namespaces(documents)))
    owners = requested.configuration.owner_selectors
    others = list(put_into_namespace(read_objects(inputs, sources.paths, owners), inside))
    cluster = read_facts(sources, documents, owners, inputs, inside, others=others)
    requested = add_spread_policies(requested, inputs, sources.live)
    templates = TemplateFinder([*others, *documents], judged, sources.live)
    reviewer = Reviewer(requested, cluster, templates, output, hook, strict=strict)
    reviewed = ReviewedObjects(documents)
    chosen = [
        document
        for document in documents
        if selects(selector, document.value) and namespace in ("", namespace_of(document))
    ]
    for request in build_reviews(chosen, judged):
        has_pods = reviewed.have_pods_of(request.document)
        inputs.problems += reviewer.review(request, has_pods=has_pods)
    known = set(map(str, inputs.problems))
    inputs.problems += (error for error in reviewer.problems if str(error) not in known)
    if not any(reviewer.outcomes.values()):
        inputs.report_nothing(describe_selected(name_judged(judged), selector))
    profiles, inhabited = requested.policy.profiles, map(namespace_of, chosen)
    for note in (
        *limit_notes(reviewer.notes, UNKNOWN_TEMPLATES),
        *note_unknown_namespaces(profiles, inhabited, cluster.namespace_labels),
    ):
        write_stderr(note)
    inputs.report()
    if reviewer.terminal:
        reviewer.terminal.line(reviewer.summary())
    return outcome(findings=reviewer.exceeds(fail_on), unfinished=bool(inputs.problems))
