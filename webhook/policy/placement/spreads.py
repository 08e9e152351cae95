"""
What a pod's constraints ask for: every default filled in, the selector complete, the gates obeyed.

Valid constraints are taken for granted; whether they are is a question for ``rules``.

Source: kube-scheduler plugins/podtopologyspread/common.go.
"""

from collections.abc import Mapping

import msgspec

from webhook.policy.api.gates import Gate, Gates
from webhook.policy.model import (
    DO_NOT_SCHEDULE,
    HONOR,
    IGNORE,
    SCHEDULE_ANYWAY,
    Constraint,
    LabelSelector,
)
from webhook.policy.selectors import merge_match_label_keys


class SpreadConstraint(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """
    A constraint as the scheduler acts on it.

    Attributes:
        constraint: As it was written.
        index: Its place in the list it stands in, from 0.
        topology_key: Node label whose values are the domains.
        max_skew: Most pods a domain may hold above the global minimum; at least 1.
        selector: The pods that count, matchLabelKeys included; None selects none, an empty one
            counts none but matches the incoming pod.
        min_domains: With fewer domains the global minimum is 0; at least 1, for a soft one 1.
        honors_affinity: Whether nodes that the pod's nodeSelector or affinity exclude are left out.
        honors_taints: Whether nodes with taints that the pod does not tolerate are left out.

    Source: common.go ``topologySpreadConstraint``.
    """

    constraint: Constraint
    index: int
    topology_key: str
    max_skew: int
    selector: LabelSelector | None
    min_domains: int = 1
    honors_affinity: bool = True
    honors_taints: bool = False


class DefaultConstraints(msgspec.Struct, frozen=True):
    """
    The constraints of pods that have none of their own.

    Attributes:
        constraints: Without selectors; may be empty.
        selector: Derived from the pod's Services and owner; None or empty switches defaults off.
        system: Whether they are the scheduler's System defaults, which spread over nodes that
            lack a topology key too.
    """

    constraints: tuple[Constraint, ...] = ()
    selector: LabelSelector | None = None
    system: bool = False


NO_DEFAULTS = DefaultConstraints()


class SpreadConstraints(msgspec.Struct, frozen=True):
    """
    All that a pod asks for.

    Attributes:
        hard: DoNotSchedule, in order.
        soft: ScheduleAnyway, in order.
        defaulted: Whether they are defaults, not the pod's own.
        requires_keys: Whether nodes that lack the topology key of a soft one are not scored.
    """

    hard: tuple[SpreadConstraint, ...]
    soft: tuple[SpreadConstraint, ...]
    defaulted: bool
    requires_keys: bool


def resolve_constraints(
    constraints: tuple[Constraint, ...],
    labels: Mapping[str, str],
    gates: Gates,
    defaults: DefaultConstraints = NO_DEFAULTS,
) -> SpreadConstraints:
    """
    What the scheduler makes of a pod's constraints.

    Args:
        constraints: The pod's own; if there is one, defaults do not count at all.
        labels: The pod's own.
        gates: MatchLabelKeys, NodeInclusionPolicy and MinDomains are asked.
        defaults: In force where the pod is scheduled.

    Source: common.go ``getConstraints``, ``buildDefaultConstraints``; scoring.go ``PreScore``.
    """
    if constraints:
        chosen = constraints
        merges = Gate.MATCH_LABEL_KEYS in gates
        merged = merge_match_label_keys(constraints, labels) if merges else constraints
        selectors = tuple(constraint.label_selector for constraint in merged)
    else:
        chosen = defaults.constraints if _selects(defaults.selector) else ()
        selectors = (defaults.selector,) * len(chosen)
    spreads = tuple(
        _spread(index, constraint, selector, gates)
        for index, (constraint, selector) in enumerate(zip(chosen, selectors, strict=True))
    )
    return SpreadConstraints(
        tuple(
            spread for spread in spreads if spread.constraint.when_unsatisfiable == DO_NOT_SCHEDULE
        ),
        tuple(
            spread for spread in spreads if spread.constraint.when_unsatisfiable == SCHEDULE_ANYWAY
        ),
        defaulted=not constraints,
        requires_keys=bool(constraints) or not defaults.system,
    )


def _selects(selector: LabelSelector | None) -> bool:
    return selector is not None and selector != LabelSelector()


def _spread(
    index: int, constraint: Constraint, selector: LabelSelector | None, gates: Gates
) -> SpreadConstraint:
    """Source: common.go ``filterTopologySpreadConstraints``."""
    asked = constraint.min_domains if constraint.when_unsatisfiable == DO_NOT_SCHEDULE else None
    policies = Gate.NODE_INCLUSION_POLICY in gates
    return SpreadConstraint(
        constraint=constraint,
        index=index,
        topology_key=constraint.topology_key,
        max_skew=constraint.max_skew,
        selector=selector,
        min_domains=asked if asked is not None and Gate.MIN_DOMAINS in gates else 1,
        honors_affinity=not policies or (constraint.node_affinity_policy or HONOR) == HONOR,
        honors_taints=policies and (constraint.node_taints_policy or IGNORE) == HONOR,
    )
