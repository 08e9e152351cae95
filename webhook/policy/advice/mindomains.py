"""
The rule about constraints with fewer domains than minDomains: TSC104.

``min_domains_can_be_met`` is the rule, ``suggest_min_domains`` serves others as well. At admission
the facts come from indexes, which do not know single nodes: the number of domains is a bound then.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from webhook.policy.advice.capacity import is_never_spread, name_limit, name_waiting
from webhook.policy.advice.closeddomains import name_requirements, open_domains
from webhook.policy.advice.context import AdviceContext, ClusterState
from webhook.policy.advice.counting import counts_itself, hard_constraints
from webhook.policy.advice.daemonpods import WAITING_SURGE
from webhook.policy.advice.everyorder import read_orders
from webhook.policy.advice.fields import compares_revisions
from webhook.policy.advice.findings import RuleViolation, count_of, join_names, quote_value
from webhook.policy.advice.flow import member
from webhook.policy.advice.reachability import list_closed
from webhook.policy.advice.reachabledomains import count_reachable
from webhook.policy.advice.repeats import suggest_soft
from webhook.policy.advice.subject import Subject
from webhook.policy.model import DO_NOT_SCHEDULE
from webhook.policy.placement.allowedvalues import count_allowed_values
from webhook.policy.placement.nodes import Demands
from webhook.policy.placement.spreads import SpreadConstraint


def min_domains_can_be_met(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """TSC104: with fewer domains than minDomains each domain takes at most maxSkew pods."""
    if not any(one.min_domains for one in subject.constraints):
        return  # most workloads
    if subject.is_daemon:
        yield from _report_surge(subject, context)
        if context.cluster is not None:
            return  # TSC116 knows which of its nodes each pod can go to
    if is_never_spread(subject):
        return
    for spread in hard_constraints(subject, context):
        if spread.min_domains > 1 and counts_itself(spread.constraint, subject, context.gates):
            yield from _report_few_domains(spread, subject, context)


def _report_few_domains(
    spread: SpreadConstraint, subject: Subject, context: AdviceContext
) -> Iterator[RuleViolation]:
    """Report a constraint that counts fewer domains than minDomains, and keeps pods Pending."""
    key, required = spread.topology_key, spread.min_domains
    left = _count_reachable(spread, subject.demands, subject, context)
    if left == 0 and context.facts.schedulable_nodes():
        return  # TSC103 and TSC106 report these
    most = count_allowed_values(key, subject.demands) if spread.honors_affinity else None
    reached = left or most or 0
    problem = ""
    if most and most < required:
        problem = _describe_few_values(spread, most, subject)
    if not problem and left:
        problem = _describe_few_domains(spread, left, subject, context)
    if problem:
        yield RuleViolation(
            subject.field(spread.index, "minDomains"),
            f"minDomains is {required}, but {problem}",
            suggest_min_domains(subject, spread.index, reached, context),
            f"minDomains is {required}, but its pods can reach {count_of(reached, 'domain')}",
        )


def _describe_few_values(spread: SpreadConstraint, most: int, subject: Subject) -> str:
    """Describe that the pods require a few values of the key; empty if no pod stays Pending."""
    waiting = _name_waiting(subject, spread, most)
    few = f"{count_of(most, 'domain')} of {quote_value(spread.topology_key)} at most"
    return waiting and (
        f"by {name_requirements(subject)} its pods can go to {few}, whatever nodes are "
        f"added: {_describe_limit(spread, most, subject)}, {waiting} stay Pending"
    )


def _describe_few_domains(
    spread: SpreadConstraint, left: int, subject: Subject, context: AdviceContext
) -> str:
    """Describe that few domains count now; empty if they are enough, or no pod stays Pending."""
    required = spread.min_domains
    counted = _count_reachable(spread, spread.counting(subject.demands), subject, context)
    if (counted or required) >= required:
        return ""
    waiting = _name_waiting(subject, spread, left)
    return waiting and (
        f"{_describe_left(spread, left, subject, context)}: "
        f"{_describe_limit(spread, left, subject)}, {waiting} stay Pending until a node autoscaler "
        "adds a domain; with one that does, this is right"
    )


def _describe_limit(spread: SpreadConstraint, domains: int, subject: Subject) -> str:
    each = "each" if domains > 1 else "it"
    return f"{each} takes {name_limit(subject, spread.constraint, spread.max_skew)} at most"


def _name_waiting(subject: Subject, spread: SpreadConstraint, domains: int) -> str:
    return name_waiting(subject, spread.constraint, domains * spread.max_skew)


def suggest_min_domains(subject: Subject, index: int, left: int, context: AdviceContext) -> str:
    """
    Suggest the number of domains as minDomains, if all replicas then have a place in every order.

    Otherwise a soft constraint is suggested: with the minimum of the domains that there are,
    another constraint may leave replicas Pending. What TSC105 and TSC116 report is supposed to be
    corrected as they suggest, so that the order of the corrections does not matter.

    Args:
        left: Number of domains that the pods can go to, whatever the state of the nodes.
    """
    constraints = list(subject.constraints)
    constraints[index] = replace(constraints[index], min_domains=left)
    changed = subject.with_constraints(tuple(constraints))
    if subject.is_alone and not subject.is_daemon:
        changed = replace(changed, replicas=2, scaling=None)  # its pod, and that of a rollout
    if context.cluster is None or not context.cluster.topology.nodes:
        return member("minDomains", left)
    reported = [*list_closed(changed, context)]
    for spread, closed in reported:
        constraints[spread.index] = open_domains(constraints[spread.index], closed)
    opened = changed.with_constraints(tuple(constraints))
    orders = read_orders(opened, context, leaves_out_closed=bool(reported), whatever_state=True)
    if orders and orders.all_fit():
        return member("minDomains", left)
    return suggest_soft(subject.constraints[index], subject)


def _report_surge(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """Report a DaemonSet whose new pods have no place beside the old ones, on the same node."""
    if not subject.surges:
        return
    for spread in hard_constraints(subject, context):
        pods = 2  # the old one and the new one of a node
        if spread.min_domains <= 1 or spread.max_skew >= pods or not spread.honors_affinity:
            continue
        if counts_itself(spread.constraint, subject, context.gates) and not compares_revisions(
            spread.constraint, subject
        ):
            yield RuleViolation(
                subject.field(spread.index, "minDomains"),
                f"minDomains is {spread.min_domains}, but each pod of a DaemonSet can go to one "
                f"node, which is one domain and takes 1 pod: {WAITING_SURGE}",
                member("minDomains", 1),
                f"minDomains is {spread.min_domains}: no new pod has a place beside the old one",
            )


def _describe_left(
    spread: SpreadConstraint, left: int, subject: Subject, context: AdviceContext
) -> str:
    """Describe the domains that pods can reach, and what excludes others."""
    key, domains = spread.topology_key, count_of(left, "domain")
    if context.cluster is None:
        every = len(context.facts.domains(key))
    else:
        anywhere = subject.demands.honoring(affinity=False, taints=False)
        every = len(context.cluster.lasting_domains(key, (key,), anywhere).sizes)
        others = [one for one in _list_keys(spread, subject, context.cluster) if one != key]
        if len(context.cluster.lasting_domains(key, (key,), subject.demands).sizes) != left:
            named = join_names([*map(quote_value, others)])
            return f"only nodes that have {named}, too, count, in {domains} of {quote_value(key)}"
    if left == every:
        return f"{quote_value(key)} has {domains} only"
    anywhere = subject.demands.honoring(affinity=True, taints=False)
    by_taints = _count_reachable(spread, anywhere, subject, context) != left
    causes = [name_requirements(subject), "taints" if by_taints else ""]
    named = " and ".join(filter(None, causes))
    return f"by {named} its pods can go to {domains} of {quote_value(key)}"


def _count_reachable(
    spread: SpreadConstraint, demands: Demands, subject: Subject, context: AdviceContext
) -> int:
    """
    Count the domains of a constraint that pods can reach by their affinity and tolerations.

    Args:
        demands: Those of the pods; or what a node must satisfy to count, for the domains that count
            though the pods cannot reach them.

    Returns:
        At admission an upper bound.
    """
    key = spread.topology_key
    if context.cluster is not None:
        keys = _list_keys(spread, subject, context.cluster)
        return len(context.cluster.lasting_domains(key, keys, demands).sizes)
    return count_reachable(key, demands, context.facts)


def _list_keys(
    spread: SpreadConstraint, subject: Subject, cluster: ClusterState
) -> tuple[str, ...]:
    """
    List the keys without which a node does not count: those of all hard constraints.

    Keys of no node are left out, since TSC103 reports them.
    """
    unknown = cluster.list_unknown_keys(subject.constraints, subject.demands)
    hard = (one for one in subject.constraints if one.when_unsatisfiable == DO_NOT_SCHEDULE)
    keys = (one.topology_key for one in hard if one.topology_key not in unknown)
    return tuple(dict.fromkeys((spread.topology_key, *keys)))
