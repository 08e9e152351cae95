"""
Objects to explain as the evenspread server admits them, by the same verdicts as ``review``.

Entry point: ``ServerAdmission``. A manifest is judged by both webhooks, and a pod that a workload
creates by the one that changes it. What an API server stored has been admitted already.
"""

from typing import Any

import msgspec
from msgspec.structs import replace

from webhook.admission.apply_patch import apply_patch
from webhook.admission.offline import answer_in_turn, build_creation
from webhook.cli.inputs.subjects import ExplainSubject
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.errors import ReviewError, SourceError
from webhook.explain.explanation import Refusal
from webhook.manifests import Document
from webhook.manifests.positions import DocumentText
from webhook.policy.api.predict import is_stored_object
from webhook.policy.api.rules import ApiViolation
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.facts import Facts
from webhook.policy.kinds import POD
from webhook.policy.paths import is_object
from webhook.policy.request import CREATE, AdmissionRequest, Hook
from webhook.policy.verdict import judge


class AdmittedSubject(msgspec.Struct, frozen=True):
    """
    An object after its admission.

    Attributes:
        refused: Why the server denies it; empty if it does not.
    """

    subject: ExplainSubject
    refused: tuple[Refusal, ...] = ()


class ServerAdmission:
    """The admission by a server with one policy, or by none."""

    def __init__(self, policy: Policy | None) -> None:
        """Store the policy of the server; None if there is no server."""
        self._policy = policy
        # The advice on created pods needs whole pods, and changes none.
        self._changes = policy and replace(policy, validates_pods=True)

    def admit(self, subject: ExplainSubject, facts: Facts) -> AdmittedSubject:
        """
        Admit the object of a manifest.

        Args:
            facts: Those of its namespace.

        Raises:
            SourceError: The server cannot read it.
        """
        if self._policy is None or subject.exists or is_stored_object(subject.value):
            return AdmittedSubject(subject)
        review = build_creation(_as_document(subject), "explain")
        try:
            results = answer_in_turn(review, tuple(Hook), self._policy, facts)
        except ReviewError as error:
            raise SourceError(str(subject), f"the server would answer: {error}") from error
        verdict = results[-1].verdict
        if not verdict.allowed:
            if not verdict.findings:
                raise SourceError(str(subject), verdict.message)
            return AdmittedSubject(subject, tuple(map(_as_refusal, verdict.findings)))
        return AdmittedSubject(replace(subject, value=results[0].after))

    def admit_pod(self, pod: ApiPod, namespace: str, facts: Facts) -> ApiPod:
        """
        Admit a pod that a workload creates; one that the server denies stays as it is.

        Args:
            facts: Those of its namespace, with the controller of the pod.
        """
        if self._changes is None:
            return pod
        request = AdmissionRequest(
            uid="explain",
            kind=POD,
            operation=CREATE,
            namespace=namespace,
            path=(),
            metadata=pod.metadata,
            template=pod,
        )
        verdict = judge(request, Hook.MUTATE, self._changes, facts)
        patch: Any = msgspec.json.decode(msgspec.json.encode(verdict.patch))
        patched = apply_patch(msgspec.json.decode(msgspec.json.encode(pod)), patch)
        return msgspec.convert(patched, ApiPod)


def _as_document(subject: ExplainSubject) -> Document:
    metadata = subject.value.get("metadata")
    kept = metadata if is_object(metadata) else {}
    value = {**subject.value, "metadata": {**kept, "namespace": subject.namespace}}
    return Document(str(subject), value, DocumentText("{}", 1, 0))


def _as_refusal(violation: ApiViolation) -> Refusal:
    return Refusal(violation.rule, violation.error.field, violation.error.words())
