"""
Pods that nodes keep Pending which are cordoned, not ready or tainted for now.

``report_later`` is about the pods after the next one, ``report_unready`` about pods without any
node. A drained zone counts as an empty one: then each other zone takes maxSkew pods, and no more.
If it does not count, there may be fewer zones than minDomains, with the same effect. Only what one
constraint allows by itself is counted, so that the pods stay Pending in every order of placement.
"""

from collections.abc import Collection, Iterator, Sequence

from msgspec.structs import replace

from webhook.policy.advice.awaitedpods import count_awaited, count_places_of
from webhook.policy.advice.closeddomains import POLICY_CHOICES, honor_policies
from webhook.policy.advice.context import AdviceContext, ClusterState
from webhook.policy.advice.countedgroups import count_together
from webhook.policy.advice.counting import build_added_pod, hard_constraints
from webhook.policy.advice.findings import (
    WAIT_FOR_NODES,
    RuleViolation,
    all_of,
    count_of,
    join_names,
    quote_value,
)
from webhook.policy.advice.flow import member
from webhook.policy.advice.replicas import find_conflicts
from webhook.policy.advice.subject import Subject
from webhook.policy.advice.volumes import volumes_return
from webhook.policy.api.gates import Gate
from webhook.policy.model import HONOR, HOSTNAME, Node
from webhook.policy.placement.nodes import Demands, find_rejection
from webhook.policy.placement.tallies import PodTally

_CLOSED = "cordoned, not ready or tainted for now"


def report_later(
    subject: Subject, tallies: tuple[PodTally, ...], context: AdviceContext
) -> Iterator[RuleViolation]:
    """
    Report awaited pods that have a place only once no state of a node that passes closes it.

    Even then some may have none: other rules report domains that stay closed, and too few domains.

    Args:
        tallies: The hard constraints of the next pod, which some node accepts.
    """
    cluster, awaited = context.cluster, count_awaited(subject)
    if cluster is None or not tallies or awaited == 1:
        return  # most workloads
    if subject.companions:
        return  # their places depend on where the pods are that they have to be near
    demands = subject.demands
    keys = [tally.spread.topology_key for tally in tallies]  # nodes without one do not count
    now, later = (_list_open(cluster, one, keys) for one in (demands, demands.lasting))
    if len(now) == len(later):
        return
    places = {tally.spread.index: _count_places(tally, now, subject) for tally in tallies}
    if all(number == awaited for number in places.values()):
        return
    returned = {tally.spread.index: tally for tally in tally_returned(subject, context)}
    short = [index for index, number in places.items() if number < awaited]
    policies = _find_policies(subject, short, now, context)
    lacking = _name_lacking(subject, cluster)
    for tally in tallies:
        index = tally.spread.index
        soon = _count_places(returned[index], later, subject)
        unready = _describe_unready(tally, now, later, all_return=soon == awaited)
        if not unready or soon <= places[index]:
            continue
        # Several constraints together may allow fewer; TSC109 may name that number.
        is_upper_bound = len(hard_constraints(subject, context)) > 1
        number = f"{'at most ' if is_upper_bound else ''}{places[index]} of {awaited} pods"
        yield RuleViolation(
            subject.field(index, policies[0] if policies else ""),
            f"{number} that wait have a place{lacking}: {unready}",
            "\n".join(member(policy, HONOR) for policy in policies) or WAIT_FOR_NODES,
            f"{number} have a place while nodes are {_CLOSED}",
        )


def _count_places(tally: PodTally, nodes: Sequence[Node], subject: Subject) -> int:
    """
    Count the awaited pods that one constraint allows on some nodes.

    Each Job of a JobSet, and each group of a LeaderWorkerSet, has as many places as the others if
    the constraint counts the pods of one of them, and none of these has a node.
    """
    awaited, together = count_awaited(subject), count_together(tally.spread.constraint, subject)
    if together == subject.most_replicas or not together:
        return count_places_of(tally, nodes, awaited)
    places = together if tally.pods else count_places_of(tally, nodes, together)
    return awaited if places == together else places * (awaited // together)


def report_unready(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """Report that the state of all nodes rejects the next pod, which can go to some of them."""
    assert context.cluster is not None, "the rule runs in audits"
    nodes = len(_list_open(context.cluster, subject.demands.lasting))
    unready = f"{all_of(nodes, 'node')} that its pods can go to {'is' if nodes == 1 else 'are'} "
    unready += _CLOSED
    yield RuleViolation(
        subject.list_path, f"{unready}: the next pod stays Pending", WAIT_FOR_NODES, unready
    )


def tally_returned(subject: Subject, context: AdviceContext) -> tuple[PodTally, ...]:
    """Count for the hard constraints as if no state of a node that passes closed it."""
    assert context.cluster is not None, "the rule runs in audits"
    pod = build_added_pod(subject)
    returned = replace(pod, demands=pod.demands.lasting)
    return context.cluster.tally_known(returned, subject.constraints, context.gates).hard


def _list_open(cluster: ClusterState, demands: Demands, keys: Collection[str] = ()) -> list[Node]:
    """List the nodes that pods can go to, of those that have some labels."""
    nodes = (node for node in cluster.topology.nodes if all(key in node.labels for key in keys))
    return [node for node in nodes if find_rejection(node, demands) is None]


def _name_lacking(subject: Subject, cluster: ClusterState) -> str:
    """Name the keys of hard constraints that no node has, which TSC103 reports; mostly empty."""
    keys = map(quote_value, cluster.list_unknown_keys(subject.constraints, subject.demands))
    named = join_names([*keys])
    return f", and none before nodes have {named}" if named else ""


def _describe_unready(
    tally: PodTally, now: Sequence[Node], later: Sequence[Node], *, all_return: bool
) -> str:
    """
    Name the domains that are closed for now, and why this matters to the others.

    Args:
        all_return: Whether all pods have a place once these domains are open.

    Returns:
        Empty if none is, or if a domain that stays closed keeps pods Pending even then: other rules
        report it.
    """
    spread, sizes = tally.spread, tally.domains.sizes
    key, required = spread.topology_key, spread.min_domains
    opened = {node.labels[key] for node in now}
    closed = sorted({node.labels[key] for node in later} - opened)
    if counted := [value for value in closed if value in sizes]:
        closed = counted
        them = "it" if key == HOSTNAME and len(closed) == 1 else "them"
        effect = f", but {quote_value(key)} counts {them}"
    elif len(sizes) < required:
        number = count_of(len(sizes), "domain")
        effect = f", so that {quote_value(key)} has {number}, and minDomains is {required}"
    elif not all_return:
        return ""
    else:
        barred = sorted(sizes.keys() - opened)
        most = min((tally.pods.get(value, 0) for value in barred), default=0) + spread.max_skew
        effect = (
            f", and each other domain takes {count_of(most, 'pod')} at most, since "
            f"{quote_value(key)} counts {join_names(barred)}, where they cannot go"
        )
    if not closed:
        return ""
    named = join_names(closed)
    if key == HOSTNAME:
        return f"{named} {'is' if len(closed) == 1 else 'are'} {_CLOSED}{effect}"
    return f"all nodes of {named} that they can go to are {_CLOSED}{effect}"


def _find_policies(
    subject: Subject, short: Collection[int], now: list[Node], context: AdviceContext
) -> tuple[str, ...]:
    """
    Find the fewest policies with which all may have a place, if some constraints honor them.

    Volumes that are created meanwhile would keep their pods out of the domains that return.

    Returns:
        Empty if there are none.
    """
    cluster = context.cluster
    if cluster is None or Gate.NODE_INCLUSION_POLICY not in context.gates:
        return ()
    if any(volumes_return(subject.constraints[index], subject, cluster) for index in short):
        return ()
    enough = (
        policies
        for policies in POLICY_CHOICES
        if _is_honoring_enough(policies, subject, short, now, context)
    )
    return next(enough, ())


def _is_honoring_enough(
    policies: tuple[str, ...],
    subject: Subject,
    short: Collection[int],
    now: list[Node],
    context: AdviceContext,
) -> bool:
    assert context.cluster is not None, "the rule runs in audits"
    constraints = tuple(
        honor_policies(one, policies) if index in short else one
        for index, one in enumerate(subject.constraints)
    )
    pod, awaited = build_added_pod(subject), count_awaited(subject)
    changed = context.cluster.tally_known(pod, constraints, context.gates).hard
    if any(_count_places(one, now, subject) < awaited for one in changed):
        return False
    replicas = max(subject.most_replicas or 0, awaited)
    return not any(find_conflicts(subject.with_constraints(constraints), context, replicas))
