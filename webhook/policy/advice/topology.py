"""
Rules about domains: are there any, are there enough, and can a pod go to all that count.

At admission the answers come from indexes, which know nothing of single nodes: of a pod that asks
for certain nodes they tell less, so a rule is then silent where an audit may speak.
"""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

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
from webhook.policy.placement.nodes import Demands
from webhook.policy.placement.spreads import SpreadConstraint
from webhook.policy.placement.taints import find_untolerated, render_taint
from webhook.policy.selectors import IN


def key_is_on_nodes(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """TSC103: nodes without the key are in no domain: they get no pod, or are chosen last."""
    for i, constraint in enumerate(subject.constraints):
        key = constraint.topology_key
        carriers, nodes = _carriers(key, subject.demands, context)
        if not key or carriers >= nodes:
            continue
        if carriers:
            told, instead = _on_some(constraint, carriers, nodes)
        elif context.facts.nodes_with(key):
            told = f"is on none of the {count_of(nodes, 'node')} that its pods can go to"
            instead = _labelling("such nodes", key)
        else:
            told, instead = _on_none(key, context.facts)
        yield RuleViolation(
            subject.field(i, "topologyKey"), f"topologyKey {quote_value(key)} {told}", instead
        )


def _on_some(constraint: Constraint, carriers: int, nodes: int) -> tuple[str, str]:
    hard = constraint.when_unsatisfiable == DO_NOT_SCHEDULE
    others = "the others get none" if hard else "the others come last"
    told = f"is on {carriers} of {nodes} nodes: {others}"
    return told, _labelling("the other nodes", constraint.topology_key)


def _labelling(which: str, key: str) -> str:
    return f"# label {which}: kubectl label node NAME {clip(key, KEY_CHARACTERS)}=VALUE"


def _on_none(key: str, facts: Facts) -> tuple[str, str]:
    meant = nearest_key(key, facts.label_keys())
    if meant:
        return f"is on no node; {meant} is", member("topologyKey", meant)
    has_zones = facts.nodes_with(ZONE) == facts.schedulable_nodes()
    return "is on no node", member("topologyKey", ZONE) if has_zones else _labelling(
        "the nodes", key
    )


def _carriers(key: str, demands: Demands, context: AdviceContext) -> tuple[int, int]:
    """Count the nodes that carry a key, and all; of those that the pod may go to."""
    if context.cluster is not None:
        topology = context.cluster.schedulable(demands)
        reached = topology.domains(key, (), demands).values
        return len(topology.domains(key, (key,), demands).values), len(reached)
    nodes, carriers = context.facts.schedulable_nodes(), context.facts.nodes_with(key)
    if carriers and (_is_choosy(demands) or nodes - carriers <= _closed(demands, context.facts)):
        return nodes, nodes
    return carriers, nodes


def _closed(demands: Demands, facts: Facts) -> int:
    """Count the nodes that a pod may not go to for their taints; all of these may lack a key."""
    return sum(each.number for each in _shut_by_index(HOSTNAME, demands, facts))


def _is_choosy(demands: Demands) -> bool:
    return bool(demands.pairs) or demands.terms is not None


def min_domains_can_be_met(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """TSC104: with fewer domains than that the minimum is 0, so each takes maxSkew pods at most."""
    if subject.is_alone:
        return
    for spread in hard_constraints(subject, context):
        key, wanted = spread.topology_key, spread.min_domains
        left = _reachable(key, subject.demands, context) if wanted > 1 else None
        if left and left < wanted:
            yield RuleViolation(
                subject.field(spread.index, "minDomains"),
                f"minDomains is {wanted}, but affinity and tolerations leave its pods "
                f"{count_of(left, 'domain')} of {quote_value(key)}: each takes "
                f"{count_of(spread.max_skew, 'pod')} at most, the others stay Pending",
                member("minDomains", left),
                f"minDomains is {wanted}, but its pods can reach {count_of(left, 'domain')}",
            )


def _reachable(key: str, demands: Demands, context: AdviceContext) -> int | None:
    """
    How many domains a pod may go to, by its affinity and its tolerations.

    Returns:
        At admission at most as many as that; None if nothing is known.
    """
    if context.cluster is not None:
        return len(context.cluster.schedulable(demands).domains(key, (key,), demands).sizes)
    if tolerates_cordons(demands):
        return None
    shut = sum(each.number for each in _shut_by_index(key, demands, context.facts))
    known = context.facts.domains(key) - shut
    asked = _asked_values(key, demands)
    return known if asked is None else min(known, asked)


def _asked_values(key: str, demands: Demands) -> int | None:
    """How many values of a label a pod's nodeSelector and affinity allow; None for any number."""
    if any(pair[0] == key for pair in demands.pairs):
        return 1
    if demands.terms is None:
        return None
    allowed: set[str] = set()
    for term in demands.terms:
        asked = (each for each in term.match_expressions or () if each.key == key)
        values = next((each.values or () for each in asked if each.operator == IN), None)
        if values is None:
            return None
        allowed.update(values)
    return len(allowed)


class ClosedDomains(NamedTuple):
    """
    Domains that count for a constraint, and that the pod may not go to.

    Attributes:
        values: Some of them, at least one.
        number: How many there are.
        taint: What keeps the pod away, as kubectl writes it.
    """

    values: tuple[str, ...]
    number: int
    taint: str


def domains_are_open(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """TSC105: a domain of tainted nodes stays empty, and holds the global minimum at 0."""
    if subject.is_alone:
        return
    hard = hard_constraints(subject, context)
    keys = tuple(spread.topology_key for spread in hard)
    for spread in hard:
        shut = None if spread.honors_taints else _shut(spread, keys, subject.demands, context)
        if shut is None:
            continue
        domains = count_of(shut.number, "domain")
        yield RuleViolation(
            subject.field(spread.index, "nodeTaintsPolicy"),
            f"nodes with taints that its pods do not tolerate ({shut.taint}) form {domains} of "
            f"{quote_value(spread.topology_key)} ({join_names(shut.values, shut.number)}), "
            f"always counted as empty: every other domain takes "
            f"{count_of(spread.max_skew, 'pod')} at most",
            _honoring(shut, context),
            f"tainted nodes form {domains} ({clip(shut.values[0], 30)}), always counted as empty",
        )


def _honoring(shut: ClosedDomains, context: AdviceContext) -> str:
    if Gate.NODE_INCLUSION_POLICY in context.gates:
        return member("nodeTaintsPolicy", HONOR)
    return f"# leave these nodes out by required node affinity, or tolerate {shut.taint}"


def _shut(
    spread: SpreadConstraint, keys: tuple[str, ...], demands: Demands, context: AdviceContext
) -> ClosedDomains | None:
    if context.cluster is not None:
        return _shut_by_cluster(spread, keys, demands, context.cluster)
    facts = context.facts
    if spread.honors_affinity and _is_choosy(demands):
        return None  # the tainted nodes may be among those that do not count at all
    if any(facts.nodes_with(key) < facts.schedulable_nodes() for key in keys):
        return None  # the same
    found = _shut_by_index(spread.topology_key, demands, facts)
    count_of = sum(each.number for each in found)
    if not 0 < count_of < facts.domains(spread.topology_key):
        return None
    return ClosedDomains(found[0].values, count_of, found[0].taint)


def _shut_by_index(key: str, demands: Demands, facts: Facts) -> list[ClosedDomains]:
    tolerations = demands.tolerations or ()
    found: list[ClosedDomains] = []
    for each in facts.tainted_domains(key):
        taints = [find_untolerated(way, tolerations) for way in each.taints]
        if taints[0] is not None and None not in taints:
            some = tuple(islice(each.values, 1))
            found.append(ClosedDomains(some, len(each.values), render_taint(taints[0])))
    return found


def _shut_by_cluster(
    spread: SpreadConstraint, keys: tuple[str, ...], demands: Demands, cluster: ClusterState
) -> ClosedDomains | None:
    topology, key = cluster.schedulable(demands), spread.topology_key
    counting = demands.honoring(affinity=spread.honors_affinity, taints=False)
    entering = demands.honoring(affinity=spread.honors_affinity, taints=True)
    counted, entered = (topology.domains(key, keys, each) for each in (counting, entering))
    values = sorted(counted.sizes.keys() - entered.sizes.keys())
    if not values or not entered.sizes:
        return None
    taint = next(
        entered.left_out[name].about for name, value in counted.values.items() if value == values[0]
    )
    return ClosedDomains(tuple(values), len(values), taint)
