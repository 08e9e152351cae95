"""
Closed domains: they count for a hard constraint, although the pod cannot go to any of their nodes.

``find_closed`` is the entry point. A closed domain stays empty, so the global minimum stays 0. A
constraint leaves such domains out by its node inclusion policies, of which ``find_closed`` names
the fewest that do. If those that remain are fewer than minDomains, the global minimum is still 0:
then minDomains has to be lowered, too. At admission the facts come from indexes, which do not know
single nodes.

Source: kube-scheduler plugins/podtopologyspread/filtering.go ``calPreFilterState``.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from msgspec.structs import replace

from webhook.policy.advice.context import AdviceContext, ClusterState
from webhook.policy.advice.findings import SHOWN_CHARACTERS, clip, count_of, join_names
from webhook.policy.advice.flow import member
from webhook.policy.advice.reachabledomains import count_reachable, list_tainted
from webhook.policy.advice.subject import Subject
from webhook.policy.facts import Facts
from webhook.policy.model import AFFINITY_POLICY, HONOR, TAINTS_POLICY, Constraint
from webhook.policy.placement.allowedvalues import (
    ALL_VALUES,
    NodeLabelValues,
    find_allowed,
    requires_others,
)
from webhook.policy.placement.nodes import (
    Demands,
    RejectionReason,
    render_taint,
)
from webhook.policy.placement.spreads import SpreadConstraint
from webhook.policy.placement.topology import Domains

_MIN_DOMAINS = "minDomains"

POLICY_CHOICES = ((TAINTS_POLICY,), (AFFINITY_POLICY,), (AFFINITY_POLICY, TAINTS_POLICY))
"""Policies to set to Honor, the fewest first; that of taints first, since its default is Ignore."""


@dataclasses.dataclass(frozen=True)
class ClosedDomains:
    """
    The closed domains of one constraint.

    Attributes:
        values: Some of the domains; at admission none if affinity closes them.
        number: How many there are; at admission at least so many.
        taints: The taints that close them, as kubectl writes them.
        policies: The policies that leave all of them out if they are Honor; at least one.
        reached: Domains that the pod can go to; at admission the most there can be.
    """

    values: tuple[str, ...] = ()
    number: int = 0
    taints: tuple[str, ...] = ()
    policies: tuple[str, ...] = (TAINTS_POLICY,)
    reached: int = 0

    @property
    def by_taints(self) -> bool:
        """Whether taints alone close them."""
        return self.policies == (TAINTS_POLICY,)


def find_closed(
    spread: SpreadConstraint, keys: tuple[str, ...], demands: Demands, context: AdviceContext
) -> ClosedDomains | None:
    """
    Find the closed domains of a constraint.

    Args:
        keys: The topology keys of all hard constraints of the pod.

    Returns:
        None if there are none, if that is unknown, or if the pod can go to no domain at all.
    """
    if spread.honors_taints and spread.honors_affinity:
        return None
    if context.cluster is not None:
        return _find_in_cluster(spread, keys, demands, context.cluster)
    facts, others = context.facts, set(keys) - {spread.topology_key}
    if any(facts.nodes_with(key) < facts.schedulable_nodes() for key in others):
        return None  # nodes without the key of another one do not count, and may be the closed ones
    return _find_by_index(spread, demands, facts)


def honor_policies(constraint: Constraint, policies: Iterable[str]) -> Constraint:
    """Return the constraint with these policies set to Honor."""
    for policy in policies:
        if policy == AFFINITY_POLICY:
            constraint = replace(constraint, node_affinity_policy=HONOR)
        else:
            constraint = replace(constraint, node_taints_policy=HONOR)
    return constraint


def open_domains(constraint: Constraint, closed: ClosedDomains) -> Constraint:
    """Return the constraint with the values that ``suggest_policies`` suggests."""
    honoring = honor_policies(constraint, closed.policies)
    return (
        replace(honoring, min_domains=closed.reached)
        if _leaves_few(constraint, closed)
        else honoring
    )


def suggest_policies(subject: Subject, index: int, closed: ClosedDomains) -> tuple[str, str]:
    """Return the field to change, and what to write; the same for every rule with this cause."""
    field = subject.field(index, closed.policies[0])
    lines = [member(policy, HONOR) for policy in closed.policies]
    if describe_few(subject, index, closed):
        if not closed.values:  # the number of domains is a bound
            return field, (
                f"# write {' and '.join(lines)}, and as minDomains the number of domains that its "
                f"pods can go to, {closed.reached} at most"
            )
        lines.append(member(_MIN_DOMAINS, closed.reached))
    return field, "\n".join(lines)


def suggest_without_policies(subject: Subject, index: int, closed: ClosedDomains) -> str:
    """Describe what has the effect of honoring taints where the API has no field for it."""
    few = describe_few(subject, index, closed)
    lowered = f" and write {member(_MIN_DOMAINS, closed.reached)}" if few else ""
    return (
        f"leave these nodes out by required node affinity{lowered}, or tolerate "
        f"{join_names(closed.taints)}"
    )


def describe_few(subject: Subject, index: int, closed: ClosedDomains) -> str:
    """
    Describe that fewer domains than minDomains remain, as the end of a sentence.

    Returns:
        Empty if they are enough, and for a DaemonSet, whose pods can go to one node each.
    """
    constraint = subject.constraints[index]
    if subject.is_daemon or not _leaves_few(constraint, closed):
        return ""
    remaining = count_of(closed.reached, "domain")
    return f"; {_MIN_DOMAINS} is {constraint.min_domains}, more than the {remaining} without them"


def _leaves_few(constraint: Constraint, closed: ClosedDomains) -> bool:
    return (constraint.min_domains or 0) > closed.reached


def _find_in_cluster(
    spread: SpreadConstraint, keys: tuple[str, ...], demands: Demands, cluster: ClusterState
) -> ClosedDomains | None:
    # Cordoned nodes count, too; a domain that is only cordoned is open once they return.
    topology = cluster.topology

    def domains(*, affinity: bool, taints: bool) -> Domains:
        honored = demands.honoring(affinity=affinity, taints=taints)
        return topology.domains(spread.topology_key, keys, honored.lasting)

    counted = domains(affinity=spread.honors_affinity, taints=spread.honors_taints)
    entered = domains(affinity=True, taints=True)
    closed = sorted(counted.sizes.keys() - entered.sizes.keys())
    if not closed or not entered.sizes:
        return None
    policies = next(
        chosen
        for chosen in POLICY_CHOICES
        if domains(
            affinity=spread.honors_affinity or AFFINITY_POLICY in chosen,
            taints=spread.honors_taints or TAINTS_POLICY in chosen,
        ).sizes.keys()
        == entered.sizes.keys()
    )
    taints = find_taints(counted, entered, set(closed)) if TAINTS_POLICY in policies else ()
    return ClosedDomains(tuple(closed), len(closed), taints, policies, len(entered.sizes))


def find_taints(counted: Domains, entered: Domains, closed: AbstractSet[str]) -> tuple[str, ...]:
    """
    Find the taints on the nodes of closed domains, those of the first domain first.

    Args:
        counted: Domains with their nodes, whatever their taints.
        entered: The same without the nodes that a pod cannot go to.
        closed: The values to look at.
    """
    ordered = sorted((value, name) for name, value in counted.values.items() if value in closed)
    rejections = (entered.left_out[name] for _, name in ordered)
    found = (one.about for one in rejections if one.reason is RejectionReason.TAINT)
    return tuple(dict.fromkeys(found))


def name_requirements(
    subject: Subject, taints: Sequence[str] = (), *, with_labels: bool = True
) -> str:
    """
    Name what keeps pods off nodes, as ``nodeSelector and taints (gpu:NoSchedule)``.

    Args:
        with_labels: Whether the labels of the nodes have a part in it.
    """
    causes = [*_name_labels(subject)] if with_labels else []
    causes += [f"taints ({join_names(taints)})"] if taints else []
    return " and ".join(causes)


def _name_labels(subject: Subject) -> Iterator[str]:
    """Name what requires certain labels of nodes."""
    written, found = subject.pod.demands, subject.runtime_class
    if written.pairs:
        yield "nodeSelector"
    if found and found.node_selector:
        yield f"RuntimeClass {clip(found.name, SHOWN_CHARACTERS)}"
    if written.terms is not None:
        yield "node affinity"


def _find_by_index(
    spread: SpreadConstraint, demands: Demands, facts: Facts
) -> ClosedDomains | None:
    key, known = spread.topology_key, facts.domains(spread.topology_key)
    domains, tainted = len(known), find_tainted(key, demands, facts)
    # The allowed domains are all that the pod can reach; the others count in any case, unless
    # they are left out for their taints.
    allowed = None
    if not (spread.honors_affinity or find_allowed(key, demands).are_all):
        entering = demands.honoring(affinity=True, taints=spread.honors_taints)
        allowed = count_reachable(key, entering, facts)
    if allowed == 0:
        return None
    if allowed is not None:
        left_out = tainted.number if spread.honors_taints else 0
        closed = domains - left_out - allowed
        if closed > (0 if spread.honors_taints else tainted.number):
            return ClosedDomains((), closed, (), (AFFINITY_POLICY,), allowed)
    if spread.honors_taints or (spread.honors_affinity and requires_others(key, demands)):
        return None  # the tainted nodes do not count, or may not
    if spread.honors_affinity:
        counted = find_allowed(key, demands)
        domains, tainted = counted.count(known), find_tainted(key, demands, facts, counted)
    if not 0 < tainted.number < domains:
        return None
    return dataclasses.replace(tainted, reached=domains - tainted.number)


def find_tainted(
    key: str, demands: Demands, facts: Facts, counted: NodeLabelValues = ALL_VALUES
) -> ClosedDomains:
    """
    Find the domains of a topology key whose taints a pod does not tolerate, by an index.

    Args:
        counted: The domains that count.
    """
    found = ClosedDomains()
    for values, taint in list_tainted(key, demands, facts):
        number = counted.count(values)
        if number:
            found = ClosedDomains(
                found.values or (counted.find_one(values),),
                found.number + number,
                tuple(dict.fromkeys((*found.taints, render_taint(taint)))),
            )
    return found


def selects_nodes(demands: Demands) -> bool:
    """Whether a pod requires certain nodes by nodeSelector or affinity."""
    return bool(demands.pairs) or demands.terms is not None
