"""Rules about what happens later: when a new revision is rolled out, when a pod comes back."""

from collections.abc import Iterator

from webhook.policy.advice.counting import POD_TEMPLATE_HASH, counts_itself, selected_keys
from webhook.policy.advice.findings import Remark
from webhook.policy.advice.flow import member
from webhook.policy.advice.grounds import Grounds
from webhook.policy.advice.subject import DEPLOYMENT, STATEFUL_SET, Subject
from webhook.policy.api.gates import Gate
from webhook.policy.defaulting.profiles import ZONE
from webhook.policy.placement.spreads import HARD, SOFT

ZONES = frozenset({ZONE, "failure-domain.beta.kubernetes.io/zone"})  # labels that pin volumes


def revisions_count_apart(subject: Subject, grounds: Grounds) -> Iterator[Remark]:
    """TSC107: new pods are placed by where the old ones are, and stay there when those are gone."""
    if subject.kind != DEPLOYMENT or subject.is_alone or subject.is_bound or subject.recreates:
        return
    if Gate.MATCH_LABEL_KEYS not in grounds.gates:
        return  # there is nothing else that they could write
    for i, constraint in enumerate(subject.constraints):
        counts = counts_itself(constraint, subject, grounds.gates)
        if counts and POD_TEMPLATE_HASH not in selected_keys(constraint):
            yield Remark(
                subject.field(i, "matchLabelKeys"),
                f"{POD_TEMPLATE_HASH} is neither here nor in labelSelector: while a new revision "
                "is rolled out its pods are counted together with the old ones, and are uneven "
                "when those are gone",
                member("matchLabelKeys", [*constraint.match_label_keys, POD_TEMPLATE_HASH]),
                f"without {POD_TEMPLATE_HASH} a rollout counts old and new pods together",
            )


def volumes_can_follow(subject: Subject, _grounds: Grounds) -> Iterator[Remark]:
    """TSC108: a pod whose volume is in one zone can go to no other, whatever the skew."""
    if subject.kind != STATEFUL_SET or not subject.claims or subject.is_alone or subject.is_bound:
        return
    for i, constraint in enumerate(subject.constraints):
        if constraint.when_unsatisfiable == HARD and constraint.topology_key in ZONES:
            yield Remark(
                subject.field(i, "whenUnsatisfiable"),
                f"each pod has volumes of its own, which stay in their zone: where {HARD} on "
                f"{constraint.topology_key} wants the pod in another zone, it stays Pending",
                member("whenUnsatisfiable", SOFT),
                f"{HARD} may want a pod in another zone than its volume is in",
            )
