"""
Rules about domains: TSC103 (they exist) and TSC104 (there are enough).

At admission the facts come from indexes, which do not know single nodes. For a pod that requires
certain nodes they are incomplete, so a rule is then silent where an audit may report a violation.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from webhook.policy.advice.capacity import is_never_spread, name_limit, name_waiting
from webhook.policy.advice.closeddomains import (
    find_tainted,
    name_requirements,
    selects_nodes,
)
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.counting import counts_itself, hard_constraints
from webhook.policy.advice.everyorder import read_orders
from webhook.policy.advice.fields import compares_revisions
from webhook.policy.advice.findings import RuleViolation, clip, count_of, join_names, quote_value
from webhook.policy.advice.flow import member
from webhook.policy.advice.nearestkey import (
    KEY_CHARACTERS,
    WELL_KNOWN,
    list_siblings,
    nearest_key,
)
from webhook.policy.advice.repeats import describe_repeated, suggest_soft
from webhook.policy.advice.subject import Subject
from webhook.policy.model import DO_NOT_SCHEDULE, HOSTNAME, SCHEDULE_ANYWAY, ZONE, Constraint
from webhook.policy.placement.allowedvalues import count_allowed_values
from webhook.policy.placement.nodes import Demands, tolerates_cordons
from webhook.policy.placement.spreads import SpreadConstraint


def key_is_on_nodes(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """
    TSC103: nodes without the key are in no domain, so they get no pod or are chosen last.

    For pods that bypass the scheduler, only a key that no node has is reported.
    """
    for i, constraint in enumerate(subject.constraints):
        key = constraint.topology_key
        carriers, nodes = _count_carriers(key, subject.demands, context)
        if not key or carriers >= nodes or (carriers and subject.is_bound):
            continue
        if carriers:
            problem, instead = _describe_partial_key(constraint, carriers, nodes)
        elif context.facts.nodes_with(key):
            where = "not on the one node" if nodes == 1 else f"on none of the {nodes} nodes"
            problem = f"is {where} that its pods can go to"
            instead = _suggest_labels("such nodes", key)
        else:
            problem, instead = _describe_missing_key(i, subject, context)
        yield RuleViolation(
            subject.field(i, "topologyKey"), f"topologyKey {quote_value(key)} {problem}", instead
        )


def _describe_partial_key(constraint: Constraint, carriers: int, nodes: int) -> tuple[str, str]:
    effect = _EFFECTS.get(constraint.when_unsatisfiable, "get none, or come last")
    problem = f"is on {carriers} of {nodes} nodes: the others {effect}"
    return problem, _suggest_labels("the other nodes", constraint.topology_key)


_EFFECTS: Mapping[str, str] = MappingProxyType(
    {DO_NOT_SCHEDULE: "get none", SCHEDULE_ANYWAY: "come last"}
)
"""Action of a constraint -> its effect on nodes without the key; either, if it is misspelled."""


def _suggest_labels(which: str, key: str) -> str:
    return f"# label {which}: kubectl label node NAME {clip(key, KEY_CHARACTERS)}=VALUE"


def _describe_missing_key(index: int, subject: Subject, context: AdviceContext) -> tuple[str, str]:
    constraint, facts = subject.constraints[index], context.facts
    key, action = constraint.topology_key, constraint.when_unsatisfiable
    meant = nearest_key(key, facts.label_keys())
    if meant:
        return _describe_meant_key(meant, constraint, subject, context)
    well_known = nearest_key(key, WELL_KNOWN)
    if well_known not in ("", key):  # the nodes lack it too
        done = describe_repeated(well_known, action, subject)
        written = f"# {done or 'write ' + member('topologyKey', well_known)}"
        labels = _suggest_labels("the nodes", well_known).removeprefix("# ")
        return f"is on no node, and neither is {well_known}", f"{written}, and {labels}"
    if siblings := list_siblings(key, facts.label_keys()):
        return "is on no node", f"# write another label of that prefix: {join_names(siblings)}"
    repeated = describe_repeated(ZONE, action, subject)
    has_zones = facts.nodes_with(ZONE) == facts.schedulable_nodes() and not repeated
    instead = member("topologyKey", ZONE) if has_zones else _suggest_labels("the nodes", key)
    return "is on no node, and is like none of their labels", instead


def _describe_meant_key(
    meant: str, constraint: Constraint, subject: Subject, context: AdviceContext
) -> tuple[str, str]:
    """Describe a key of no node that was meant to be another one, which some nodes have."""
    in_audit = context.cluster is not None
    if in_audit and not _count_carriers(meant, subject.demands, context)[0]:
        problem = f"is on no node; {meant} is, but on none that its pods can go to"
        return problem, _suggest_labels("such nodes", constraint.topology_key)
    repeated = describe_repeated(meant, constraint.when_unsatisfiable, subject)
    instead = f"# {repeated}" if repeated else member("topologyKey", meant)
    return f"is on no node; {meant} is", instead


def _count_carriers(key: str, demands: Demands, context: AdviceContext) -> tuple[int, int]:
    """Count the reachable nodes that have a key, and all reachable nodes."""
    if context.cluster is not None:
        topology = context.cluster.schedulable(demands)
        reached = topology.domains(key, (), demands).values
        return len(topology.domains(key, (key,), demands).values), len(reached)
    nodes, carriers = context.facts.schedulable_nodes(), context.facts.nodes_with(key)
    if carriers and (
        selects_nodes(demands)
        # all of the closed nodes may be the ones without the key
        or nodes - carriers <= find_tainted(HOSTNAME, demands, context.facts).number
    ):
        return nodes, nodes
    return carriers, nodes


def min_domains_can_be_met(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """TSC104: with fewer domains than minDomains each domain takes at most maxSkew pods."""
    if not any(one.min_domains for one in subject.constraints):
        return  # most workloads
    if subject.is_daemon:
        yield from _report_surge(subject, context)
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
    left = _count_reachable(key, subject.demands, context)
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
        f"by {name_requirements(subject.demands, ())} its pods can go to {few}, whatever nodes are "
        f"added: {_describe_limit(spread, subject)}, {waiting} stay Pending"
    )


def _describe_few_domains(
    spread: SpreadConstraint, left: int, subject: Subject, context: AdviceContext
) -> str:
    """Describe that few domains count now; empty if they are enough, or no pod stays Pending."""
    required = spread.min_domains
    if (_count_counted(spread, subject.demands, context) or required) >= required:
        return ""
    waiting = _name_waiting(subject, spread, left)
    return waiting and (
        f"{_describe_left(spread.topology_key, left, subject, context)}: "
        f"{_describe_limit(spread, subject)}, {waiting} stay Pending until a node autoscaler "
        "adds a domain; with one that does, this is right"
    )


def _describe_limit(spread: SpreadConstraint, subject: Subject) -> str:
    return f"each takes {name_limit(subject, spread.constraint, spread.max_skew)} at most"


def _name_waiting(subject: Subject, spread: SpreadConstraint, domains: int) -> str:
    return name_waiting(subject, spread.constraint, domains * spread.max_skew)


def suggest_min_domains(subject: Subject, index: int, left: int, context: AdviceContext) -> str:
    """
    Suggest the number of domains as minDomains, if all replicas then have a place in every order.

    Otherwise a soft constraint is suggested: with the minimum of the domains that there are,
    another constraint may leave replicas Pending. TSC105 and TSC116 are about closed domains.

    Args:
        left: Number of domains that the pods can go to, whatever the state of the nodes.
    """
    constraints = list(subject.constraints)
    constraints[index] = replace(constraints[index], min_domains=left)
    changed = subject.with_constraints(tuple(constraints))
    if subject.is_alone and not subject.is_daemon:
        changed = replace(changed, replicas=2, scaling=None)  # its pod, and that of a rollout
    orders = read_orders(
        changed,
        context,
        leaves_out_closed=True,
        whatever_state=True,
    )
    known = context.cluster is not None and context.cluster.topology.nodes
    if not known or (orders and orders.all_fit()):
        return member("minDomains", left)
    return suggest_soft(constraints[index], subject)


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
                "node, which is one domain and takes 1 pod: by maxSurge, the new pod of a node "
                "waits there for the old one, which waits for the new one",
                member("minDomains", 1),
                f"minDomains is {spread.min_domains}: no new pod has a place beside the old one",
            )


def _describe_left(key: str, left: int, subject: Subject, context: AdviceContext) -> str:
    """Describe the domains that pods can reach; affinity and tolerations if these exclude some."""
    if context.cluster is None:
        every = context.facts.domains(key)
    else:
        anywhere = subject.demands.honoring(affinity=False, taints=False)
        every = len(context.cluster.lasting_domains(key, (key,), anywhere).sizes)
    domains = count_of(left, "domain")
    if left == every:
        return f"{quote_value(key)} has {domains} only"
    return f"affinity and tolerations leave its pods {domains} of {quote_value(key)}"


def _count_reachable(key: str, demands: Demands, context: AdviceContext) -> int | None:
    """
    Count the domains that a pod can reach by its affinity and tolerations.

    Returns:
        At admission an upper bound; None if unknown.
    """
    if context.cluster is not None:
        return len(context.cluster.lasting_domains(key, (key,), demands).sizes)
    if tolerates_cordons(demands):
        return None
    known = context.facts.domains(key)
    if demands.tolerations is not None:
        known -= find_tainted(key, demands, context.facts).number
    allowed = count_allowed_values(key, demands)
    return known if allowed is None else min(known, allowed)


def _count_counted(
    spread: SpreadConstraint, demands: Demands, context: AdviceContext
) -> int | None:
    """
    Count the domains that a constraint counts, also those that its pods cannot reach.

    Returns:
        As ``_count_reachable`` does.
    """
    return _count_reachable(
        spread.topology_key,
        spread.counting(demands),
        context,
    )
