"""
Pods after the next one that nodes keep Pending which are cordoned, or not ready, for now.

``report_later`` is the entry point. The next pod may still have a node where a drained zone counts
as an empty one: then each other zone takes maxSkew pods, and no more. Only what one constraint
allows by itself is counted, so that the pods stay Pending in every order of placement.
"""

from collections.abc import Iterator

from webhook.policy.advice.awaitedpods import count_awaited, count_places_of
from webhook.policy.advice.closeddomains import honor_policies
from webhook.policy.advice.context import AdviceContext, ClusterState
from webhook.policy.advice.counting import next_pod
from webhook.policy.advice.fields import counts_only_itself
from webhook.policy.advice.findings import RuleViolation, join_names, quote_value
from webhook.policy.advice.flow import member
from webhook.policy.advice.subject import Subject
from webhook.policy.api.gates import Gate
from webhook.policy.model import HONOR, TAINTS_POLICY, Node
from webhook.policy.placement.nodes import Demands, find_rejection
from webhook.policy.placement.tallies import PodTally

WAIT_FOR_NODES = "# wait until its nodes are ready and not cordoned: kubectl get nodes"


def report_later(
    subject: Subject, tallies: tuple[PodTally, ...], context: AdviceContext
) -> Iterator[RuleViolation]:
    """
    Report awaited pods that have a place only once all nodes are ready, and not cordoned.

    Args:
        tallies: The hard constraints of the next pod, which some node accepts.
    """
    cluster, awaited = context.cluster, count_awaited(subject)
    if cluster is None or awaited == 1:
        return  # most workloads
    demands = subject.demands
    now, later = (_list_open(cluster, one) for one in (demands, demands.lasting))
    for tally in tallies:
        if counts_only_itself(tally.spread.constraint, subject):
            continue
        places = count_places_of(tally, now, awaited)
        if places == awaited or count_places_of(tally, later, awaited) < awaited:
            continue
        key, index = tally.spread.topology_key, tally.spread.index
        opened = {node.labels.get(key) for node in now}
        closed = sorted(value for value in tally.domains.sizes if value not in opened)
        yield RuleViolation(
            subject.field(index),
            f"{places} of {awaited} pods that wait have a place: all nodes of {join_names(closed)} "
            f"are cordoned or not ready, but {quote_value(key)} counts them",
            _suggest(subject, tally, now, context),
            f"{places} of {awaited} pods have a place while nodes are cordoned or not ready",
        )


def _list_open(cluster: ClusterState, demands: Demands) -> list[Node]:
    return [node for node in cluster.topology.nodes if find_rejection(node, demands) is None]


def _suggest(subject: Subject, tally: PodTally, now: list[Node], context: AdviceContext) -> str:
    """Suggest that nodes with taints, as those of a cordon, do not count, if this is enough."""
    if context.cluster is None or Gate.NODE_INCLUSION_POLICY not in context.gates:
        return WAIT_FOR_NODES
    index, constraints = tally.spread.index, list(subject.constraints)
    constraints[index] = honor_policies(constraints[index], (TAINTS_POLICY,))
    pod, awaited = next_pod(subject), count_awaited(subject)
    changed = context.cluster.tally_known(pod, tuple(constraints), context.gates).hard
    honoring = next(one for one in changed if one.spread.index == index)
    enough = count_places_of(honoring, now, awaited) == awaited
    return member(TAINTS_POLICY, HONOR) if enough else WAIT_FOR_NODES
