"""
Rules about domains: TSC103 (they exist), TSC104 (there are enough), TSC105 (pods can reach them).

At admission the facts come from indexes, which do not know single nodes. For a pod that requires
certain nodes they are incomplete, so a rule is then silent where an audit may report a violation.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from webhook.policy.advice.context import AdviceContext, ClusterState, tolerates_cordons
from webhook.policy.advice.counting import hard_constraints
from webhook.policy.advice.findings import RuleViolation, clip, count_of, join_names, quote_value
from webhook.policy.advice.flow import member
from webhook.policy.advice.subject import Subject
from webhook.policy.advice.suggestions import KEY_CHARACTERS, nearest_key
from webhook.policy.api.gates import Gate
from webhook.policy.defaulting.profiles import HOSTNAME, ZONE
from webhook.policy.facts import Facts
from webhook.policy.model import DO_NOT_SCHEDULE, HONOR, Constraint
from webhook.policy.placement.nodes import Demands, find_untolerated, render_taint
from webhook.policy.placement.spreads import SpreadConstraint
from webhook.policy.selectors import IN


def key_is_on_nodes(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """TSC103: nodes without the key are in no domain, so they get no pod or are chosen last."""
    for i, constraint in enumerate(subject.constraints):
        key = constraint.topology_key
        carriers, nodes = _count_carriers(key, subject.demands, context)
        if not key or carriers >= nodes:
            continue
        if carriers:
            problem, instead = _describe_partial_key(constraint, carriers, nodes)
        elif context.facts.nodes_with(key):
            problem = f"is on none of the {count_of(nodes, 'node')} that its pods can go to"
            instead = _suggest_labels("such nodes", key)
        else:
            problem, instead = _describe_missing_key(key, context.facts)
        yield RuleViolation(
            subject.field(i, "topologyKey"), f"topologyKey {quote_value(key)} {problem}", instead
        )


def _describe_partial_key(constraint: Constraint, carriers: int, nodes: int) -> tuple[str, str]:
    hard = constraint.when_unsatisfiable == DO_NOT_SCHEDULE
    others = "the others get none" if hard else "the others come last"
    problem = f"is on {carriers} of {nodes} nodes: {others}"
    return problem, _suggest_labels("the other nodes", constraint.topology_key)


def _suggest_labels(which: str, key: str) -> str:
    return f"# label {which}: kubectl label node NAME {clip(key, KEY_CHARACTERS)}=VALUE"


def _describe_missing_key(key: str, facts: Facts) -> tuple[str, str]:
    meant = nearest_key(key, facts.label_keys())
    if meant:
        return f"is on no node; {meant} is", member("topologyKey", meant)
    has_zones = facts.nodes_with(ZONE) == facts.schedulable_nodes()
    instead = member("topologyKey", ZONE) if has_zones else _suggest_labels("the nodes", key)
    return "is on no node", instead


def _count_carriers(key: str, demands: Demands, context: AdviceContext) -> tuple[int, int]:
    """Count the reachable nodes that have a key, and all reachable nodes."""
    if context.cluster is not None:
        topology = context.cluster.schedulable(demands)
        reached = topology.domains(key, (), demands).values
        return len(topology.domains(key, (key,), demands).values), len(reached)
    nodes, carriers = context.facts.schedulable_nodes(), context.facts.nodes_with(key)
    if carriers and (
        _selects_nodes(demands)
        # all of the closed nodes may be the ones without the key
        or nodes - carriers <= _find_closed_by_index(HOSTNAME, demands, context.facts).number
    ):
        return nodes, nodes
    return carriers, nodes


def _selects_nodes(demands: Demands) -> bool:
    return bool(demands.pairs) or demands.terms is not None


def min_domains_can_be_met(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """TSC104: with fewer domains than minDomains each domain takes at most maxSkew pods."""
    if subject.is_alone:
        return
    for spread in hard_constraints(subject, context):
        key, required = spread.topology_key, spread.min_domains
        left = _count_reachable(key, subject.demands, context) if required > 1 else None
        if left and left < required:
            yield RuleViolation(
                subject.field(spread.index, "minDomains"),
                f"minDomains is {required}, but affinity and tolerations leave its pods "
                f"{count_of(left, 'domain')} of {quote_value(key)}: each takes "
                f"{count_of(spread.max_skew, 'pod')} at most, the others stay Pending",
                member("minDomains", left),
                f"minDomains is {required}, but its pods can reach {count_of(left, 'domain')}",
            )


def _count_reachable(key: str, demands: Demands, context: AdviceContext) -> int | None:
    """
    Count the domains that a pod can reach by its affinity and tolerations.

    Returns:
        At admission an upper bound; None if unknown.
    """
    if context.cluster is not None:
        return len(context.cluster.schedulable(demands).domains(key, (key,), demands).sizes)
    if tolerates_cordons(demands):
        return None
    closed = _find_closed_by_index(key, demands, context.facts)
    known = context.facts.domains(key) - closed.number
    allowed = _count_allowed_values(key, demands)
    return known if allowed is None else min(known, allowed)


def _count_allowed_values(key: str, demands: Demands) -> int | None:
    """Count the values of a label that a pod's nodeSelector and affinity allow; None for any."""
    if any(pair[0] == key for pair in demands.pairs):
        return 1
    if demands.terms is None:
        return None
    allowed: set[str] = set()
    for term in demands.terms:
        expressions = term.match_expressions or ()
        listed = (one.values for one in expressions if (one.key, one.operator) == (key, IN))
        values = next(listed, None)
        if values is None:
            return None
        allowed.update(values)
    return len(allowed)


@dataclass(frozen=True)
class ClosedDomains:
    """
    Domains that count for a constraint although the pod cannot go there.

    Attributes:
        values: Some of the domains, at least one unless there are none.
        taint: The taint that the pod does not tolerate, as kubectl writes it.
    """

    values: tuple[str, ...] = ()
    number: int = 0
    taint: str = ""


def domains_are_open(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """TSC105: a domain of tainted nodes stays empty and keeps the global minimum at 0."""
    if subject.is_alone:
        return
    hard = hard_constraints(subject, context)
    keys = tuple(spread.topology_key for spread in hard)
    for spread in hard:
        closed = (
            None if spread.honors_taints else _find_closed(spread, keys, subject.demands, context)
        )
        if closed is None:
            continue
        domains = count_of(closed.number, "domain")
        yield RuleViolation(
            subject.field(spread.index, "nodeTaintsPolicy"),
            f"nodes with taints that its pods do not tolerate ({closed.taint}) form {domains} of "
            f"{quote_value(spread.topology_key)} ({join_names(closed.values, closed.number)}), "
            f"always counted as empty: every other domain takes "
            f"{count_of(spread.max_skew, 'pod')} at most",
            _suggest_honoring(closed, context),
            f"tainted nodes form {domains} ({clip(closed.values[0], 30)}), always counted as empty",
        )


def _suggest_honoring(closed: ClosedDomains, context: AdviceContext) -> str:
    if Gate.NODE_INCLUSION_POLICY in context.gates:
        return member("nodeTaintsPolicy", HONOR)
    return f"# leave these nodes out by required node affinity, or tolerate {closed.taint}"


def _find_closed(
    spread: SpreadConstraint, keys: tuple[str, ...], demands: Demands, context: AdviceContext
) -> ClosedDomains | None:
    if context.cluster is not None:
        return _find_closed_in_cluster(spread, keys, demands, context.cluster)
    facts = context.facts
    if spread.honors_affinity and _selects_nodes(demands):
        return None  # the tainted nodes may not count at all
    if any(facts.nodes_with(key) < facts.schedulable_nodes() for key in keys):
        return None  # again, the tainted nodes may not count at all
    found = _find_closed_by_index(spread.topology_key, demands, facts)
    return found if 0 < found.number < facts.domains(spread.topology_key) else None


def _find_closed_by_index(key: str, demands: Demands, facts: Facts) -> ClosedDomains:
    tolerations = demands.tolerations or ()
    found = ClosedDomains()
    for domains in facts.tainted_domains(key):
        # A domain is closed if the pod tolerates none of the sets of taints that its nodes have.
        taints = [find_untolerated(combination, tolerations) for combination in domains.taints]
        if taints[0] is not None and None not in taints:
            found = ClosedDomains(
                found.values or tuple(islice(domains.values, 1)),
                found.number + len(domains.values),
                found.taint or render_taint(taints[0]),
            )
    return found


def _find_closed_in_cluster(
    spread: SpreadConstraint, keys: tuple[str, ...], demands: Demands, cluster: ClusterState
) -> ClosedDomains | None:
    topology, key = cluster.schedulable(demands), spread.topology_key
    counting = demands.honoring(affinity=spread.honors_affinity, taints=False)
    entering = demands.honoring(affinity=spread.honors_affinity, taints=True)
    counted, entered = (topology.domains(key, keys, demands) for demands in (counting, entering))
    values = sorted(counted.sizes.keys() - entered.sizes.keys())
    if not values or not entered.sizes:
        return None
    taint = next(
        entered.left_out[name].about for name, value in counted.values.items() if value == values[0]
    )
    return ClosedDomains(tuple(values), len(values), taint)
