"""
The rule about a next pod without a node: TSC106.

Each hard constraint may allow some nodes while no node satisfies all of them. The counts come from
``placement``, so they are those that kube-scheduler sees.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from webhook.policy.advice.closeddomains import (
    find_taints,
    name_requirements,
)
from webhook.policy.advice.context import AdviceContext, ClusterState
from webhook.policy.advice.countedgroups import belongs_to_group
from webhook.policy.advice.counting import build_added_pod
from webhook.policy.advice.findings import RuleViolation, count_of, join_names, quote_value
from webhook.policy.advice.heldback import find_constraints
from webhook.policy.advice.keptpods import report_kept
from webhook.policy.advice.laterpods import (
    report_later,
    report_unready,
)
from webhook.policy.advice.placing import accepts, accepts_pod, suggest_placing
from webhook.policy.advice.replacedpod import can_replace_any, remove_first
from webhook.policy.advice.requiredaffinity import NO_AFFINITY, RequiredAffinity, read_affinity
from webhook.policy.advice.subject import Subject
from webhook.policy.advice.volumes import volumes_limit_nodes
from webhook.policy.model import Node
from webhook.policy.placement.allowedvalues import admits_no_node
from webhook.policy.placement.nodes import Demands, uncordon
from webhook.policy.placement.tallies import PodTally

_LOWER_PARTITION = (
    "# lower partition: the next pod has the constraints of an older revision, which the template "
    "does not change"
)


def next_pod_has_a_node(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """
    TSC106: every hard constraint may allow some nodes, and yet no node satisfies all.

    Nor has the next pod a node if nodeSelector, affinity and taints exclude all of them. Pending
    pods with the constraints of an older template may have none although the next pod has one. The
    next pod of a StatefulSet whose pods all run is the one that a rollout replaces first.
    """
    cluster = context.cluster
    if cluster is None or subject.is_daemon or _awaits_no_pod(subject):
        return
    if subject.is_complete:
        yield from _judge_replaced(subject, context)
    else:
        yield from _judge_next(subject, cluster, context)


def _judge_next(
    subject: Subject, cluster: ClusterState, context: AdviceContext
) -> Iterator[RuleViolation]:
    """Judge the pod that its controller adds next, beside those that there are."""
    pod = build_added_pod(subject)
    held = find_constraints(subject, pod.labels)
    if held is not None:
        subject = subject.with_constraints(held)
    if not subject.constraints:
        yield from report_kept(subject, context)
        return  # many workloads
    if not cluster.lasting_domains("", (), pod.demands).sizes:
        yield from _report_no_node(subject, cluster)
        return
    tallies = cluster.tally_known(pod, subject.constraints, context.gates).hard
    reached = cluster.topology.reachable("", (), pod.demands).values
    if not reached:
        yield from report_unready(subject, context)
        return
    known = tuple(one for one in tallies if not _depends_on_group(one, subject))
    if tallies and not known:
        return  # to which Job or group the next pod belongs is unknown
    tallies = known
    affinity = NO_AFFINITY if held is not None else read_affinity(subject, reached, cluster)
    if not tallies or accepts_pod(tallies, pod.demands, cluster, affinity):
        if held is None:
            yield from report_later(subject, tallies, context)
            yield from report_kept(subject, context)
        return
    if held is None and can_replace_any(subject, context):
        return  # of a rollout, which deletes an old pod first
    violation = _report_rejected(subject, tallies, affinity, context)
    cordoned = _suggest_uncordon(tallies, subject.demands, cluster, affinity)
    violation = violation._replace(problem=violation.problem + cordoned)
    if held is not None:
        violation = violation._replace(field=subject.list_path, instead=_LOWER_PARTITION)
    yield violation


def _depends_on_group(tally: PodTally, subject: Subject) -> bool:
    """Whether it matters which Job, or group, a pod belongs to; not before the first one runs."""
    return bool(tally.pods) and belongs_to_group(tally.spread.constraint, subject)


def _judge_replaced(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """Report that no node accepts the pod of a StatefulSet which a rollout replaces first."""
    first = remove_first(subject, context) if subject.constraints else None
    if first is None or first.context.cluster is None:
        return
    cluster, pod = first.context.cluster, first.subject.next_pod
    tallies = cluster.tally_known(pod, subject.constraints, context.gates).hard
    reached = cluster.topology.reachable("", (), pod.demands).values
    affinity = read_affinity(first.subject, reached, cluster)
    if reached and tallies and not accepts_pod(tallies, pod.demands, cluster, affinity):
        name = f"{first.name}, once a rollout or an eviction deletes it"
        found = _report_rejected(first.subject, tallies, affinity, first.context, name)
        returns = volumes_limit_nodes(subject, cluster)  # to a node of its zone
        cordoned = "" if returns else _suggest_uncordon(tallies, pod.demands, cluster, affinity)
        yield found._replace(problem=found.problem + cordoned)


def _report_rejected(
    subject: Subject,
    tallies: tuple[PodTally, ...],
    affinity: RequiredAffinity,
    context: AdviceContext,
    name: str = "the next pod",
) -> RuleViolation:
    """Report a pod that all nodes reject, by its constraints and its affinity."""
    cluster = context.cluster
    assert cluster is not None, "the rule runs in audits"
    reached = cluster.topology.reachable("", (), subject.demands).values
    nodes = [node for node in cluster.topology.nodes if node.name in reached]
    field, instead = suggest_placing(subject, tallies, affinity, context)
    counts = join_names(_count_rejections(nodes, tallies, affinity))
    return RuleViolation(
        field,
        f"{_describe_rejection(len(nodes), name, ' that its pods can go to')}: {counts}",
        instead,
        _describe_rejection(len(nodes), name),
    )


def _count_rejections(
    nodes: Sequence[Node], tallies: tuple[PodTally, ...], affinity: RequiredAffinity
) -> list[str]:
    """List how many nodes each constraint, and each kind of pod affinity, rejects."""
    rejected = Counter(
        quote_value(tally.spread.topology_key)
        for node in nodes
        for tally in tallies
        if _rejects(tally, node)
    )
    rejected.update(field for node in nodes if (field := affinity.find_rejecting(node)))
    return [f"{name} rejects {number}" for name, number in rejected.items()]


def _suggest_uncordon(
    tallies: tuple[PodTally, ...],
    demands: Demands,
    cluster: ClusterState,
    affinity: RequiredAffinity,
) -> str:
    """Name the cordoned nodes that would accept the next pod; empty if there is none."""
    names = [
        node.name
        for node in cluster.topology.nodes
        if node.unschedulable and accepts(uncordon(node), tallies, demands, affinity)
    ]
    if not names:
        return ""
    return f"; cordoned {join_names(names)} would accept it (kubectl uncordon {names[0]})"


def _report_no_node(subject: Subject, cluster: ClusterState) -> Iterator[RuleViolation]:
    """Report that a pod can go to none of the nodes, whatever their state."""
    demands, nodes = subject.demands, len(cluster.topology.nodes)
    if admits_no_node(demands):
        yield _report_contradiction(subject)
        return
    if not nodes:
        return  # the nodes are unknown
    entered = cluster.lasting_domains("", (), demands)
    allowed = cluster.lasting_domains("", (), demands.honoring(affinity=True, taints=False))
    taints = find_taints(allowed, entered, allowed.sizes.keys())
    excluding = name_requirements(subject, taints)
    yield RuleViolation(
        subject.list_path,
        f"by {excluding} its pods can go to 0 of {count_of(nodes, 'node')}: they stay Pending "
        "until a node is added that they can go to",
        "# let its pods go to some nodes by nodeSelector, affinity and tolerations",
        f"by {excluding} its pods can go to no node",
    )


def _report_contradiction(subject: Subject) -> RuleViolation:
    """Report requirements that no node of any cluster can satisfy."""
    requirements = name_requirements(subject)
    return RuleViolation(
        subject.list_path,
        f"by {requirements} its pods can go to no node, whatever nodes are added: the requirements "
        "contradict each other, or are empty, and the pods stay Pending",
        f"# correct {requirements} so that a node can satisfy all of it",
        f"no node can satisfy {requirements}",
    )


def _describe_rejection(nodes: int, pod: str, which: str = "") -> str:
    if nodes == 1:
        return f"the one node{which} rejects {pod}"
    return f"none of the {nodes} nodes{which} accepts {pod}"


def _awaits_no_pod(subject: Subject) -> bool:
    """Whether no pod of it is to be placed now, or its next pod is unknown."""
    has_node = bool(subject.pod.spec and subject.pod.spec.node_name)
    return has_node or subject.replicas == 0


def _rejects(tally: PodTally, node: Node) -> bool:
    value = node.labels.get(tally.spread.topology_key)
    return value is None or not tally.fits(value)
