"""
Subjects with the defaults of a profile that their next pods get, for ``profiledefaults``.

``forecast`` finds the defaults; ``add_hard_defaults`` and ``add_keyless_defaults`` return a subject
with some of them, as if they were constraints of its own.
"""

from msgspec.structs import replace

from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.subject import Subject
from webhook.policy.defaulting.forecast import POD_CONTROLLERS, first_pod, forecast_injection
from webhook.policy.defaulting.inject import Constraints, Injection
from webhook.policy.facts import Facts
from webhook.policy.kinds import POD, REPLICA_SET, REPLICATION_CONTROLLER
from webhook.policy.model import DO_NOT_SCHEDULE, Constraint
from webhook.policy.podlabels import revision_key

# Controllers whose selector, and so that of their pods' defaults, has the label of a revision.
_OF_A_REVISION = frozenset({REPLICA_SET.kind, REPLICATION_CONTROLLER.kind})


def forecast(subject: Subject, context: AdviceContext) -> Injection | None:
    """Forecast the defaults of its pods; None if they get none that the object lacks."""
    policy = context.policy
    if not policy.profiles or subject.kind == POD or subject.is_bare:
        return None
    pod = first_pod(subject.kind, subject.metadata.name, subject.pod)
    injection = forecast_injection(pod, subject.namespace, policy, context.facts)
    return None if injection.recommended or injection.is_in_place else injection


def add_hard_defaults(subject: Subject, injection: Injection) -> Subject:
    """Return the subject with its own constraints and the defaults; soft defaults block no pod."""
    own, given = _split(subject, injection)
    hard = (
        _count_revision(one, subject) for one in given if one.when_unsatisfiable == DO_NOT_SCHEDULE
    )
    return subject.with_constraints((*own, *hard))


def add_keyless_defaults(subject: Subject, injection: Injection, facts: Facts) -> Subject:
    """Return the subject with its own constraints and the soft defaults on keys of no node."""
    own, given = _split(subject, injection)
    keyless = (
        one
        for one in given
        if one.when_unsatisfiable != DO_NOT_SCHEDULE and not facts.nodes_with(one.topology_key)
    )
    return subject.with_constraints((*own, *keyless))


def _split(subject: Subject, injection: Injection) -> tuple[Constraints, Constraints]:
    """Return the constraints that its pods keep, and the defaults that they get."""
    constraints = injection.applied_to(subject.pod.constraints)
    number = len(constraints) - len(injection.entries)
    return constraints[:number], constraints[number:]


def _count_revision(constraint: Constraint, subject: Subject) -> Constraint:
    """
    Return a default as it counts pods whose controller selects one revision.

    Its selector has the revision's label, whose value no workload shows; matchLabelKeys stands for
    it.
    """
    controller, key = POD_CONTROLLERS.get(subject.kind), revision_key(subject.kind)
    keys = constraint.match_label_keys
    if controller is None or controller.kind not in _OF_A_REVISION or not key or key in keys:
        return constraint
    return replace(constraint, match_label_keys=(*keys, key))
