"""
Reviews of workloads and of their pods, answered as the server answers them, without a server.

``review_subject`` is for the object of a manifest or of a cluster, ``review_pod`` for a pod that a
controller creates. Nothing here reads a cluster.
"""

from typing import Any

import msgspec

from webhook.admission.apply_patch import apply_patch
from webhook.admission.offline import OfflineResult, answer_in_turn, build_creation
from webhook.cli.inputs.subjects import ExplainSubject
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.errors import ReviewError, SourceError
from webhook.explain.explanation import Refusal
from webhook.manifests import Document
from webhook.manifests.positions import DocumentText
from webhook.policy.api.rules import ApiViolation
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.facts import Facts
from webhook.policy.kinds import BUILT_IN_KINDS, POD
from webhook.policy.model import GroupKind
from webhook.policy.paths import is_object
from webhook.policy.request import CREATE, AdmissionRequest, Hook
from webhook.policy.verdict import Verdict, judge

_UID = "offline"


def review_subject(
    subject: ExplainSubject, policy: Policy, facts: Facts
) -> tuple[OfflineResult, ...]:
    """
    Review an object as if it were created now, by both webhooks in turn.

    Args:
        facts: Those of its namespace.

    Returns:
        At least one answer; only the last one can be a denial, and it has findings then.

    Raises:
        SourceError: The server cannot read it.
    """
    review = build_creation(_as_document(subject), _UID)
    try:
        results = answer_in_turn(review, tuple(Hook), policy, facts)
    except ReviewError as error:
        raise SourceError(str(subject), f"the server would answer: {error}") from error
    verdict = results[-1].verdict
    if not (verdict.allowed or verdict.findings):
        raise SourceError(str(subject), verdict.message)
    return results


def _as_document(subject: ExplainSubject) -> Document:
    """Complete an object: lists of an API server leave out the kind of their items."""
    metadata = subject.value.get("metadata")
    value = {
        "apiVersion": _find_version(subject.kind),
        "kind": subject.kind.kind,
        **subject.value,
        "metadata": {**(metadata if is_object(metadata) else {}), "namespace": subject.namespace},
    }
    return Document(str(subject), value, DocumentText("{}", 1, 0))


def _find_version(kind: GroupKind) -> str:
    row = BUILT_IN_KINDS.get(kind)
    return f"{kind.group}/v1" if row is None else row.api_version


def review_pod(pod: ApiPod, namespace: str, hook: Hook, policy: Policy, facts: Facts) -> Verdict:
    """
    Review a new pod by one webhook.

    Args:
        facts: Those of its namespace, with the controller of the pod.
    """
    request = AdmissionRequest(
        uid=_UID,
        kind=POD,
        operation=CREATE,
        namespace=namespace,
        path=(),
        metadata=pod.metadata,
        template=pod,
    )
    return judge(request, hook, policy, facts)


def patch_pod(pod: ApiPod, verdict: Verdict) -> ApiPod:
    """Apply the patch of a verdict to its pod."""
    if not verdict.patch:
        return pod
    patch: Any = msgspec.json.decode(msgspec.json.encode(verdict.patch))
    patched = apply_patch(msgspec.json.decode(msgspec.json.encode(pod)), patch)
    return msgspec.convert(patched, ApiPod)


def describe_refusal(violation: ApiViolation) -> Refusal:
    """Describe a finding for which an object is denied."""
    return Refusal(violation.rule, violation.error.field, violation.error.words())
