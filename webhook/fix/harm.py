"""
What a change makes worse: findings that it causes, and replicas that lose their place.

``find_worse`` compares the findings before and after a change, ``find_lost_place`` the orders in
which kube-scheduler can place the replicas.
"""

from collections import Counter
from collections.abc import Callable, Sequence

from webhook.audit.report import AuditFinding
from webhook.fix.changes import FixObstacle
from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.everyorder import read_orders
from webhook.policy.advice.keptpods import DELETE_PENDING
from webhook.policy.advice.reachability import list_closed
from webhook.policy.advice.subject import Subject
from webhook.policy.api.rules import API_RULES

PENDING_RULES = frozenset({"TSC103", "TSC104", "TSC106", "TSC109", "TSC119"})
"""Advice about pods that stay Pending: no change may cause a finding of these rules."""

CLOSED_RULES = frozenset({"TSC105", "TSC116"})
"""Further advice about such pods, which a change may cause if the same run fixes it."""

HIDDEN_RULE = "TSC109"
"""Advice about two constraints, which is hidden while a closed domain limits one of them alone."""

NOT_SHOWN = FixObstacle(
    "it is not shown that all replicas would have a place: in some order of placement, replicas "
    "may stay Pending"
)

UNKNOWN_NUMBER = FixObstacle(
    "the number of replicas is not written, so that any number may run, and it is not shown that "
    "all would have a place: write replicas, or add the HorizontalPodAutoscaler to the files or "
    "facts"
)

UNKNOWN_PODS = FixObstacle(
    "it is not known how many pods this kind of object has, and so not shown that all would have a "
    "place: make the change by hand"
)


def lowers_min_domains(finding: AuditFinding) -> bool:
    """Whether the advice about a closed domain makes a constraint weaker, by its minDomains."""
    return finding.rule in CLOSED_RULES and "minDomains" in finding.instead


def changes_request(finding: AuditFinding) -> bool:
    """Whether the advice changes what the author requested, unlike other advice of its rule."""
    narrows = finding.rule == "TSC119" and finding.instead.startswith("labelSelector:")
    return narrows or lowers_min_domains(finding)


def find_worse(
    before: Sequence[AuditFinding],
    after: Sequence[AuditFinding],
    is_fixed: Callable[[AuditFinding], bool],
    *,
    had_place: bool = True,
) -> FixObstacle | None:
    """
    Find a finding that a change must not cause.

    Pods that wait with the constraints of an older template have waited before the change.

    Args:
        is_fixed: Whether the same run fixes a finding.
        had_place: Whether a pod can have a node without the change.
    """
    had = Counter(found.rule for found in before)
    has = Counter(found.rule for found in after)
    # Advice is not evaluated while API rules are broken: findings that appear then are not caused.
    # Neither does a change cause Pending pods if none could have a node before.
    forbidden = set(API_RULES)
    if had_place and not API_RULES.keys() & had.keys():
        forbidden |= PENDING_RULES | CLOSED_RULES
    # A domain that does not count any more lets more replicas be placed, if not all of them.
    if sum(has[rule] - had[rule] for rule in CLOSED_RULES) < 0:
        forbidden.discard(HIDDEN_RULE)
    for found in after:
        is_caused = found.rule in forbidden and has[found.rule] > had[found.rule]
        is_caused = is_caused and found.instead != DELETE_PENDING
        if is_caused and not (found.rule in CLOSED_RULES and is_fixed(found)):
            return FixObstacle(f"the proposed value would cause {found.rule}: {found.problem}")
    return None


def find_lost_place(before: Subject, after: Subject, grounds: AdviceContext) -> FixObstacle | None:
    """
    Find out whether replicas that have a place in every order may have none after a change.

    The orders are compared as if domains that the pods cannot go to did not count. Where no rule
    reports such domains, they are compared as they are, too.
    """
    is_reported = next(list_closed(after, grounds), None) is not None
    views = (True,) if is_reported else (True, False)
    if not any(_loses_place(before, after, grounds, leaves_out_closed=view) for view in views):
        return None
    if after.most_replicas is not None:
        return NOT_SHOWN
    return UNKNOWN_PODS if after.is_bare else UNKNOWN_NUMBER


def _loses_place(
    before: Subject, after: Subject, grounds: AdviceContext, *, leaves_out_closed: bool
) -> bool:
    fit_before, fit_after = (
        orders.all_fit() if orders else None
        for orders in (
            read_orders(subject, grounds, leaves_out_closed=leaves_out_closed)
            for subject in (before, after)
        )
    )
    return bool(fit_before) and not fit_after


def makes_keys_known(before: Subject, after: Subject, grounds: AdviceContext) -> bool:
    """Whether only a change gives all hard constraints keys of nodes: no pod had one before."""
    return _lacks_key(before, grounds) and not _lacks_key(after, grounds)


def _lacks_key(subject: Subject, grounds: AdviceContext) -> bool:
    cluster = grounds.cluster
    if cluster is None or not cluster.topology.nodes:
        return False
    return bool(cluster.list_unknown_keys(subject.constraints, subject.demands))
