"""
The table of the policy rules: the check of every rule.

``POLICY_RULES`` is the entry point. The texts, default actions and scopes are in
``policy.advice_texts``. A new rule needs a check in a module of this package, a row here, an entry
in ``policy.advice_texts``, a remedy in ``webhook.fix.remedies`` and an example for the reference.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import TypeAlias

from webhook.policy.advice import (
    defaulting,
    fields,
    gangs,
    mindomains,
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
from webhook.policy.catalogue import CATALOGUE
from webhook.policy.rule_entry import RuleScope

Check: TypeAlias = Callable[[Subject, AdviceContext], Iterator[RuleViolation]]
"""Yields the violations of a subject; nothing if too little is known. Named for what it demands."""


@dataclass(frozen=True)
class PolicyRule:
    """
    A policy rule.

    Attributes:
        id: ``TSC101`` to ``TSC121``.
        check: The function that judges a subject.
        as_written: Whether it sees the constraints as written; other rules see them without the
            fields that feature gates disable.
        on_bare_lists: Whether it judges a list of constraints without a pod template, of whose pods
            nothing is known.
        without_constraints: Whether it judges subjects without a constraint, as most are.
    """

    id: str
    check: Check
    as_written: bool = False
    on_bare_lists: bool = False
    without_constraints: bool = False

    def runs(self, context: AdviceContext) -> bool:
        """
        Whether the rule runs in an audit, or in this admission.

        Admission runs only rules that cost the same in a cluster of any size.
        """
        if context.cluster is not None:
            return True
        return CATALOGUE[self.id].scope is RuleScope.EVERYWHERE


def of_nodes(check: Check) -> Check:
    """
    Return a check that yields nothing if it is not known to which nodes the pods can go.

    Where no node is known at all, the check runs as usual.
    """

    @wraps(check)
    def run(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
        if not (subject.lacks_runtime_class and context.knows_nodes):
            yield from check(subject, context)

    return run


POLICY_RULES: tuple[PolicyRule, ...] = (
    PolicyRule("TSC101", selectors.selector_matches_itself),
    PolicyRule("TSC102", selectors.selector_counts_pods),
    PolicyRule("TSC103", topology.key_is_on_nodes, on_bare_lists=True),
    PolicyRule("TSC104", of_nodes(mindomains.min_domains_can_be_met)),
    PolicyRule("TSC105", of_nodes(reachability.domains_are_open)),
    PolicyRule("TSC106", of_nodes(nextpod.next_pod_has_a_node), without_constraints=True),
    PolicyRule("TSC107", fields.revisions_count_apart),
    PolicyRule("TSC108", of_nodes(volumes.volumes_can_follow)),
    PolicyRule("TSC109", of_nodes(replicas.constraints_agree)),
    PolicyRule("TSC110", unspread.something_spreads, without_constraints=True),
    PolicyRule(
        "TSC111",
        fields.fields_are_in_force,
        as_written=True,
        on_bare_lists=True,
    ),
    PolicyRule("TSC112", replicas.skew_can_bind),
    PolicyRule("TSC113", of_nodes(selectors.selector_counts_no_others)),
    PolicyRule("TSC114", of_nodes(skew.skew_is_kept), without_constraints=True),
    PolicyRule("TSC115", defaulting.pods_have_defaults, without_constraints=True),
    PolicyRule("TSC116", of_nodes(reachability.domains_are_allowed)),
    PolicyRule("TSC117", fields.pods_carry_keys),
    PolicyRule("TSC118", of_nodes(scaledown.scale_down_keeps_skew)),
    PolicyRule("TSC119", of_nodes(rollouts.rollout_can_finish)),
    PolicyRule("TSC120", of_nodes(onedomain.domains_are_several), without_constraints=True),
    PolicyRule("TSC121", gangs.gangs_can_be_placed),
)
"""Every policy rule, by id; findings on a subject are reported in this order."""
