"""RuntimeClasses of an audit: ``add_runtime_classes`` gives each workload the class of its pods."""

from collections.abc import Mapping

from msgspec.structs import replace

from webhook.audit.snapshot import Snapshot
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import DAEMON_SET
from webhook.policy.placement.runtimeclasses import RuntimeClass


def add_runtime_classes(snapshot: Snapshot, classes: Mapping[str, RuntimeClass]) -> Snapshot:
    """
    Return a snapshot whose workloads have the class that their pods name, if it is known.

    Args:
        classes: By name.
    """
    if not classes:
        return snapshot
    workloads = [
        replace(workload, subject=_add_class(workload.subject, classes))
        for workload in snapshot.workloads
    ]
    return replace(snapshot, workloads=workloads)


def _add_class(subject: Subject, classes: Mapping[str, RuntimeClass]) -> Subject:
    spec = subject.pod.spec
    found = classes.get(spec.runtime_class_name or "") if spec else None
    if found is None or _is_unusable(found, subject):
        return subject  # its nodes are not judged
    return replace(subject, runtime_class=found)


def _is_unusable(found: RuntimeClass, subject: Subject) -> bool:
    """
    Whether a class does not show which nodes the pods of a workload run on.

    kube-apiserver refuses pods whose nodeSelector contradicts it. The controller of a DaemonSet
    chooses nodes by the template, and knows nothing of the class: on nodes without its labels, the
    pods stay Pending, and nodes with its taints get none.

    Source: kubernetes pkg/controller/daemon/daemon_controller.go ``NodeShouldRunDaemonPod``.
    """
    written = subject.pod.demands
    is_daemon = subject.kind.kind == DAEMON_SET.kind  # also that of OpenKruise
    return found.refuses(written) or (is_daemon and found.add_to(written) != written)
