"""
Rules about domains that pods cannot go to: TSC105 and TSC116 (they count), TSC120 (one is left).

Which domains are closed is found in ``closeddomains``. A constraint has one finding for them:
TSC105 if honoring taints is enough, otherwise TSC116. TSC120 is silent about such a constraint.
"""

from collections.abc import Iterator

from webhook.policy.advice.capacity import is_never_spread, name_waiting
from webhook.policy.advice.closeddomains import (
    ClosedDomains,
    find_closed,
    find_taints,
    name_requirements,
    suggest_policies,
)
from webhook.policy.advice.context import AdviceContext, ClusterState
from webhook.policy.advice.counting import (
    counts_itself,
    hard_constraints,
    may_add,
    next_pod,
    other_workloads,
)
from webhook.policy.advice.findings import (
    SHOWN_CHARACTERS,
    RuleViolation,
    clip,
    count_of,
    join_names,
    quote_value,
)
from webhook.policy.advice.subject import Subject
from webhook.policy.api.gates import Gate
from webhook.policy.model import DO_NOT_SCHEDULE, HOSTNAME, IGNORE
from webhook.policy.paths import format_path
from webhook.policy.placement.daemondemands import daemon_demands
from webhook.policy.placement.nodes import Demands
from webhook.policy.placement.spreads import SpreadConstraint
from webhook.policy.placement.topology import Domains
from webhook.policy.podlabels import REVISION_KEYS

_CLOSED = "no further pod can go there"


def domains_are_open(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """TSC105: a domain of tainted nodes stays empty and keeps the global minimum at 0."""
    for spread, closed in _list_closed(subject, context):
        if not closed.by_taints:
            continue
        domains, taints = count_of(closed.number, "domain"), join_names(closed.taints)
        pods = _count_inside(subject, spread, closed, context)
        counted = f"counted though {_CLOSED}" if any(pods) else "always counted as empty"
        most = min(pods) + spread.max_skew
        field, instead = suggest_policies(subject, spread.index, closed)
        if Gate.NODE_INCLUSION_POLICY not in context.gates:
            instead = f"# leave these nodes out by required node affinity, or tolerate {taints}"
        yield RuleViolation(
            field,
            f"nodes with taints that its pods do not tolerate ({taints}) form {domains} of "
            f"{quote_value(spread.topology_key)} ({join_names(closed.values, closed.number)}), "
            f"{counted}: every other domain takes {count_of(most, 'pod')} at most"
            f"{_name_pending(subject, spread, most * closed.reached + sum(pods))}",
            instead,
            f"tainted nodes form {domains} ({clip(closed.values[0], 30)}), {counted}",
        )


def domains_are_allowed(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """TSC116: a domain that nodeSelector or affinity excludes counts, and stays empty."""
    if all(one.node_affinity_policy != IGNORE for one in subject.constraints):
        return  # most workloads; what affinity excludes does not count
    for spread, closed in _list_closed(subject, context):
        if closed.by_taints:
            continue
        counts = f"{' and '.join(closed.policies)} Ignore"
        counts += " counts" if len(closed.policies) == 1 else " count"
        bound = "" if closed.values else "at most "  # admission knows a bound
        named = f" ({join_names(closed.values, closed.number)})" if closed.values else ""
        pods = _count_inside(subject, spread, closed, context)
        state = f"though {_CLOSED}: no other " if any(pods) else "always as empty: no "
        most = min(pods) + spread.max_skew
        field, instead = suggest_policies(subject, spread.index, closed)
        yield RuleViolation(
            field,
            f"by {name_requirements(subject.demands, closed.taints)} its pods can go to {bound}"
            f"{closed.reached} of {count_of(closed.reached + closed.number, 'domain')} of "
            f"{quote_value(spread.topology_key)}; {counts} the others{named}, "
            f"{state}domain takes more than {count_of(most, 'pod')}"
            f"{_name_pending(subject, spread, most * closed.reached + sum(pods))}",
            instead,
            f"{counts} {count_of(closed.number, 'domain')} that its pods cannot go to",
        )


def _count_inside(
    subject: Subject, spread: SpreadConstraint, closed: ClosedDomains, context: AdviceContext
) -> list[int]:
    """Count the pods in closed domains, which came there before; none at admission."""
    if context.cluster is None:
        return [0]
    tallies = context.cluster.tally_known(
        next_pod(subject), subject.constraints, context.gates
    ).hard
    tally = next(one for one in tallies if one.spread.index == spread.index)
    return [tally.pods.get(value, 0) for value in closed.values]


def _name_pending(subject: Subject, spread: SpreadConstraint, places: int) -> str:
    waiting = name_waiting(subject, spread.constraint, places)
    return f", {waiting} stay Pending" if waiting else ""


def _list_closed(
    subject: Subject, context: AdviceContext
) -> Iterator[tuple[SpreadConstraint, ClosedDomains]]:
    """Yield the hard constraints for which closed domains count, and keep pods Pending."""
    if is_never_spread(subject):
        return
    demands = subject.demands
    if subject.is_daemon:
        demands = daemon_demands(demands, host_network=False)
    hard = [
        spread
        for spread in hard_constraints(subject, context)
        if _is_known(spread.topology_key, demands, context)
    ]
    keys = tuple(spread.topology_key for spread in hard)
    for spread in hard:
        if not counts_itself(spread.constraint, subject, context.gates):
            continue  # its pods never add to the skew
        if subject.is_daemon and not _crowds(spread, keys, demands, context.cluster):
            continue
        closed = find_closed(spread, keys, demands, context)
        if closed is not None and not _all_fit(subject, spread, closed, context):
            yield spread, closed


def _all_fit(
    subject: Subject, spread: SpreadConstraint, closed: ClosedDomains, context: AdviceContext
) -> bool:
    """Whether every pod has a place in the other domains, which the subject has for itself."""
    if name_waiting(subject, spread.constraint, closed.reached * spread.max_skew):
        return False
    cluster = context.cluster
    if cluster is None or _counts_own_revision(spread, subject, context):
        return True
    return not other_workloads(subject, spread.constraint.label_selector, cluster)


def _counts_own_revision(
    spread: SpreadConstraint, subject: Subject, context: AdviceContext
) -> bool:
    """Whether a constraint counts pods of one revision, and so of no other workload."""
    keys = spread.constraint.match_label_keys
    return Gate.MATCH_LABEL_KEYS in context.gates and any(
        key in REVISION_KEYS and may_add(subject, key) for key in keys
    )


def _crowds(
    spread: SpreadConstraint,
    keys: tuple[str, ...],
    demands: Demands,
    cluster: ClusterState | None,
) -> bool:
    """
    Whether a DaemonSet needs more pods in one domain than a constraint allows above none.

    By a node affinity each pod can go to one node only, which is the only one that counts if the
    constraint honors affinity. Without nodes, at admission, the answer is unknown, and False.
    """
    if cluster is None or spread.honors_affinity:
        return False
    reached = cluster.schedulable(demands).domains(spread.topology_key, keys, demands)
    return max(reached.sizes.values(), default=0) > spread.max_skew


def _is_known(key: str, demands: Demands, context: AdviceContext) -> bool:
    """Whether a node has a topology key; TSC103 reports the others."""
    if context.cluster is not None:
        return context.cluster.is_known(key, demands)
    return bool(context.facts.nodes_with(key))


def domains_are_several(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """TSC120: with one domain within reach, there is nothing to spread pods over."""
    cluster = context.cluster
    if cluster is None or subject.is_alone or not subject.constraints:
        return
    if subject.is_bound:
        yield from _report_one_node(subject)
        return
    pod = next_pod(subject)
    spreads = cluster.tally_known(pod, subject.constraints, context.gates).spreads
    closed = {spread.index for spread, _ in _list_closed(subject, context)}
    for kind in (spreads.hard, spreads.soft):
        keys = tuple(spread.topology_key for spread in kind)
        for spread in kind:
            if spread.index in closed or spread.min_domains > 1:
                continue  # TSC105, TSC116 and TSC104 report these
            problem = _describe_one_domain(spread, keys, subject.demands, cluster)
            if problem:
                yield RuleViolation(
                    subject.field(spread.index, "topologyKey"),
                    f"{problem}: the constraint cannot spread its pods",
                    _suggest_domains(spread.topology_key),
                    "its pods can go to one domain only: the constraint cannot spread them",
                )


def _report_one_node(subject: Subject) -> Iterator[RuleViolation]:
    """Report a template whose pods bypass kube-scheduler; a Pod may have its node from there."""
    spec = subject.pod.spec
    if subject.path and spec is not None:
        name = clip(spec.node_name, SHOWN_CHARACTERS)
        yield RuleViolation(
            format_path((*subject.path, "spec", "nodeName")),
            f"by spec.nodeName all its pods run on node {name}: kube-scheduler does not place "
            "them, and no constraint is evaluated",
            "# leave nodeName out; to choose nodes, write nodeSelector or affinity",
            f"by nodeName all its pods run on node {name}, and no constraint is evaluated",
        )


def _describe_one_domain(
    spread: SpreadConstraint, keys: tuple[str, ...], demands: Demands, cluster: ClusterState
) -> str:
    """
    Name the only domain that pods can go to.

    Returns:
        Empty if there are more, or if no manifest can change it: for a soft constraint, which may
        be meant for larger clusters, without a requirement of the pod, and in a cluster of one
        node.
    """
    key, is_hard = spread.topology_key, spread.constraint.when_unsatisfiable == DO_NOT_SCHEDULE

    def domains(*, affinity: bool, taints: bool) -> Domains:
        honored = demands.honoring(affinity=affinity, taints=taints)
        return cluster.lasting_domains(key, keys, honored)

    found = domains(affinity=True, taints=True)
    if len(found.sizes) != 1 or len(cluster.topology.nodes) == 1:
        return ""
    by_affinity = len(domains(affinity=False, taints=True).sizes) > 1
    by_taints = len(domains(affinity=True, taints=False).sizes) > 1
    if not is_hard and not by_affinity:
        return ""
    (reached,) = (clip(value, SHOWN_CHARACTERS) for value in found.sizes)
    every = domains(affinity=False, taints=False)
    if len(every.sizes) == 1:
        return f"{quote_value(key)} has one domain only ({reached})"
    # Without either, the other alone may leave the one domain: then both have a part.
    together = not by_affinity and not by_taints
    counted = every if together else domains(affinity=True, taints=False)
    taints = find_taints(counted, found, counted.sizes.keys() - found.sizes.keys())
    named = demands if by_affinity or together else Demands()
    only = f"1 of {len(every.sizes)} domains of {quote_value(key)} only ({reached})"
    return f"by {name_requirements(named, taints)} its pods can go to {only}"


def _suggest_domains(key: str) -> str:
    if key == HOSTNAME:
        return "# let its pods go to more nodes by nodeSelector, affinity and tolerations"
    return (
        "# let its pods go to more domains by nodeSelector, affinity and tolerations, or spread "
        f"them over {HOSTNAME}"
    )
