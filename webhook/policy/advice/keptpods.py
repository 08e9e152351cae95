"""
Pending pods that keep the constraints of an older template, since their controller keeps them.

``report_kept`` is the entry point, a part of TSC106; ``explain`` uses ``keeps_pods``. A ReplicaSet
and a ReplicationController replace no pod after a change of the template. A StatefulSet waits until
a pod is ready before it replaces or creates others.

Source: kubernetes pkg/controller/statefulset/stateful_set_control.go ``processReplica``.
"""

from collections.abc import Iterator

from webhook.policy.advice.context import AdviceContext, ClusterState
from webhook.policy.advice.findings import RuleViolation, count_of
from webhook.policy.advice.placing import accepts_pod
from webhook.policy.advice.runningpods import RunningPods
from webhook.policy.advice.subject import Subject
from webhook.policy.api.gates import Gates
from webhook.policy.defaulting.provenance import DEFAULTS_ANNOTATION
from webhook.policy.kinds import REPLICA_SET, REPLICATION_CONTROLLER, STATEFUL_SET
from webhook.policy.model import Constraint, GroupKind
from webhook.policy.placement.tallies import IncomingPod

DELETE_PENDING = (
    "# delete the Pending pods: those created in their place have the constraints of the template, "
    "unless a webhook adds others"
)
"""What to do about such pods; no change of the template affects them."""

_KEEPING = frozenset({REPLICA_SET, REPLICATION_CONTROLLER, STATEFUL_SET})


def keeps_pods(kind: GroupKind, *, is_parallel: bool) -> bool:
    """
    Whether a controller keeps a pod that has no node, whatever the template is by now.

    Args:
        is_parallel: Whether a StatefulSet has the podManagementPolicy Parallel.
    """
    return kind in _KEEPING and not is_parallel


def report_kept(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """Report Pending pods that no node accepts, where one accepts a pod of the template."""
    cluster = context.cluster
    if cluster is None or not keeps_pods(subject.kind, is_parallel=subject.is_parallel):
        return
    gates = context.gates
    for group in filter(lambda group: _is_older(group, subject), subject.running):
        older = IncomingPod(subject.namespace, group.pod.labels, subject.demands)
        if _is_accepted(subject.next_pod, subject.constraints, cluster, gates) and not (
            _is_accepted(older, group.pod.constraints, cluster, gates)
        ):
            yield _report(group.nodes[""], subject)


def _is_older(group: RunningPods, subject: Subject) -> bool:
    """Whether pods have no node, and other constraints; those with a profile's are left out."""
    metadata = group.pod.metadata
    is_defaulted = metadata is not None and DEFAULTS_ANNOTATION in metadata.annotations
    is_pending = bool(group.nodes.get(""))
    return is_pending and not is_defaulted and group.pod.constraints != subject.constraints


def _is_accepted(
    pod: IncomingPod, constraints: tuple[Constraint, ...], cluster: ClusterState, gates: Gates
) -> bool:
    hard = cluster.tally(pod, constraints, gates).hard
    return accepts_pod(hard, pod.demands, cluster)


def _report(number: int, subject: Subject) -> RuleViolation:
    has, them, stay, are = (
        ("has", "it", "stays", "it is") if number == 1 else ("have", "them", "stay", "they are")
    )
    older = f"{count_of(number, 'Pending pod')} {has} other constraints than the template now has"
    return RuleViolation(
        subject.list_path,
        f"{older}, with which no node accepts {them}, and {stay} Pending until {are} deleted",
        DELETE_PENDING,
        older,
    )
