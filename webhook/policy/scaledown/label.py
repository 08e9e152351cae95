"""
The label of pods that get a rank when they are bound.

``needs_label`` is the entry point. A Binding has no labels of its pod, so the choice is made when
the pod is created, and caches select ranked pods by the label. Whether a profile requests it is not
decided here.

Source: kubernetes pkg/controller/replicaset/replica_set.go ``getPodsToDelete``, the only controller
that heeds the deletion cost, for ReplicationControllers too.
"""

from webhook.policy.facts import Facts
from webhook.policy.kinds import REPLICA_SET, REPLICATION_CONTROLLER
from webhook.policy.model import Constraint, GroupKind, LabelSelector, PodTemplate, group_of
from webhook.policy.scaledown.ranks import DELETION_COST, SCALE_DOWN_LABEL

RANKED_OWNERS = frozenset({REPLICA_SET, REPLICATION_CONTROLLER})
"""The controllers that remove pods with a lower deletion cost first."""


def needs_label(pod: PodTemplate, namespace: str, facts: Facts) -> bool:
    """
    Whether a new pod of a profile that keeps the spread lacks the label.

    It does not if its author chose a deletion cost or a value of the label, if its controller
    ignores deletion costs, or if a selector of the pod names the label. Such a selector could no
    longer match the labelled pod: its ReplicaSet would release it and create another, without end.
    """
    metadata = pod.metadata
    if metadata is None or SCALE_DOWN_LABEL in metadata.labels:
        return False
    owner = metadata.controller
    if DELETION_COST in metadata.annotations or owner is None:
        return False
    if GroupKind(group_of(owner.api_version), owner.kind) not in RANKED_OWNERS:
        return False
    selector = facts.owner_selector(namespace, owner)
    return not (_names_label(selector) or any(map(_counts_by_label, pod.constraints)))


def _counts_by_label(constraint: Constraint) -> bool:
    """Whether the label would change which pods a constraint counts."""
    return SCALE_DOWN_LABEL in constraint.match_label_keys or _names_label(
        constraint.label_selector
    )


def _names_label(selector: LabelSelector | None) -> bool:
    return selector is not None and (
        SCALE_DOWN_LABEL in selector.match_labels
        or any(entry.key == SCALE_DOWN_LABEL for entry in selector.match_expressions)
    )
