"""
The response of the server to one request: the combined responses of the webhooks that are called.

``call_webhooks`` is the entry point; it calls the admission code directly, without a network.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import msgspec

from webhook import admission
from webhook.admission.offline import OfflineResult, OfflineReview, answer_in_turn
from webhook.errors import ReviewError
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.facts import Facts
from webhook.policy.paths import constraints_path, find_value
from webhook.policy.request import Hook


class CaseVerdict(StrEnum):
    """The outcome of a request, as in metrics; of two outcomes the first in this list counts."""

    DENY = "deny"
    WOULD_DENY = "would_deny"
    PATCH = "patch"
    WOULD_PATCH = "would_patch"
    ALLOW = "allow"


class CaseResponse(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    A response, with the members of an ``Expectation``.

    Attributes:
        denied: Rules that deny the request, without duplicates.
        skipped: Why no profile adds constraints; empty if one does, or if none applies.
        patched: The object after the patch.
    """

    verdict: CaseVerdict
    denied: tuple[str, ...] = ()
    message: str = ""
    warnings: tuple[str, ...] = ()
    constraints: list[Any] = []
    injected: tuple[Any, ...] = ()
    skipped: str = ""
    patch: tuple[Any, ...] = ()
    patched: Any = None
    audit_annotations: dict[str, str] = {}


def call_webhooks(
    request: OfflineReview, hooks: Sequence[Hook], policy: Policy, facts: Facts
) -> CaseResponse:
    """
    Call one webhook after the other until one denies, as kube-apiserver does.

    Args:
        hooks: At least one; each receives the object as the previous one changed it.

    Raises:
        ManifestError: A recorded AdmissionReview is invalid.
    """
    try:
        results = answer_in_turn(request, hooks, policy, facts)
    except ReviewError as error:
        if request.recorded:
            problem = f"the server would answer {error.status}: {error}"
            raise request.document.error(problem) from error
        # The object has type errors, so that kube-apiserver calls no webhook for it.
        document = request.document
        message = f"kube-apiserver cannot read the {document.kind}: {error}"
        return CaseResponse(verdict=CaseVerdict.DENY, message=message, patched=document.value)
    return _combine(results)


def _combine(results: Sequence[OfflineResult]) -> CaseResponse:
    first, last = results[0], results[-1]
    annotations: dict[str, str] = {}
    verdicts = [result.verdict for result in results]
    for verdict in verdicts:
        annotations |= admission.audit_annotations(verdict)
    outcomes = {verdict.outcome for verdict in verdicts}
    injection = first.verdict.injection
    denying = (verdict for verdict in verdicts if verdict.held or not verdict.allowed)
    rules = (finding.rule for verdict in denying for finding in verdict.findings)
    return CaseResponse(
        verdict=next(outcome for outcome in CaseVerdict if outcome in outcomes),
        denied=tuple(dict.fromkeys(rules)),
        message=last.verdict.message,
        # A user sees each warning once. Source: apiserver pkg/endpoints/filters/warning.go
        # ``AddWarning``.
        warnings=tuple(dict.fromkeys(text for verdict in verdicts for text in verdict.warnings)),
        constraints=find_value(last.after, constraints_path(last.request.path or ())) or [],
        injected=tuple(msgspec.json.decode(entry.written) for entry in injection.entries)
        if injection
        else (),
        skipped=str(injection.skip) if injection else "",
        patch=tuple(step for item in results for step in item.review["response"].get("patch", ())),
        patched=last.after,
        audit_annotations=annotations,
    )
