"""Constraints of a template that running pods have, or get by its rollout."""

from msgspec.structs import replace

from webhook.policy.advice.runningpods import RunningPods
from webhook.policy.model import HONOR, IGNORE, Constraint
from webhook.policy.selectors import merge_match_label_keys

AWAIT_ROLLOUT = (
    "# the pods do not have this constraint yet: apply it, and audit again after its rollout"
)
"""What to do about pods that a constraint counts, and that do not have it."""


def carries_constraint(group: RunningPods, constraint: Constraint) -> bool:
    """
    Whether running pods have a constraint.

    kube-apiserver may have merged its matchLabelKeys, and a profile completes a null selector.
    """
    wanted = _leave_out_selector(constraint)
    (merged,) = merge_match_label_keys((constraint,), group.pod.labels)
    selectors = (constraint.label_selector, merged.label_selector)
    return any(
        _leave_out_selector(one) == wanted
        and (constraint.label_selector is None or one.label_selector in selectors)
        for one in group.pod.constraints
    )


def _leave_out_selector(constraint: Constraint) -> Constraint:
    """Write out the defaults of a constraint, and leave its selector out, to compare it."""
    return replace(
        constraint,
        label_selector=None,
        min_domains=constraint.min_domains or 1,
        node_affinity_policy=constraint.node_affinity_policy or HONOR,
        node_taints_policy=constraint.node_taints_policy or IGNORE,
    )
