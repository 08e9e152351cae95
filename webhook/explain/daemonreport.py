"""
What is reported of a DaemonSet: the nodes that lack their pod, and why.

``DaemonReport`` is the entry point, and ``summarize_daemons`` for its sentence. Pods are judged in
``daemons``.
"""

import msgspec

from webhook.policy.advice.findings import count_of


class MissingPod(msgspec.Struct, frozen=True, rename="camel"):
    """
    The pod of a node, which does not run there.

    Attributes:
        pod: Name of the pod; empty if it has not been created.
        state: ``Pending``, ``being deleted`` or ``not created``.
        reason: Why it cannot be placed; empty if it can be.
        reason_after: Why it cannot be placed once other missing pods are; empty if it can be, or
            if there is a ``reason``. Which of the pods come first is arbitrary.
    """

    node: str
    pod: str
    state: str
    reason: str
    reason_after: str = ""

    @property
    def is_placeable(self) -> bool:
        """Whether no filter that is modelled rejects the pod, after the pods before it."""
        return not (self.reason or self.reason_after)


class DaemonReport(msgspec.Struct, frozen=True, rename="camel"):
    """
    The nodes of a DaemonSet.

    Attributes:
        desired: Number of nodes that need a pod.
        running: Number of these nodes that have it.
        missing: The others, in the order of the nodes.
        unneeded: Names of nodes that have a pod and need none.
        replacing: Pending pods for nodes that have another pod, which a rollout with maxSurge
            deletes once these run.
    """

    desired: int
    running: int
    missing: tuple[MissingPod, ...]
    unneeded: tuple[str, ...]
    replacing: tuple[MissingPod, ...] = ()

    @property
    def awaited(self) -> tuple[MissingPod, ...]:
        """The pods that do not run."""
        return (*self.missing, *self.replacing)


def summarize_daemons(report: DaemonReport) -> str:
    """Summarize how many nodes have their pod, as ``has its pod on 3 of 4 nodes that need one``."""
    blocked = sum(not pod.is_placeable for pod in report.missing)
    together = any(pod.reason_after for pod in report.missing)
    lacking = len(report.missing)
    text = f"has its pod on {report.running} of {count_of(report.desired, 'node')} that need one"
    if lacking:
        fate = _describe_fate(blocked, lacking)
        if together:
            fate = f"{lacking - blocked} of which can be placed"
        text += f"; {count_of(lacking, 'pod')} missing, {fate}"
    if report.replacing:
        stuck = sum(not pod.is_placeable for pod in report.replacing)
        fate = _describe_fate(stuck, len(report.replacing))
        text += f"; {count_of(len(report.replacing), 'new pod')} beside old ones, {fate}"
    if report.unneeded:
        text += f"; {count_of(len(report.unneeded), 'unneeded pod')}"
    return text


def _describe_fate(stuck: int, pods: int) -> str:
    """Describe how many of some pods cannot be placed."""
    if not stuck:
        return "which can be placed"
    if stuck < pods:
        return f"{stuck} of which cannot be placed"
    return "which cannot be placed" if pods == 1 else "none of which can be placed"
