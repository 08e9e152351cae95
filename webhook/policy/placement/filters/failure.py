"""
The sentence of the event FailedScheduling: ``describe_failure``.

What PostFilter plugins add to it is left out, such as that of preemption.

Source: pkg/scheduler/framework/types.go ``FitError.Error``.
"""

from collections import Counter

from webhook.policy.placement.filters.run import FilterResult

NO_NODES = "no nodes available to schedule pods"


def describe_failure(result: FilterResult) -> str:
    """
    Describe why a pod fits no node, letter by letter as kube-scheduler does; empty if it fits one.

    Every reason is preceded by the number of nodes that have it, and the texts are sorted as such.
    """
    if result.passing:
        return ""
    if not result.rejections:
        return NO_NODES
    total = f"0/{len(result.rejections)} nodes are available:"
    if result.pod_rejection is not None:
        return f"{total} {', '.join(result.pod_rejection.reasons)}."
    rejections = result.rejections.values()
    counts = Counter(reason for rejection in rejections for reason in rejection.reasons)
    return (
        f"{total} {', '.join(sorted(f'{number} {reason}' for reason, number in counts.items()))}."
    )
