"""
The table of the policy rules: the check of every rule, and where it runs.

``POLICY_RULES`` is the entry point. The texts and default actions are in ``policy.advice_texts``.
A new rule needs a check in a module of this package, a row here, an entry in
``policy.advice_texts``, a remedy in ``webhook.fix.remedies`` and an example for the reference.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from webhook.policy.advice import (
    defaulting,
    fields,
    gangs,
    nextpod,
    onedomain,
    reachability,
    replicas,
    rollouts,
    scaledown,
    selectors,
    skew,
    topology,
    unspread,
    volumes,
)
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.findings import RuleViolation
from webhook.policy.advice.subject import Subject

Check: TypeAlias = Callable[[Subject, AdviceContext], Iterator[RuleViolation]]
"""Yields the violations of a subject; nothing if too little is known. Named for what it demands."""


class RuleScope(StrEnum):
    """Where a rule runs."""

    EVERYWHERE = "admission and audit"
    DROPPING = "admission, by what drops the field, and audit"
    AUDIT = "audit"


@dataclass(frozen=True)
class PolicyRule:
    """
    A policy rule.

    Attributes:
        id: ``TSC101`` to ``TSC121``.
        check: The function that judges a subject.
        scope: Where it runs. Admission runs only rules that cost the same in a cluster of any size.
        as_written: Whether it sees the constraints as written; other rules see them without the
            fields that feature gates disable.
        on_bare_lists: Whether it judges a list of constraints without a pod template, of whose pods
            nothing is known.
    """

    id: str
    check: Check
    scope: RuleScope = RuleScope.EVERYWHERE
    as_written: bool = False
    on_bare_lists: bool = False

    def runs(self, context: AdviceContext) -> bool:
        """Whether the rule runs in an audit, or in this admission."""
        return context.cluster is not None or self.scope is RuleScope.EVERYWHERE


POLICY_RULES: tuple[PolicyRule, ...] = (
    PolicyRule("TSC101", selectors.selector_matches_itself),
    PolicyRule("TSC102", selectors.selector_counts_pods),
    PolicyRule("TSC103", topology.key_is_on_nodes, on_bare_lists=True),
    PolicyRule("TSC104", topology.min_domains_can_be_met),
    PolicyRule("TSC105", reachability.domains_are_open),
    PolicyRule("TSC106", nextpod.next_pod_has_a_node, RuleScope.AUDIT),
    PolicyRule("TSC107", fields.revisions_count_apart),
    PolicyRule("TSC108", volumes.volumes_can_follow, RuleScope.AUDIT),
    PolicyRule("TSC109", replicas.constraints_agree, RuleScope.AUDIT),
    PolicyRule("TSC110", unspread.something_spreads),
    PolicyRule(
        "TSC111",
        fields.fields_are_in_force,
        RuleScope.DROPPING,
        as_written=True,
        on_bare_lists=True,
    ),
    PolicyRule("TSC112", replicas.skew_can_bind, RuleScope.AUDIT),
    PolicyRule("TSC113", selectors.selector_counts_no_others, RuleScope.AUDIT),
    PolicyRule("TSC114", skew.skew_is_kept, RuleScope.AUDIT),
    PolicyRule("TSC115", defaulting.pods_have_defaults, RuleScope.AUDIT),
    PolicyRule("TSC116", reachability.domains_are_allowed),
    PolicyRule("TSC117", fields.pods_carry_keys),
    PolicyRule("TSC118", scaledown.scale_down_keeps_skew, RuleScope.AUDIT),
    PolicyRule("TSC119", rollouts.rollout_can_finish),
    PolicyRule("TSC120", onedomain.domains_are_several, RuleScope.AUDIT),
    PolicyRule("TSC121", gangs.gangs_can_be_placed),
)
"""Every policy rule, by id; findings on a subject are reported in this order."""
