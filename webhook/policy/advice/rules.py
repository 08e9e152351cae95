"""
The table of the policy rules: the check of every rule, and where it runs.

``POLICY_RULES`` is the entry point. The texts and default actions are in ``policy.catalogue``.
A new rule needs a check in a module of this package, a row here, an entry in ``policy.catalogue``,
a remedy in ``webhook.fix.remedies`` and an example for the reference.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from webhook.policy.advice import defaulting, fields, replicas, selectors, skew, topology
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
        id: ``TSC101`` to ``TSC115``.
        check: The function that judges a subject.
        scope: Where it runs. Admission runs only rules that cost the same in a cluster of any size.
        as_written: Whether it sees the constraints as written; other rules see them without the
            fields that feature gates disable.
    """

    id: str
    check: Check
    scope: RuleScope = RuleScope.EVERYWHERE
    as_written: bool = False


POLICY_RULES: tuple[PolicyRule, ...] = (
    PolicyRule("TSC101", selectors.selector_matches_itself),
    PolicyRule("TSC102", selectors.selector_counts_pods),
    PolicyRule("TSC103", topology.key_is_on_nodes),
    PolicyRule("TSC104", topology.min_domains_can_be_met),
    PolicyRule("TSC105", topology.domains_are_open),
    PolicyRule("TSC106", skew.next_pod_has_a_node, RuleScope.AUDIT),
    PolicyRule("TSC107", fields.revisions_count_apart),
    PolicyRule("TSC108", fields.volumes_can_follow),
    PolicyRule("TSC109", replicas.constraints_agree, RuleScope.AUDIT),
    PolicyRule("TSC110", defaulting.something_spreads),
    PolicyRule("TSC111", fields.fields_are_in_force, RuleScope.DROPPING, as_written=True),
    PolicyRule("TSC112", replicas.skew_can_bind),
    PolicyRule("TSC113", selectors.selector_counts_no_others, RuleScope.AUDIT),
    PolicyRule("TSC114", skew.skew_is_kept, RuleScope.AUDIT),
    PolicyRule("TSC115", defaulting.pods_have_defaults, RuleScope.AUDIT),
)
"""Every policy rule, by id; findings on a subject are reported in this order."""
