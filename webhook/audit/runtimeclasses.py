"""RuntimeClasses of an audit: ``add_runtime_classes`` gives each workload the class of its pods."""

from collections.abc import Mapping

from msgspec.structs import replace

from webhook.audit.snapshot import Snapshot
from webhook.policy.advice.subject import Subject
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
    if found is None or found.refuses(subject.pod.demands):
        return subject  # of pods that kube-apiserver refuses, nothing is judged by their nodes
    return replace(subject, runtime_class=found)
