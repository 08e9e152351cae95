"""
Whether all pods of a workload, which the change of a constraint creates anew, have a place.

A Deployment, a DeploymentConfig, a Rollout and a StatefulSet cannot give a new constraint to the
pods that wait alone: the change of the template makes a new revision, and all replicas are placed
again, in any order.
``RecreatedPods.read`` is the entry point.

Source: k8s.io kubernetes pkg/controller/deployment/util ``FindNewReplicaSet``;
pkg/controller/statefulset/stateful_set_control.go ``performUpdate``.
"""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.everyorder import ReplicaOrders, read_advised_orders
from webhook.policy.advice.replicas import find_conflicts
from webhook.policy.advice.subject import Subject
from webhook.policy.kinds import DEPLOYMENT, DEPLOYMENT_CONFIG, ROLLOUT, STATEFUL_SET
from webhook.policy.model import SCHEDULE_ANYWAY

_RECREATING = frozenset({DEPLOYMENT, DEPLOYMENT_CONFIG, ROLLOUT, STATEFUL_SET})


class RecreatedPods(NamedTuple):
    """
    All pods of a workload, placed from nothing, now and once all nodes are open.

    Attributes:
        orders: Those in which they are placed; empty if a change does not create all pods anew, or
            if it is not known whether they have a place.
    """

    subject: Subject
    context: AdviceContext
    orders: Sequence[ReplicaOrders]

    @classmethod
    def read(cls, subject: Subject, context: AdviceContext) -> "RecreatedPods":
        """Read the orders in which the pods are placed."""
        is_held = subject.on_delete or subject.partitioned is not None
        known = subject.pods_kind in _RECREATING and not is_held and subject.most_replicas
        orders = read_advised_orders(subject, context) if known else ()
        return cls(subject, context, [one for one in orders if not one.counts_others])

    def list_conflicting(self) -> list[int]:
        """List the indexes of the constraints that TSC109 changes, so that both rules agree."""
        if not self.orders:
            return []
        found = find_conflicts(self.subject, self.context, self.subject.most_replicas or 0)
        return [*dict.fromkeys(conflict.inner.index for conflict in found)]

    def may_fit(self, index: int, max_skew: int) -> bool:
        """Whether no order is shown to leave a pod Pending with another maxSkew of a constraint."""
        return all(one.with_skew(index, max_skew).all_fit() is not False for one in self.orders)

    def fit_without(self, index: int) -> bool:
        """Whether all pods are shown to have a place once a hard constraint is soft."""
        constraints = [*self.subject.constraints]
        soft = replace(constraints[index], when_unsatisfiable=SCHEDULE_ANYWAY, min_domains=None)
        constraints[index] = soft
        changed = self.read(self.subject.with_constraints(tuple(constraints)), self.context)
        return bool(changed.orders) and all(one.all_fit() for one in changed.orders)
