"""``evenspread review``: show the verdict of the server, without running one."""

from collections.abc import Sequence
from typing import Any

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
from webhook.audit.report import AuditSeverity
from webhook.cli.exits import ExitCode, outcome
from webhook.cli.inputs.facts import (
    FactsSources,
    list_namespaces,
    namespace_of,
    read_facts,
    resolve_namespace,
    takes_sources,
)
from webhook.cli.inputs.labelselectors import describe_selected, selects
from webhook.cli.inputs.manifests import WORKLOAD, Inputs
from webhook.cli.inputs.namespaces import put_into_namespace, require_namespace
from webhook.cli.inputs.policy import read_policy
from webhook.cli.output import OutputFormat, write_document
from webhook.cli.terminal import Terminal
from webhook.cli.views.diffs import name_subject, show_answer
from webhook.cli.views.findings import show
from webhook.cli.views.validation import ValidationReport, report_strict_errors, reports_on
from webhook.cluster.facts import Cluster
from webhook.cluster.manifests import fill
from webhook.config.project import Project
from webhook.errors import ManifestError, ReviewError
from webhook.policy.advice.findings import count_of
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.kinds import BUILT_IN_KINDS
from webhook.policy.model import LabelSelector
from webhook.policy.paths import is_constraint_list
from webhook.policy.request import BOTH, HOOK_CHOICES, Hook


class Reviewer:
    """
    Answers reviews, shows the answers and counts them.

    Attributes:
        terminal: For answers as text; None for JSON and YAML.
        warned: Number of answers with warnings.
        problems: Errors in the selectors of workloads; they may be known already.
    """

    def __init__(self, policy: Policy, cluster: Cluster, output: OutputFormat) -> None:
        """Start with empty counts; the cluster gets the controllers of the pods to be created."""
        self._policy, self._cluster, self._output = policy, cluster, output
        self.terminal = Terminal() if output is OutputFormat.TABLE else None
        self.outcomes = {"patched": 0, "allowed as they are": 0, "denied": 0}
        self.warned = 0
        self.problems: list[ManifestError] = []

    def answer(self, request: OfflineReview, hooks: tuple[Hook, ...]) -> OfflineResult:
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

    def answer_pod(
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
            created = None if is_constraint_list(path) else build_created_pod(workload, path)
            if created is not None:
                self.problems += fill(self._cluster, [created.controller])
                uid = f"{judged.uid}-pod"
                creation = build_creation(created.document, uid, name_subject(request, result))
                self.answer(creation, hooks)

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

    def show_strict_errors(self, report: ValidationReport) -> None:
        """Show the warnings of kube-apiserver about fields that it drops."""
        self.warned += 1
        if self.terminal:
            show(report, self.terminal)
        else:
            warnings = [notice.message for notice in report.warnings]
            response = {"allowed": True, "warnings": warnings}
            place = {"source": report.source, "line": report.line}
            write_document({**place, "response": response}, self._output)

    def _show(self, request: OfflineReview, results: Sequence[OfflineResult]) -> None:
        patched = any(result.verdict.patch for result in results)
        outcome = "patched" if patched else "allowed as they are"
        self.outcomes[outcome if results[-1].verdict.allowed else "denied"] += 1
        self.warned += any(result.verdict.warnings for result in results)
        if self.terminal:
            lacks = self._lacks_namespace(results[0].request.namespace)
            show_answer(request, results, self.terminal, lacks_namespace=lacks)
            return
        for result in results:
            write_document(_as_document(request, result), self._output)

    def _lacks_namespace(self, name: str) -> bool:
        """Whether a profile depends on labels of a Namespace that is not among the facts."""
        needed = any(profile.needs_namespace_labels for profile in self._policy.profiles)
        return needed and self._cluster.namespace_labels(name) is None

    def summary(self) -> str:
        """Format the counts as one line."""
        outcomes = ", ".join(f"{count} {what}" for what, count in self.outcomes.items())
        return f"{count_of(sum(self.outcomes.values()), 'answer')}: {outcomes}"


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
    policy = requested.policy
    judged = policy.pod_templates
    inputs = Inputs(
        filename, strict=strict, unpack=unpack_recording, project=project, judged=judged
    )
    inside = resolve_namespace(namespace, sources)
    documents = list(put_into_namespace(inputs.objects(), inside))
    if sources.live is None:
        require_namespace(namespace, set(list_namespaces(documents)))
    owners = requested.configuration.owner_selectors
    reviewer = Reviewer(policy, read_facts(sources, documents, owners, inputs, inside), output)
    reviewed = ReviewedObjects(documents)
    chosen = [
        document
        for document in documents
        if selects(selector, document.value) and namespace in ("", namespace_of(document))
    ]
    for request in build_reviews(chosen, policy.pod_templates):
        if _is_refused_strictly(request, reviewer, policy, strict=strict):
            continue
        try:
            hooks = HOOK_CHOICES[hook or BOTH]
            if request.recorded and not hook:
                hooks = (request.hook,)
            result = reviewer.answer(request, hooks)
            if not reviewed.have_pods_of(request.document):
                reviewer.answer_pod(request, result, hooks)
        except ReviewError as error:
            report = reports_on(
                request.document,
                policy.pod_templates,
                [requested.gates],
                not_exemptible=policy.not_exemptible,
            )[0]
            if request.recorded or not report.denied:
                problem = f"the server would answer {error.status}: {error}"
                inputs.problems.append(request.document.error(problem))
            else:
                reviewer.show_refusal(report)
    known = set(map(str, inputs.problems))
    inputs.problems += (error for error in reviewer.problems if str(error) not in known)
    if not any(reviewer.outcomes.values()):
        inputs.report_nothing(describe_selected(WORKLOAD, selector))
    inputs.report()
    if reviewer.terminal:
        reviewer.terminal.line(reviewer.summary())
    warned = reviewer.warned and fail_on is AuditSeverity.WARN
    findings = bool(reviewer.outcomes["denied"] or warned)
    return outcome(findings=findings, unfinished=bool(inputs.problems))


def _is_refused_strictly(
    request: OfflineReview, reviewer: Reviewer, policy: Policy, *, strict: bool
) -> bool:
    """
    Show the response of kube-apiserver to unknown and duplicate fields, before any webhook.

    The webhook itself warns of those of custom kinds.

    Returns:
        Whether it refuses the object.
    """
    kind = request.document.group_kind
    places = policy.pod_templates.get(kind)
    if request.recorded or places is None or (kind not in BUILT_IN_KINDS and not strict):
        return False
    report = report_strict_errors(
        request.document, places, strict=strict, not_exemptible=policy.not_exemptible
    )
    if report is None:
        return False
    if report.denied:
        reviewer.show_refusal(report)
    else:
        reviewer.show_strict_errors(report)
    return report.denied
