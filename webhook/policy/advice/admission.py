"""
Advice at admission, on objects that a user or a tool created or changed.

``advise_request`` is the entry point. Objects that a controller creates are skipped, since their
owner gets the advice. Advice needs more of an object than the API rules do, so the object is
decoded a second time; nearly all pod creations are spared that.
"""

from functools import partial

import msgspec
from msgspec.structs import replace

from webhook.policy.advice.advise import NO_ADVICE, Advice, advise
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.decode import decode_subject
from webhook.policy.advice.exemptions import parse_exemptions
from webhook.policy.advice.profilerules import find_request_policy
from webhook.policy.advice.subject import Subject
from webhook.policy.api.gates import Gate
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.facts import Facts
from webhook.policy.model import Constraint
from webhook.policy.nesting import decode_nested
from webhook.policy.policyexceptions import find_exceptions
from webhook.policy.request import AdmissionRequest
from webhook.policy.rule_entry import Action


class _Objects(msgspec.Struct, frozen=True, rename="camel", gc=False):
    object: msgspec.Raw = msgspec.Raw(b"null")
    old_object: msgspec.Raw = msgspec.Raw(b"null")


class _Body(msgspec.Struct, frozen=True, gc=False):
    request: _Objects = _Objects()


LONGEST_ADVISED = 1024 * 1024
"""Bytes of a review that gets advice; decoding it again takes 30 MiB at most."""

_decode = msgspec.json.Decoder(_Body).decode


def is_advised_on(request: AdmissionRequest, policy: Policy) -> bool:
    """Whether a request gets advice: not without its ``body``, nor above the size limit."""
    owned = request.metadata is not None and request.metadata.controller is not None
    is_short = 0 < len(request.body) <= LONGEST_ADVISED
    return not owned and is_short and Gate.ADVICE in policy.gates


def advise_request(
    request: AdmissionRequest,
    policy: Policy,
    facts: Facts,
    constraints: tuple[Constraint, ...] | None = None,
) -> Advice:
    """
    Advise on an object that is created or updated.

    Args:
        request: A create or an update; without its ``body``, or with one of more than
            ``LONGEST_ADVISED`` bytes, it gets no advice.
        constraints: The constraints that will be stored; None if they are those in the request.
    """
    if not is_advised_on(request, policy):
        return NO_ADVICE
    try:
        subject = decode_nested(partial(_decode_request, request), request.body)
    except msgspec.DecodeError:
        return NO_ADVICE  # a member, such as the affinity, has a type that no API server sends
    if subject is None:
        return NO_ADVICE
    if constraints is not None:
        subject = subject.with_constraints(constraints)
    return advise(subject, AdviceContext(policy, facts))


def effective_action(rule: str, request: AdmissionRequest, policy: Policy, facts: Facts) -> Action:
    """
    Return the action on a violation that is found outside of advice, as those of TSC111.

    Returns:
        The configured action, or AUDIT if the object is exempted from the rule; WARN in place of a
        denial that a profile only recommends.
    """
    policy = find_request_policy(request, policy, facts)
    action = Action.WARN if rule in policy.held_denials else policy.actions[rule]
    if action is Action.OFF or not _is_exempt(rule, request, policy, facts):
        return action
    return Action.AUDIT


def _is_exempt(rule: str, request: AdmissionRequest, policy: Policy, facts: Facts) -> bool:
    """Whether the annotation of an object, or an exception, exempts it from a rule."""
    annotations = request.metadata.annotations if request.metadata else {}
    if rule in parse_exemptions(annotations, policy.not_exemptible).reasons:
        return True
    labels = request.template.labels if request.template else {}
    exceptions = facts.exceptions(request.namespace)
    return rule in find_exceptions(exceptions, labels, policy.not_exemptible)


def _decode_request(request: AdmissionRequest, body: bytes | msgspec.Raw) -> Subject | None:
    objects, path = _decode(body).request, request.path or ()
    subject = decode_subject(objects.object, request.kind, path, request.namespace)
    if subject is None or request.old is None:
        return subject
    path = path if request.old_path is None else request.old_path
    before = decode_subject(objects.old_object, request.kind, path, request.namespace)
    return replace(subject, settled=before is not None and before.pod == subject.pod)
