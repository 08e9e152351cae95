"""
Rules about single fields of a constraint: TSC107, TSC108 and TSC111.

They judge the object and the feature gates alone, without any facts of the cluster.
"""

from collections.abc import Iterator

from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.counting import POD_TEMPLATE_HASH, counts_itself
from webhook.policy.advice.findings import RuleViolation
from webhook.policy.advice.flow import member
from webhook.policy.advice.subject import Subject
from webhook.policy.api import fieldgates
from webhook.policy.api.gates import Gate
from webhook.policy.defaulting.profiles import ZONE
from webhook.policy.kinds import DEPLOYMENT, STATEFUL_SET
from webhook.policy.model import DO_NOT_SCHEDULE, SCHEDULE_ANYWAY
from webhook.policy.selectors import selected_keys

ZONES = frozenset({ZONE, "failure-domain.beta.kubernetes.io/zone"})  # labels of volumes, too


def revisions_count_apart(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """TSC107: a rollout places new pods around the old ones, and is uneven once those are gone."""
    if subject.kind != DEPLOYMENT or subject.is_alone or subject.is_bound or subject.recreates:
        return
    if Gate.MATCH_LABEL_KEYS not in context.gates:
        return  # the fix is not available
    for i, constraint in enumerate(subject.constraints):
        keys = selected_keys(constraint.label_selector).union(constraint.match_label_keys)
        if POD_TEMPLATE_HASH not in keys and counts_itself(constraint, subject, context.gates):
            yield RuleViolation(
                subject.field(i, "matchLabelKeys"),
                f"{POD_TEMPLATE_HASH} is neither here nor in labelSelector: while a new revision "
                "is rolled out, its pods are counted together with the old ones, and are uneven "
                "once those are gone",
                member("matchLabelKeys", [*constraint.match_label_keys, POD_TEMPLATE_HASH]),
                f"without {POD_TEMPLATE_HASH} a rollout counts old and new pods together",
            )


def volumes_can_follow(subject: Subject, _context: AdviceContext) -> Iterator[RuleViolation]:
    """
    TSC108: a StatefulSet with volume claims has no DoNotSchedule constraint over zones.

    A pod cannot leave the zone of its volume.
    """
    if subject.kind != STATEFUL_SET or not subject.claims or subject.is_alone or subject.is_bound:
        return
    for i, constraint in enumerate(subject.constraints):
        if constraint.when_unsatisfiable == DO_NOT_SCHEDULE and constraint.topology_key in ZONES:
            yield RuleViolation(
                subject.field(i, "whenUnsatisfiable"),
                f"each pod has volumes of its own, which stay in their zone: where "
                f"{DO_NOT_SCHEDULE} on {constraint.topology_key} wants the pod in another zone, "
                "it stays Pending",
                member("whenUnsatisfiable", SCHEDULE_ANYWAY),
                f"{DO_NOT_SCHEDULE} may want a pod in another zone than its volume is in",
            )


def fields_are_in_force(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """TSC111: Kubernetes silently drops fields of new objects whose feature gate is off."""
    for drop in fieldgates.drop_disabled_fields(subject.constraints, None, context.gates).drops:
        at = subject.list_path if drop.entry is None else subject.field(drop.entry, drop.field)
        yield RuleViolation(
            at,
            f"it has no effect, since {fieldgates.explain_disabled_gate(drop.gate, context.gates)}",
            f"# leave {drop.field or 'it'} out",
            f"no effect, feature gate {drop.gate} is off",
        )
