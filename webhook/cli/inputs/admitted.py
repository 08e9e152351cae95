"""
Objects to explain as the evenspread server admits them, by the same verdicts as ``review``.

Entry point: ``ServerAdmission``. A manifest is judged by both webhooks, and a pod that a workload
creates by the one that changes it. What an API server stored has been admitted already.
"""

import msgspec
from msgspec.structs import replace

from webhook.cli.inputs.offlinereviews import (
    describe_refusal,
    patch_pod,
    review_pod,
    review_subject,
)
from webhook.cli.inputs.subjects import ExplainSubject
from webhook.cluster.scheduling.podobjects import ApiPod
from webhook.explain.explanation import Refusal
from webhook.policy.api.predict import is_stored_object
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.facts import Facts
from webhook.policy.request import Hook


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
        results = review_subject(subject, self._policy, facts)
        verdict = results[-1].verdict
        if not verdict.allowed:
            return AdmittedSubject(subject, tuple(map(describe_refusal, verdict.findings)))
        return AdmittedSubject(replace(subject, value=results[0].after))

    def admit_pod(self, pod: ApiPod, namespace: str, facts: Facts) -> ApiPod:
        """
        Admit a pod that a workload creates; one that the server denies stays as it is.

        Args:
            facts: Those of its namespace, with the controller of the pod.
        """
        if self._changes is None:
            return pod
        return patch_pod(pod, review_pod(pod, namespace, Hook.MUTATE, self._changes, facts))
