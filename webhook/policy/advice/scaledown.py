"""
Rule TSC118: a scale-down keeps hard constraints.

The ReplicaSet controller does not look at the spread when it removes pods, unless their profile
gives them ranks. Which pods it removes is the subject of ``explain.removalorder``; here only
what can happen counts.
"""

from collections.abc import Iterator
from math import ceil

from msgspec.structs import replace

from webhook.policy.advice.context import AdviceContext
from webhook.policy.advice.counting import (
    counts_itself,
    hard_constraints,
    known_selectors,
    other_workloads,
)
from webhook.policy.advice.everyorder import read_orders
from webhook.policy.advice.findings import RuleViolation, quote_value
from webhook.policy.advice.scaling import ReplicaRange
from webhook.policy.advice.subject import Subject
from webhook.policy.defaulting.forecast import first_pod, forecast_injection
from webhook.policy.defaulting.inject import reason_to_leave_alone
from webhook.policy.defaulting.profiles import Mode, Policy
from webhook.policy.kinds import (
    DEPLOYMENT,
    DEPLOYMENT_CONFIG,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    ROLLOUT,
)
from webhook.policy.model import HOSTNAME
from webhook.policy.placement.spreads import SpreadConstraint
from webhook.policy.scaledown.ranks import DELETION_COST

RANKED_KINDS = frozenset(
    {DEPLOYMENT, DEPLOYMENT_CONFIG, REPLICA_SET, REPLICATION_CONTROLLER, ROLLOUT}
)
"""Kinds whose pods a ReplicaSet or a ReplicationController removes."""

_RANKS = "scaleDown: KeepSpread"

USUAL_DOMAINS = 3  # zones of most regions; supposed where no Node is known


def scale_down_keeps_skew(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """
    TSC118: removing pods without regard to the spread can break a hard constraint.

    Only pods that run make a domain full: those that have a place in every order of placement.
    Pods with a deletion cost are skipped, since their author orders them, and so are selectors that
    count other workloads, which are not scaled at the same time.
    """
    scaling, cluster = subject.scaling, context.cluster
    if scaling is None or cluster is None:
        return
    instead = _suggest_ranks(subject, context)
    if not instead:
        return
    constraints = hard_constraints(subject, context)
    selectors = known_selectors(subject, context.gates) if constraints else []
    for spread in constraints:
        if not counts_itself(spread.constraint, subject, context.gates):
            continue
        counting = spread.counting(subject.demands)
        if other_workloads(subject, selectors[spread.index], cluster, counting):
            continue
        domains = _count_domains(spread, subject, context)
        if domains < spread.min_domains or find_worst_skew(scaling, domains) <= spread.max_skew:
            continue
        placed = _count_placed(subject, scaling, context)
        skew = find_worst_skew(replace(scaling, most=placed), domains)
        if skew > spread.max_skew:
            yield _describe(subject, spread, placed, skew, instead)


def find_worst_skew(scaling: ReplicaRange, domains: int) -> int:
    """
    Find the largest skew after a scale-down of an autoscaler from pods that are spread evenly.

    It starts from the most replicas. The pods of the fullest domain stay, and those of the emptiest
    are removed as far as the least replicas permit.

    Args:
        domains: Number of domains; with less than two there is no skew.
    """
    if domains <= 1 or scaling.least >= scaling.most or not scaling.scales_down:
        return 0
    fullest, emptiest = ceil(scaling.most / domains), scaling.most // domains
    left = max(scaling.least, min(fullest, scaling.most - 1))
    in_emptiest = max(0, left - (scaling.most - emptiest))
    return min(fullest, left) - in_emptiest


def _suggest_ranks(subject: Subject, context: AdviceContext) -> str:
    """Suggest how pods of the subject get ranks, a comment; empty if they do, or never can."""
    if subject.kind not in RANKED_KINDS or not subject.constraints:
        return ""
    metadata = subject.pod.metadata
    if metadata is not None and DELETION_COST in metadata.annotations:
        return ""
    policy, namespace = context.policy, subject.namespace
    pod = first_pod(subject.kind, subject.metadata.name, subject.pod)
    if reason_to_leave_alone(pod, namespace, policy):
        return ""
    injection = forecast_injection(pod, namespace, policy, context.facts)
    if injection.keeps_spread:
        return _suggest_mode(injection.profile, policy) if injection.recommended else ""
    exempted = f"; and SpreadPolicyException {injection.exception} without defaults: true"
    return f"# in the profile of these pods: {_RANKS}{exempted if injection.exception else ''}"


def _suggest_mode(profile: str, policy: Policy) -> str:
    """Suggest the mode in which a profile does what it only recommends."""
    place = "the configuration" if policy.mode is Mode.RECOMMEND else f"profile {profile}"
    return f"# in {place}: mode: apply; the {_RANKS} of profile {profile} is only recommended"


def _count_domains(spread: SpreadConstraint, subject: Subject, context: AdviceContext) -> int:
    """
    Count the domains that pods can go to.

    Where no Node is known, suppose a usual number, but one node for a pod.
    """
    cluster, key = context.cluster, spread.topology_key
    if cluster is None or not cluster.topology.nodes:
        return 0 if key == HOSTNAME else max(USUAL_DOMAINS, spread.min_domains)
    reached = cluster.lasting_domains(key, (key,), subject.demands).sizes
    tallies = cluster.tallies(subject.next_pod, subject.constraints, context.gates)
    found = (tally for tally in tallies if tally.spread.index == spread.index)
    return max((len(tally.domains.sizes.keys() & reached) for tally in found), default=0)


def _count_placed(subject: Subject, scaling: ReplicaRange, context: AdviceContext) -> int:
    """Count the most replicas that run: those that all hard constraints together give a place."""
    cluster = context.cluster
    if cluster is None or not cluster.topology.nodes:
        return scaling.most
    orders = read_orders(subject, context, whatever_state=True)
    return orders.count_placed() if orders else 0


def _describe(
    subject: Subject, spread: SpreadConstraint, placed: int, skew: int, instead: str
) -> RuleViolation:
    scaling = subject.scaling
    assert scaling is not None, "the rule is about autoscalers"
    most = "" if placed == scaling.most else f", of which {placed} have a place in every order"
    return RuleViolation(
        subject.field(spread.index),
        f"{scaling.source} scales from {scaling.most} down to {scaling.least} replicas{most}, and "
        f"the controller removes pods without regard to the spread: over "
        f"{quote_value(spread.topology_key)} the skew can become {skew}, maxSkew is "
        f"{spread.max_skew}",
        instead,
        f"a scale-down by {scaling.source} can leave skew {skew}, maxSkew is {spread.max_skew}",
    )
