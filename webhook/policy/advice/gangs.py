"""
Rule TSC121: the pods of a gang can be placed.

A gang is placed all together, or stays Pending for one pod that has no place. Where its PodGroup is
known, which is only in an audit, its topology can contradict a constraint for certain.

Source: KEP-4671; k8s.io/api scheduling/v1beta1 ``TopologyConstraint``.
"""

from collections.abc import Iterator

from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.counting import counts_itself
from webhook.policy.advice.findings import RuleViolation, quote_value
from webhook.policy.advice.repeats import suggest_soft
from webhook.policy.advice.subject import Subject
from webhook.policy.gangs import gang_field, is_known
from webhook.policy.model import DO_NOT_SCHEDULE, HOSTNAME, Constraint

SEVERAL_DOMAINS = 2  # supposed where no Node is known


def gangs_can_be_placed(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """TSC121: no hard constraint contradicts a PodGroup, or restricts the placement of a gang."""
    field, group = gang_field(subject.pod), subject.group
    if not field or subject.is_bound or not is_known(field, context.gates.version):
        return  # most pods
    for i, constraint in enumerate(subject.constraints):
        if constraint.when_unsatisfiable != DO_NOT_SCHEDULE:
            continue
        key = _find_contradiction(constraint, subject, context) if group else ""
        if group and key:
            yield _describe_contradiction(i, constraint, subject, (group.name, key))
        elif group is None or group.gang:
            yield _describe_restriction(i, subject, field)


def _describe_contradiction(
    index: int, constraint: Constraint, subject: Subject, group: tuple[str, str]
) -> RuleViolation:
    """Describe a constraint that contradicts a PodGroup, of this name and topology key."""
    name, key = group
    return RuleViolation(
        subject.field(index, "whenUnsatisfiable"),
        f"PodGroup {quote_value(name)} keeps all pods in one domain of {quote_value(key)}, so in "
        f"one of {quote_value(constraint.topology_key)} too, where this hard constraint permits "
        f"{constraint.max_skew} more than in an empty one: the others stay Pending",
        suggest_soft(constraint, subject),
        f"whenUnsatisfiable: PodGroup {name} keeps all pods in one domain of {key}",
    )


def _describe_restriction(index: int, subject: Subject, field: str) -> RuleViolation:
    return RuleViolation(
        subject.field(index, "whenUnsatisfiable"),
        f"the pods are a gang, by {field}: even if a placement of all satisfies this hard "
        "constraint, kube-scheduler may not find it, and all stay Pending",
        suggest_soft(subject.constraints[index], subject),
        "whenUnsatisfiable: a hard constraint may keep the whole gang Pending",
    )


def _find_contradiction(constraint: Constraint, subject: Subject, context: AdviceContext) -> str:
    """Find a topology key of the PodGroup that contradicts a constraint; empty if none does."""
    most = subject.most_replicas
    if subject.group is None or not counts_itself(constraint, subject, context.gates):
        return ""
    if most is not None and most <= constraint.max_skew:
        return ""
    keys = subject.group.keys
    return next((key for key in keys if _keeps_in_one_domain(key, constraint, context)), "")


def _keeps_in_one_domain(key: str, constraint: Constraint, context: AdviceContext) -> bool:
    """Whether all pods in one domain of a key are in one of several domains of a constraint."""
    nodes = context.cluster.topology.nodes if context.cluster else ()
    spread = constraint.topology_key
    pairs = {
        (node.labels[key], node.labels[spread])
        for node in nodes
        if key in node.labels and spread in node.labels
    }
    if not pairs:
        return key in (spread, HOSTNAME)
    domains = len({value for _, value in pairs})
    return len(pairs) == len({value for value, _ in pairs}) and (
        max(domains, constraint.min_domains or 1) >= SEVERAL_DOMAINS
    )
