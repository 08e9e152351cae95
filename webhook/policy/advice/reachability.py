"""
Rules about domains that count though pods cannot go to them: TSC105 and TSC116.

Which domains are closed is found in ``closeddomains``; a DaemonSet, whose pods can go to one node
each, is the subject of ``daemonpods``. A constraint has one finding for them: TSC105 if honoring
taints is enough, otherwise TSC116. ``list_closed`` is for rules that are silent about those.
"""

from collections.abc import Iterator

from webhook.policy.advice.capacity import is_never_spread, name_limit, name_waiting
from webhook.policy.advice.closeddomains import (
    ClosedDomains,
    describe_few,
    find_closed,
    name_requirements,
    suggest_policies,
    suggest_without_policies,
)
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.counting import (
    counts_itself,
    counts_own_revision,
    hard_constraints,
)
from webhook.policy.advice.daemonpods import PendingDaemonPods, find_pending
from webhook.policy.advice.fields import compares_revisions
from webhook.policy.advice.findings import (
    RuleViolation,
    clip,
    count_of,
    join_names,
    quote_value,
)
from webhook.policy.advice.selfaffinity import describe_following
from webhook.policy.advice.subject import Subject
from webhook.policy.advice.takenplaces import count_taken
from webhook.policy.api.gates import Gate
from webhook.policy.model import AFFINITY_POLICY, IGNORE
from webhook.policy.placement.nodes import Demands
from webhook.policy.placement.spreads import SpreadConstraint
from webhook.policy.placement.tallies import PodTally

_CLOSED = "no further pod can go there"


def domains_are_open(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """TSC105: a domain of tainted nodes stays empty and keeps the global minimum at 0."""
    for spread, closed in list_closed(subject, context):
        if not closed.by_taints:
            continue
        domains, taints = count_of(closed.number, "domain"), join_names(closed.taints)
        named = join_names([clip(closed.values[0], 30)], closed.number)
        pods = _count_inside(_find_tally(subject, spread, context), closed)
        counted = f"counted though {_CLOSED}" if any(pods) else "always counted as empty"
        most = min(pods) + spread.max_skew
        limit = name_limit(subject, spread.constraint, most)
        field, instead = suggest_policies(subject, spread.index, closed)
        if Gate.NODE_INCLUSION_POLICY not in context.gates:
            instead = f"# {suggest_without_policies(subject, spread.index, closed)}"
        yield RuleViolation(
            field,
            f"nodes with taints that its pods do not tolerate ({taints}) form {domains} of "
            f"{quote_value(spread.topology_key)} ({join_names(closed.values, closed.number)}), "
            f"{counted}: every other domain takes {limit} at most"
            f"{_name_pending(subject, spread, most * closed.reached + sum(pods))}"
            f"{describe_few(subject, spread.index, closed)}",
            instead,
            f"tainted nodes form {domains} ({named}), {counted}",
        )


def domains_are_allowed(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """TSC116: a domain that nodeSelector or affinity excludes counts, and stays empty."""
    if all(one.node_affinity_policy != IGNORE for one in subject.constraints):
        return  # most workloads; what affinity excludes does not count
    if subject.is_daemon:
        yield from _report_pending(subject, context)
        return
    for spread, closed in list_closed(subject, context):
        if closed.by_taints:
            continue
        counts = f"{' and '.join(closed.policies)} Ignore"
        counts += " counts" if len(closed.policies) == 1 else " count"
        bound = "" if closed.values else "at most "  # admission knows a bound
        named = f" ({join_names(closed.values, closed.number)})" if closed.values else ""
        tally = _find_tally(subject, spread, context)
        pods = _count_inside(tally, closed)
        state = f"though {_CLOSED}: no other " if any(pods) else "always as empty: no "
        most = min(pods) + spread.max_skew
        limit = name_limit(subject, spread.constraint, most)
        field, instead = suggest_policies(subject, spread.index, closed)
        yield RuleViolation(
            field,
            f"by {name_requirements(subject, closed.taints)} its pods can go to {bound}"
            f"{closed.reached} of {count_of(closed.reached + closed.number, 'domain')} of "
            f"{quote_value(spread.topology_key)}; {counts} the others{named}, "
            f"{state}domain takes more than {limit}"
            f"{_name_pending(subject, spread, most * closed.reached + sum(pods))}"
            f"{describe_few(subject, spread.index, closed)}{_name_absent(tally, closed)}",
            instead,
            f"{counts} {count_of(closed.number, 'domain')} that its pods cannot go to",
        )


def _report_pending(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """Report pods of a DaemonSet that have a place only if affinity is honored."""
    for spread, pending in _list_pending(subject, context):
        if not pending.by_taints:
            yield RuleViolation(
                subject.field(spread.index, AFFINITY_POLICY),
                pending.describe(),
                pending.suggest(),
                f"{AFFINITY_POLICY} Ignore keeps {pending.describe_waiting()} Pending",
            )


def _find_tally(
    subject: Subject, spread: SpreadConstraint, context: AdviceContext
) -> PodTally | None:
    """Find the pods that a constraint counts now; None at admission."""
    if context.cluster is None:
        return None
    tallies = context.cluster.tally_known(subject.next_pod, subject.constraints, context.gates).hard
    return next(one for one in tallies if one.spread.index == spread.index)


def _count_inside(tally: PodTally | None, closed: ClosedDomains) -> list[int]:
    """Count the pods in closed domains, which came there before; none at admission."""
    if tally is None:
        return [0]
    return [tally.pods.get(value, 0) for value in closed.values]


def _name_absent(tally: PodTally | None, closed: ClosedDomains) -> str:
    """Name the closed domains that do not count now, as the end of a sentence; empty if all do."""
    absent = set(closed.values).difference(tally.domains.sizes if tally else closed.values)
    if not absent:
        return ""
    verb = "does" if len(absent) == 1 else "do"
    return (
        f"; for now {join_names(sorted(absent))} {verb} not count, since all nodes there are "
        "cordoned, not ready or tainted"
    )


def _name_pending(subject: Subject, spread: SpreadConstraint, places: int) -> str:
    waiting = name_waiting(subject, spread.constraint, places)
    return f", {waiting} stay Pending" if waiting else ""


def list_closed(
    subject: Subject, context: AdviceContext
) -> Iterator[tuple[SpreadConstraint, ClosedDomains]]:
    """
    Yield the hard constraints for which closed domains count, and keep pods Pending.

    Where all pods follow the first one to its domain, the others would stay empty in any case.
    """
    demands = subject.demands
    hard = _list_known(subject, context)
    keys = tuple(spread.topology_key for spread in hard)
    if subject.is_daemon:
        hard = [spread for spread, pending in _list_pending(subject, context) if pending.by_taints]
    elif is_never_spread(subject):
        return
    for spread in hard:
        if not counts_itself(spread.constraint, subject, context.gates):
            continue  # its pods never add to the skew
        closed = find_closed(spread, keys, demands, context)
        if closed is None or _all_fit(subject, spread, closed, context):
            continue
        tally = _find_tally(subject, spread, context)
        if tally is None or not describe_following(subject, tally, keys, context):
            yield spread, closed


def _list_pending(
    subject: Subject, context: AdviceContext
) -> Iterator[tuple[SpreadConstraint, PendingDaemonPods]]:
    """Yield the hard constraints of a DaemonSet that keep some of its pods Pending."""
    hard = _list_known(subject, context)
    keys = tuple(spread.topology_key for spread in hard)
    for spread in hard:
        surges = subject.surges and not compares_revisions(spread.constraint, subject)
        pending = find_pending(spread, keys, subject.demands, context.cluster, surges=surges)
        if pending is not None and counts_itself(spread.constraint, subject, context.gates):
            yield spread, pending


def _list_known(subject: Subject, context: AdviceContext) -> list[SpreadConstraint]:
    """List the hard constraints on keys of some node."""
    return [
        spread
        for spread in hard_constraints(subject, context)
        if _is_known(spread.topology_key, subject.demands, context)
    ]


def _all_fit(
    subject: Subject, spread: SpreadConstraint, closed: ClosedDomains, context: AdviceContext
) -> bool:
    """Whether every pod has a place in the other domains, beside other pods that count."""
    places, cluster = closed.reached * spread.max_skew, context.cluster
    if cluster is not None and not counts_own_revision(spread.constraint, subject, context.gates):
        places -= count_taken(subject, spread, cluster)
    return not name_waiting(subject, spread.constraint, places)


def _is_known(key: str, demands: Demands, context: AdviceContext) -> bool:
    """Whether a node has a topology key; TSC103 reports the others."""
    if context.cluster is not None:
        return context.cluster.is_known(key, demands)
    return bool(context.facts.nodes_with(key))
