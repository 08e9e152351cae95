"""What the server says about one request: the answers of the webhooks that are called, together."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import msgspec

from webhook import admission
from webhook.admission.offline import OfflineResult, OfflineReview, answer_review, follow_up_review
from webhook.errors import ReviewError
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.facts import Facts
from webhook.policy.paths import CONSTRAINTS_IN_POD, TemplatePath, find_value
from webhook.policy.request import Hook


class CaseVerdict(StrEnum):
    """What becomes of a request, as metrics say it; of two webhooks the first of these counts."""

    DENY = "deny"
    WOULD_DENY = "would_deny"
    PATCH = "patch"
    WOULD_PATCH = "would_patch"
    ALLOW = "allow"


class CaseResponse(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """
    An answer, in the members of an ``Expectation``.

    Attributes:
        denied: Rules, each once.
        skipped: Why no profile adds anything; empty if one does, or none was asked.
        patched: The object, once the patch is applied.
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
    asked: OfflineReview, hooks: Sequence[Hook], policy: Policy, facts: Facts
) -> CaseResponse:
    """
    Call one webhook after the other until one denies, as kube-apiserver does.

    Args:
        asked: The request.
        hooks: At least one; a later one is asked about what the earlier ones made of the object.
        policy: What to judge by.
        facts: The cluster as it is known.

    Raises:
        ManifestError: A recorded review is none.
    """
    answers: list[OfflineResult] = []
    try:
        for hook in hooks:
            asked = follow_up_review(asked, answers[-1]) if answers else asked
            answers.append(answer_review(asked, hook, policy, facts))
            if not answers[-1].verdict.allowed:
                break
    except ReviewError as error:
        if asked.recorded:
            problem = f"the server would answer {error.status}: {error}"
            raise asked.document.error(problem) from error
        return _refused(asked, error)
    return _together(answers)


def _refused(asked: OfflineReview, error: ReviewError) -> CaseResponse:
    """An object of wrong types, which kube-apiserver refuses before it calls any webhook."""
    message = f"kube-apiserver cannot read the {asked.document.kind}: {error}"
    return CaseResponse(verdict=CaseVerdict.DENY, message=message, patched=asked.document.value)


def _together(answers: Sequence[OfflineResult]) -> CaseResponse:
    first, last = answers[0], answers[-1]
    annotations: dict[str, str] = {}
    for each in answers:
        annotations |= admission.audit_annotations(each.verdict)
    outcomes = {each.verdict.outcome for each in answers}
    injection = first.verdict.injection
    denying = (each.verdict for each in answers if each.verdict.held or not each.verdict.allowed)
    rules = (finding.rule for verdict in denying for finding in verdict.findings)
    return CaseResponse(
        verdict=next(outcome for outcome in CaseVerdict if outcome in outcomes),
        denied=tuple(dict.fromkeys(rules)),
        message=last.verdict.message,
        warnings=_once(answers),
        constraints=_constraints(last.after, last.request.path or ()),
        injected=tuple(_written(each.written) for each in injection.entries) if injection else (),
        skipped=str(injection.skip) if injection else "",
        patch=tuple(each for one in answers for each in one.review["response"].get("patch", ())),
        patched=last.after,
        audit_annotations=annotations,
    )


def _once(answers: Sequence[OfflineResult]) -> tuple[str, ...]:
    """
    The warnings of all webhooks; a user reads each one once.

    Source: apiserver pkg/endpoints/filters/warning.go ``AddWarning``.
    """
    return tuple(dict.fromkeys(text for each in answers for text in each.verdict.warnings))


def _constraints(value: Any, path: TemplatePath) -> list[Any]:
    constraints: list[Any] | None = find_value(value, (*path, *CONSTRAINTS_IN_POD))
    return constraints or []


def _written(raw: msgspec.Raw) -> Any:
    return msgspec.json.decode(raw)
