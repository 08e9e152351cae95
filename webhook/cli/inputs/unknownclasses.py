"""
RuntimeClasses that workloads name, and that do not show which nodes their pods can go to.

``note_unknown_classes`` is the entry point. A note reports that nothing judges these nodes.
"""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator

from webhook.audit.inventory import Inventory
from webhook.policy.advice.findings import SHOWN_CHARACTERS, clip, join_names
from webhook.policy.advice.subject import Subject

NAMED_WORKLOADS = 5  # of a class; more are counted


def note_unknown_classes(inventory: Inventory, namespace: str = "") -> Iterator[str]:
    """
    Write a note for each RuntimeClass that is not known, or that contradicts nodeSelectors.

    Args:
        namespace: The only namespace that is audited; empty for all.
    """
    if not inventory.state.topology.nodes:
        return
    audited = (one.subject for one in inventory.audited if namespace in ("", one.subject.namespace))
    for name, workloads in sorted(_group_by_class(audited).items()):
        yield _describe(name, workloads, inventory.runtime_classes)


def _group_by_class(subjects: Iterable[Subject]) -> dict[str, list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for subject in subjects:
        if subject.lacks_runtime_class and subject.pod.spec is not None:
            workload = f"{subject.kind.kind} {subject.namespace}/{subject.metadata.name}"
            found[subject.pod.spec.runtime_class_name or ""].append(workload)
    return found


def _describe(name: str, workloads: list[str], known: Container[str]) -> str:
    name, is_known = clip(name, SHOWN_CHARACTERS), name in known
    listed = join_names(workloads, most=NAMED_WORKLOADS)
    unjudged = "no rule judges the nodes that their pods can go to"
    if is_known:
        return (
            f"note: RuntimeClass {name} contradicts the nodeSelector of {listed}: kube-apiserver "
            f"refuses their pods, and {unjudged}"
        )
    return f"note: RuntimeClass {name}, which {listed} names, is unknown: {unjudged}"
