"""
Rule TSC120: the pods can go to more than one domain.

It is silent about constraints that TSC104, TSC105 and TSC116 report.
"""

from collections.abc import Iterator

from webhook.policy.advice.closeddomains import (
    find_taints,
    name_requirements,
)
from webhook.policy.advice.context import AdviceContext, ClusterState, resolve_valid
from webhook.policy.advice.counting import other_workloads
from webhook.policy.advice.findings import (
    SHOWN_CHARACTERS,
    RuleViolation,
    clip,
    join_names,
    quote_value,
)
from webhook.policy.advice.reachability import list_closed
from webhook.policy.advice.selfaffinity import describe_following
from webhook.policy.advice.subject import Subject
from webhook.policy.model import DO_NOT_SCHEDULE, HOSTNAME
from webhook.policy.paths import format_path
from webhook.policy.placement.allowedvalues import allowed_values
from webhook.policy.placement.daemondemands import daemon_demands
from webhook.policy.placement.nodes import Demands
from webhook.policy.placement.spreads import SpreadConstraint
from webhook.policy.placement.topology import Domains

_LET_APART = "# leave out the constraint, or the required podAffinity that keeps its pods together"
_LEAVE_OUT = "# leave out the constraint: nodeSelector, affinity and tolerations choose its nodes"
_LET_GO = "# let its pods go to more nodes by nodeSelector, affinity and tolerations"


def domains_are_several(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """TSC120: with one domain within reach, there is nothing to spread pods over."""
    cluster = context.cluster
    if cluster is None:
        return
    if subject.is_daemon:
        yield from _report_daemon_pods(subject, cluster, context)
    elif subject.is_alone:
        return
    elif not subject.constraints:
        yield from _report_pinned(subject, cluster)
    elif subject.is_bound:
        yield from _report_one_node(subject, cluster, "no constraint is evaluated")
    else:
        yield from _judge_constraints(subject, cluster, context)


def _judge_constraints(
    subject: Subject, cluster: ClusterState, context: AdviceContext
) -> Iterator[RuleViolation]:
    """Report the constraints whose pods can go to one domain, or all follow the first one there."""
    tallies = cluster.tally_known(subject.next_pod, subject.constraints, context.gates)
    closed = {spread.index for spread, _ in list_closed(subject, context)}
    for kind in (tallies.hard, tallies.soft):
        keys = tuple(tally.spread.topology_key for tally in kind)
        for tally in kind:
            spread = tally.spread
            if spread.index in closed:
                continue  # TSC105 and TSC116 report these
            if following := describe_following(subject, tally, keys, context):
                yield _report_constraint(subject, spread, following, _LET_APART)
            elif spread.min_domains > 1:
                continue  # TSC104 reports these
            elif problem := _describe_one_domain(subject, spread, keys, cluster):
                suggestion = _suggest_domains(spread.topology_key, keys, subject.demands, cluster)
                yield _report_constraint(
                    subject, spread, f"{problem}: the constraint cannot spread its pods", suggestion
                )


def _may_count_another(spread: SpreadConstraint, subject: Subject, cluster: ClusterState) -> bool:
    """Whether a constraint may count a pod on the node of a DaemonSet's new pod."""
    selector, counting = spread.constraint.label_selector, spread.counting(subject.demands)
    return subject.surges or bool(other_workloads(subject, selector, cluster, counting))


def _is_on_all_nodes(key: str, subject: Subject, cluster: ClusterState) -> bool:
    """Whether all nodes that get a pod of a DaemonSet have a key; TSC103 reports the others."""
    demands = daemon_demands(subject.demands, host_network=True)
    nodes, carriers = (cluster.topology.domains(key, keys, demands) for keys in ((), (key,)))
    return len(carriers.values) == len(nodes.values)


def _report_daemon_pods(
    subject: Subject, cluster: ClusterState, context: AdviceContext
) -> Iterator[RuleViolation]:
    """
    Report the constraints of a DaemonSet that have no effect: its controller chooses the nodes.

    A hard one has an effect if it counts other nodes, or if a node lacks its key; with more
    minDomains than the one, also if it counts another pod on the same node.
    """
    spreads = resolve_valid(subject.constraints, subject.next_labels, context.gates)
    hard = (
        one
        for one in spreads.hard
        if one.honors_affinity
        and _is_on_all_nodes(one.topology_key, subject, cluster)
        and (one.min_domains <= 1 or not _may_count_another(one, subject, cluster))
    )
    for spread in (*hard, *spreads.soft):
        counted = ", and the constraint counts no other" if spread in spreads.hard else ""
        yield RuleViolation(
            subject.field(spread.index, "topologyKey"),
            "the controller of a DaemonSet chooses one node for each pod by node affinity"
            f"{counted}: the constraint has no effect",
            _LEAVE_OUT,
            "a DaemonSet has a pod on each of its nodes: the constraint has no effect",
        )


def _report_constraint(
    subject: Subject, spread: SpreadConstraint, problem: str, instead: str
) -> RuleViolation:
    return RuleViolation(
        subject.field(spread.index, "topologyKey"),
        problem,
        instead,
        "its pods can go to one domain only: the constraint cannot spread them",
    )


def _report_pinned(subject: Subject, cluster: ClusterState) -> Iterator[RuleViolation]:
    """Report replicas that are written for one node, which TSC110 does not advise to spread."""
    if not subject.most_replicas or subject.is_partial or len(cluster.topology.nodes) == 1:
        return
    if subject.is_bound:
        yield from _report_one_node(subject, cluster, "nothing spreads them")
        return
    names = allowed_values(HOSTNAME, subject.demands) or ()
    if len(names) == 1:
        (name,) = (clip(value, SHOWN_CHARACTERS) for value in names)
        by_selector = any(key == HOSTNAME for key, _ in subject.demands.pairs)
        field, cause = ("nodeSelector",) * 2 if by_selector else ("affinity", "node affinity")
        yield RuleViolation(
            format_path((*subject.path, "spec", field)),
            f"by {cause} its pods can go to node {name} only, and nothing spreads them",
            _LET_GO,
        )


def _report_one_node(
    subject: Subject, cluster: ClusterState, effect: str
) -> Iterator[RuleViolation]:
    """Report a template whose pods bypass kube-scheduler; a Pod may have its node from there."""
    spec = subject.pod.spec
    if subject.path and spec is not None:
        named = f"node {clip(spec.node_name, SHOWN_CHARACTERS)}"
        known = {node.name for node in cluster.topology.nodes}
        if known and spec.node_name not in known:
            result = f"its pods never run, since there is no {named}"
        else:
            result = f"all its pods run on {named}"
        yield RuleViolation(
            format_path((*subject.path, "spec", "nodeName")),
            f"by spec.nodeName {result}: kube-scheduler does not place them, and {effect}",
            "# leave nodeName out; to choose nodes, write nodeSelector or affinity",
            f"by nodeName {result}, and {effect}",
        )


def _describe_one_domain(
    subject: Subject, spread: SpreadConstraint, keys: tuple[str, ...], cluster: ClusterState
) -> str:
    """
    Name the only domain that pods can go to.

    Returns:
        Empty if there are more, or if the pod has no part in it: in a cluster of one node, and for
        a soft constraint, which may be meant for larger clusters, without a nodeSelector or an
        affinity that leaves the pod fewer domains. Taints may reserve the others on purpose, and
        which workloads tolerate them is not known here.
    """
    key, demands = spread.topology_key, subject.demands
    is_hard = spread.constraint.when_unsatisfiable == DO_NOT_SCHEDULE

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
        if others := _list_missing(key, keys, demands, cluster):
            named = join_names([quote_value(one) for one in others])
            return f"{quote_value(key)} has one domain only ({reached}) of nodes that have {named}"
        return f"{quote_value(key)} has one domain only ({reached})"
    # Without either, the other alone may leave the one domain: then both have a part.
    together = not by_affinity and not by_taints
    allowed = domains(affinity=True, taints=False)
    counted = every if together else allowed
    taints = find_taints(counted, found, counted.sizes.keys() - found.sizes.keys())
    closes = by_affinity or together or len(allowed.sizes) < len(every.sizes)
    requirements = name_requirements(subject, taints, with_labels=closes)
    only = f"1 of {len(every.sizes)} domains of {quote_value(key)} only ({reached})"
    return f"by {requirements} its pods can go to {only}"


def _list_missing(
    key: str, keys: tuple[str, ...], demands: Demands, cluster: ClusterState
) -> list[str]:
    """List the keys of other constraints that nodes of other domains lack, open to the pods."""
    counted = cluster.lasting_domains(key, keys, demands).sizes
    reached = cluster.lasting_domains(key, (key,), demands).values
    others = [cluster.topology.by_name[name] for name in reached if reached[name] not in counted]
    return [one for one in dict.fromkeys(keys) if any(one not in node.labels for node in others)]


def _suggest_domains(
    key: str, keys: tuple[str, ...], demands: Demands, cluster: ClusterState
) -> str:
    if missing := _list_missing(key, keys, demands, cluster):
        return f"# label the other nodes: kubectl label node NAME {missing[0]}=VALUE"
    if key == HOSTNAME or len(cluster.lasting_domains("", (), demands).values) == 1:
        return _LET_GO
    return (
        "# let its pods go to more domains by nodeSelector, affinity and tolerations, or spread "
        f"them over {HOSTNAME}"
    )
