"""
Topology spread constraints as kube-scheduler resolves them.

``resolve_constraints`` fills in defaults, merges matchLabelKeys and applies feature gates. It
assumes valid constraints: validation is the subject of ``policy.api.rules``.

Source: kube-scheduler plugins/podtopologyspread/common.go.
"""

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from webhook.policy.api.gates import Gate, Gates
from webhook.policy.model import (
    DO_NOT_SCHEDULE,
    HONOR,
    IGNORE,
    SCHEDULE_ANYWAY,
    Constraint,
    LabelSelector,
)
from webhook.policy.placement.nodes import Demands
from webhook.policy.selectors import matches, merge_match_label_keys


class SpreadConstraint(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """
    One constraint with all defaults filled in.

    Attributes:
        constraint: The constraint as written.
        max_skew: Number of pods that a domain may have above the global minimum; at least 1.
        selector: The pods that count, with matchLabelKeys merged; None selects no pod, an empty
            one counts no pod but matches the incoming pod.
        min_domains: With fewer domains the global minimum is 0; at least 1, always 1 if soft.
        honors_affinity: Whether nodes excluded by the pod's nodeSelector or affinity do not count.
        honors_taints: Whether nodes with taints that the pod does not tolerate do not count.

    Source: common.go ``topologySpreadConstraint``.
    """

    constraint: Constraint
    index: int
    topology_key: str
    max_skew: int
    selector: LabelSelector | None
    min_domains: int
    honors_affinity: bool
    honors_taints: bool

    def counts(self, labels: Mapping[str, str]) -> bool:
        """
        Whether running pods with these labels count.

        Source: common.go ``countPodsMatchSelector``, which skips empty selectors.
        """
        return self.selector != LabelSelector() and matches(self.selector, labels)

    def counting(self, demands: Demands) -> Demands:
        """Return what a node must satisfy to count, for a pod that requires this of nodes."""
        return demands.honoring(affinity=self.honors_affinity, taints=self.honors_taints)


class DefaultConstraints(msgspec.Struct, frozen=True):
    """
    The scheduler's constraints for pods that have none of their own.

    Attributes:
        selector: Derived from the pod's Services and owner; None or empty turns defaults off.
        system: Whether they are the System defaults, which also score nodes that lack a topology
            key.
    """

    constraints: tuple[Constraint, ...] = ()
    selector: LabelSelector | None = None
    system: bool = False


NO_DEFAULTS = DefaultConstraints()


class SpreadConstraints(msgspec.Struct, frozen=True):
    """
    All constraints that apply to a pod.

    Attributes:
        hard: Those with DoNotSchedule, in order.
        soft: Those with ScheduleAnyway, in order.
        defaulted: Whether they are defaults rather than the pod's own.
        requires_keys: Whether nodes that lack a topology key of a soft constraint are not scored.
        added: Indexes of those that a profile added beside the pod's own, which have other keys.
    """

    hard: tuple[SpreadConstraint, ...]
    soft: tuple[SpreadConstraint, ...]
    defaulted: bool
    requires_keys: bool
    added: frozenset[int] = frozenset()

    @property
    def by_index(self) -> list[SpreadConstraint]:
        """All of them, in the order of their list."""
        return sorted((*self.hard, *self.soft), key=lambda spread: spread.index)

    def drop_added(self, key: str) -> "SpreadConstraints":
        """Return them without those that a profile adds only if no other one has this key."""
        hard, soft = (
            tuple(one for one in kept if one.topology_key != key or one.index not in self.added)
            for kept in (self.hard, self.soft)
        )
        return replace(self, hard=hard, soft=soft)


def resolve_constraints(
    constraints: tuple[Constraint, ...],
    labels: Mapping[str, str],
    gates: Gates,
    defaults: DefaultConstraints = NO_DEFAULTS,
) -> SpreadConstraints:
    """
    Resolve the constraints that apply to a pod.

    Args:
        constraints: The pod's own. A single one turns all defaults off.
        labels: The pod's own.
        gates: Those of matchLabelKeys, node inclusion policies and minDomains matter.

    Source: common.go ``getConstraints``, ``buildDefaultConstraints``; scoring.go ``PreScore``.
    """
    # The pod's own constraints replace the defaults as a whole. Only they merge matchLabelKeys;
    # defaults take the selector derived from the pod's Services and owner instead.
    if constraints:
        chosen = constraints
        merges = Gate.MATCH_LABEL_KEYS in gates
        merged = merge_match_label_keys(constraints, labels) if merges else constraints
        selectors = tuple(constraint.label_selector for constraint in merged)
    else:
        selects = defaults.selector not in (None, LabelSelector())
        chosen = defaults.constraints if selects else ()
        selectors = (defaults.selector,) * len(chosen)
    spreads = tuple(
        _resolve_constraint(index, constraint, selector, gates)
        for index, (constraint, selector) in enumerate(zip(chosen, selectors, strict=True))
    )
    # Hard and soft constraints are evaluated apart from here on, each set by its own nodes.
    hard, soft = (
        tuple(spread for spread in spreads if spread.constraint.when_unsatisfiable == action)
        for action in (DO_NOT_SCHEDULE, SCHEDULE_ANYWAY)
    )
    return SpreadConstraints(
        hard,
        soft,
        defaulted=not constraints,
        requires_keys=bool(constraints) or not defaults.system,
    )


def _resolve_constraint(
    index: int, constraint: Constraint, selector: LabelSelector | None, gates: Gates
) -> SpreadConstraint:
    """
    Fill in the defaults of one constraint.

    Source: common.go ``filterTopologySpreadConstraints``.
    """
    min_domains = None
    if constraint.when_unsatisfiable == DO_NOT_SCHEDULE and Gate.MIN_DOMAINS in gates:
        min_domains = constraint.min_domains
    # Without the gate of the node inclusion policies the scheduler behaves as with their defaults:
    # it honors affinity and ignores taints, whatever the constraint has.
    policies = Gate.NODE_INCLUSION_POLICY in gates
    return SpreadConstraint(
        constraint=constraint,
        index=index,
        topology_key=constraint.topology_key,
        max_skew=constraint.max_skew,
        selector=selector,
        min_domains=1 if min_domains is None else min_domains,
        honors_affinity=not policies or (constraint.node_affinity_policy or HONOR) == HONOR,
        honors_taints=policies and (constraint.node_taints_policy or IGNORE) == HONOR,
    )
