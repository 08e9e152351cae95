"""
RuntimeClasses that do not show which nodes the pods of workloads can go to.

``note_unknown_classes`` is the entry point. A note reports that nothing judges these nodes.
"""

from collections import defaultdict
from collections.abc import Iterator

from webhook.audit.inventory import Inventory
from webhook.policy.advice.findings import SHOWN_CHARACTERS, clip, join_names
from webhook.policy.advice.subject import Subject
from webhook.policy.placement.runtimeclasses import RuntimeClass

NAMED_WORKLOADS = 5  # of a class; more are counted


def note_unknown_classes(inventory: Inventory, namespace: str = "") -> Iterator[str]:
    """
    Write a note for each RuntimeClass that does not show which nodes pods can go to.

    Args:
        namespace: The only namespace that is audited; empty for all.
    """
    if not inventory.state.topology.nodes:
        return
    found: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for audited in inventory.audited:
        subject, spec = audited.subject, audited.subject.pod.spec
        if namespace in ("", subject.namespace) and subject.lacks_runtime_class and spec:
            name = spec.runtime_class_name or ""
            cause = _describe(subject, inventory.runtime_classes.get(name))
            workload = f"{subject.kind.kind} {subject.namespace}/{subject.metadata.name}"
            found[clip(name, SHOWN_CHARACTERS), cause].append(workload)
    for (name, cause), workloads in sorted(found.items()):
        listed = join_names(workloads, most=NAMED_WORKLOADS)
        yield (
            f"note: RuntimeClass {name} of {listed} {cause}; no rule judges the nodes that these "
            "pods can go to"
        )


def _describe(subject: Subject, known: RuntimeClass | None) -> str:
    """Describe why a class does not show the nodes of the pods of a workload."""
    if known is None:
        return "is unknown"
    if known.refuses(subject.pod.demands):
        return "contradicts nodeSelector: kube-apiserver refuses the pods"
    return (
        "is not known to the controller of a DaemonSet, which chooses nodes by the template: write "
        "its nodeSelector and tolerations into the template"
    )
