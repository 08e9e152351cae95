"""
The rules in force for one object: those of the profile of its pods go before those of the policy.

``apply_profile``, ``find_profile`` and ``find_request_policy`` are the entry points. The profile is
the first that fits a pod, as for defaults, also if the pod gets none of them: because of
constraints of its own, an exempt namespace, or the label that skips defaults. Otherwise the author
of a pod could leave the rules of a profile by writing a constraint.
"""

from dataclasses import replace

from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.subject import Subject
from webhook.policy.defaulting.forecast import first_pod
from webhook.policy.defaulting.inject import profile_of
from webhook.policy.defaulting.profiles import Policy, Profile
from webhook.policy.facts import Facts
from webhook.policy.kinds import POD
from webhook.policy.model import PodTemplate
from webhook.policy.paths import is_constraint_list
from webhook.policy.request import AdmissionRequest


def apply_profile(context: AdviceContext, subject: Subject) -> AdviceContext:
    """
    Return the context with the rules for a subject.

    The pods of a bare list of constraints are not known, so that the rules of the policy apply.
    """
    profile = find_profile(context, subject) if context.policy.has_profile_rules else None
    if profile is None:
        return context
    return replace(context, policy=context.policy.with_rules_of(profile))


def find_profile(context: AdviceContext, subject: Subject) -> Profile | None:
    """Find the profile of the pods of a subject; None if none fits, or the pods are not known."""
    if subject.is_bare:
        return None
    pod: PodTemplate = subject.pod
    if subject.kind != POD:
        pod = first_pod(subject.kind, subject.metadata.name, pod)
    return profile_of(pod, subject.namespace, context.policy, context.facts)


def find_request_policy(request: AdmissionRequest, policy: Policy, facts: Facts) -> Policy:
    """Return the policy with the rules for the object of a request; as for a subject."""
    pod = request.template
    if pod is None or not policy.has_profile_rules or is_constraint_list(request.path or ()):
        return policy
    if request.kind != POD:
        pod = first_pod(request.kind, request.name, pod)
    profile = profile_of(pod, request.namespace, policy, facts)
    return policy if profile is None else policy.with_rules_of(profile)
