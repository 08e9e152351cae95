"""
Refusals: why kube-apiserver does not accept an object to explain, or the pods of its template.

Entry point: ``find_refusals``. What is refused is never placed. The rules are those of
``policy.api``.
"""

from collections.abc import Iterator

from webhook.cli.inputs import subjects
from webhook.cli.inputs.rollouts import HONORS_UNAVAILABLE
from webhook.explain.explanation import Refusal
from webhook.policy.api.gates import Gates
from webhook.policy.api.predict import Request, is_stored_object, predict_response
from webhook.policy.api.scalefields import find_scale_errors
from webhook.policy.api.selectorfields import find_selector_errors
from webhook.policy.api.valuechecks import RefusedField
from webhook.policy.kinds import POD
from webhook.policy.model import PodTemplate
from webhook.policy.paths import find_value
from webhook.policy.templatematch import is_abridged


def find_refusals(subject: subjects.ExplainSubject, gates: Gates) -> tuple[Refusal, ...]:
    """
    Find the violations of API rules by an object, and by the pods of its template.

    Besides the rules, the fields that determine the pods are checked: replicas, parallelism and
    completions, the update strategy and the selector.

    Returns:
        Empty if it is accepted, and for a pod that an API server stored.

    Raises:
        SourceError: A value has a wrong type, or the pod template is missing.
    """
    if subject.kind == POD and is_stored_object(subject.value):
        return ()
    pod = subjects.decode_template(subject)
    template = PodTemplate(pod.metadata, pod.spec)
    answer = predict_response(
        Request(kind=subject.kind, path=subject.path, template=template), gates
    )
    rules = (
        Refusal(violation.rule, violation.error.field, violation.error.words())
        for violation in (*answer.findings, *answer.refused)
    )
    return (*(Refusal("", *error) for error in _find_field_errors(subject, gates)), *rules)


def _find_field_errors(subject: subjects.ExplainSubject, gates: Gates) -> Iterator[RefusedField]:
    """Find the errors of an object, rather than of the pods of its template."""
    kind, value = subject.kind, subject.value
    has_set_limit = gates.version >= HONORS_UNAVAILABLE
    yield from find_scale_errors(kind, value, has_set_limit=has_set_limit)
    is_from_snapshot = is_abridged(find_value(value, subject.path))
    yield from find_selector_errors(kind, value, is_abridged=is_from_snapshot)
