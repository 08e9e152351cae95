"""
The rule about running pods that are uneven: TSC114.

The counts come from ``placement``, so they are those that kube-scheduler sees.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from webhook.policy.advice.carriedconstraints import AWAIT_ROLLOUT, carries_constraint
from webhook.policy.advice.context import AdviceContext, ClusterState
from webhook.policy.advice.everyorder import read_orders
from webhook.policy.advice.findings import RuleViolation, join_names, quote_value
from webhook.policy.advice.fixedminimum import suggest_raising
from webhook.policy.advice.givendefaults import NOTHING_GIVEN, GivenDefaults, list_defaults
from webhook.policy.advice.heldback import find_constraints
from webhook.policy.advice.leastskew import LeastSkew, find_least_skew
from webhook.policy.advice.otherpods import suggest_about_others
from webhook.policy.advice.replacements import suggest_returning
from webhook.policy.advice.replicas import suggest_relaxing
from webhook.policy.advice.restarts import (
    suggest_evening,
    suggest_moving,
    suggest_placing,
    suggest_within_zones,
)
from webhook.policy.advice.subject import Subject
from webhook.policy.advice.volumes import volumes_keep_pods, volumes_limit_nodes
from webhook.policy.model import DO_NOT_SCHEDULE, Constraint
from webhook.policy.placement.tallies import PodTally


class _Revision(NamedTuple):
    """
    Pods with the same constraints.

    Attributes:
        constraints: What they have: those of the object, or of an older revision of it, and then
            defaults.
        tallies: The pods that each of the constraints counts.
        defaults: The constraints that a profile gave them.
        profile: The name of the profile; empty without defaults.
    """

    constraints: tuple[Constraint, ...]
    tallies: Sequence[PodTally]
    defaults: tuple[Constraint, ...] = ()
    profile: str = ""

    @property
    def hard(self) -> list[PodTally]:
        """The tallies of the hard constraints."""
        return [
            one
            for one in self.tallies
            if one.spread.constraint.when_unsatisfiable == DO_NOT_SCHEDULE
        ]

    def find_profile(self, tally: PodTally) -> str:
        """Return the profile that gave the pods a constraint; empty for one of the object."""
        return self.profile if tally.spread.constraint in self.defaults else ""


def skew_is_kept(subject: Subject, context: AdviceContext) -> Iterator[RuleViolation]:
    """
    TSC114: scaling down and losing nodes leave pods uneven, and nothing moves running pods.

    While a rollout runs, the pods that it deletes do not count. A skew of a soft constraint that
    the hard ones make necessary is no finding. Defaults of a profile are judged as the pods have
    them.
    """
    cluster = context.cluster
    if cluster is None or subject.is_alone or (subject.path and subject.is_bound):
        return
    if any(group.unordered for group in subject.running):
        return  # which pods remain is unknown
    if subject.running and not any(group.placed for group in subject.running):
        return  # all its pods are Pending
    reports = (
        report
        for revision in _tally_revisions(subject, cluster, context)
        for report in _report_uneven(subject, revision, context)
    )
    # Revisions with the same constraints, such as those of a partition, are uneven alike.
    yield from dict.fromkeys(reports)


def _report_uneven(
    subject: Subject, revision: _Revision, context: AdviceContext
) -> Iterator[RuleViolation]:
    """Report the constraints of some pods that do not hold, unless the skew is necessary."""
    assert context.cluster is not None, "the rule runs in audits"
    for tally in revision.tallies:
        exceeds = tally.largest_skew > tally.spread.max_skew
        if not (tally.matches_pod and exceeds) or evens_out(subject, tally):
            continue
        least = _find_least(subject, tally, revision.hard, context.cluster)
        if least is None or least.skew < tally.largest_skew:
            yield _report_skew(subject, tally, least, revision, context)


def _find_least(
    subject: Subject, tally: PodTally, hard: Sequence[PodTally], cluster: ClusterState
) -> LeastSkew | None:
    """Find the least skew of a soft constraint that the hard ones allow the present pods."""
    if tally.spread.constraint.when_unsatisfiable == DO_NOT_SCHEDULE or _awaits_pods(subject):
        return None
    return find_least_skew(tally, hard, cluster.topology, subject.demands) if hard else None


def _awaits_pods(subject: Subject) -> bool:
    return subject.replicas is not None and not subject.has_all_pods


def _report_skew(
    subject: Subject,
    tally: PodTally,
    least: LeastSkew | None,
    revision: _Revision,
    context: AdviceContext,
) -> RuleViolation:
    """Report a skew that exceeds maxSkew."""
    spread, minimum = tally.spread, tally.minimum
    skew, most = tally.largest_skew, minimum + spread.max_skew
    full = sorted(value for value, pods in tally.pods.items() if pods > most)
    counts = [f"{value} has {tally.pods[value]} pods" for value in full]
    profile = revision.find_profile(tally)
    violation = RuleViolation(
        _locate(subject, tally),
        f"the skew over {quote_value(spread.topology_key)} is {skew}, maxSkew is "
        f"{spread.max_skew}: {join_names(counts)}, the minimum is {minimum} "
        f"({tally.minimum_reason})",
        _describe_least(least) + _describe_place(profile)
        if least
        else _suggest(
            subject.with_constraints(revision.constraints), tally, full, revision, context
        ),
        f"skew {skew} exceeds maxSkew {spread.max_skew}: {join_names(full)} too full",
    )
    return violation.by_defaults(profile) if profile else violation


def _describe_least(least: LeastSkew) -> str:
    """Say how far the skew can fall; a YAML comment."""
    return (
        f"# the hard constraint on {least.key} allows no skew below {least.skew}: raise this "
        f"maxSkew to {least.skew}, or relax the hard one"
    )


def _describe_place(profile: str) -> str:
    """Say where a constraint is to be changed, if that is not the object; end of a comment."""
    return f"; the constraint is in profile {profile}" if profile else ""


def _suggest(
    subject: Subject,
    tally: PodTally,
    full: Sequence[str],
    revision: _Revision,
    context: AdviceContext,
) -> str:
    """Suggest how to end a skew; ``full`` are the domains with too many pods."""
    constraint, cluster = tally.spread.constraint, context.cluster
    assert cluster is not None, "the rule runs in audits"
    place = _describe_place(revision.find_profile(tally))
    first = _suggest_first(subject, tally, revision, context)
    if _awaits_pods(subject) and not first:  # they raise no fixed minimum
        return suggest_placing(subject, suffices=_are_enough(subject, tally))
    if volumes_keep_pods(subject, constraint.topology_key, cluster):
        return _suggest_kept(subject, tally, revision.find_profile(tally), cluster, first)
    if about_others := suggest_about_others(subject, tally, cluster):
        return about_others + place
    if not any(carries_constraint(group, constraint) for group in subject.running):
        return AWAIT_ROLLOUT
    if first:
        return first + place
    return _suggest_evictions(subject, constraint, full, cluster, context)


def _suggest_evictions(
    subject: Subject,
    constraint: Constraint,
    full: Sequence[str],
    cluster: ClusterState,
    context: AdviceContext,
) -> str:
    """Suggest how to place pods anew that nothing else keeps uneven."""
    if volumes_limit_nodes(subject, cluster):
        return suggest_within_zones(subject)
    orders = read_orders(subject, context)
    may_stop = orders is not None and orders.all_fit() is False
    return suggest_evening(subject, constraint, full, context.gates, restart_may_stop=may_stop)


def _suggest_first(
    subject: Subject, tally: PodTally, revision: _Revision, context: AdviceContext
) -> str:
    """
    Suggest what to change before the skew can end.

    That is the minimum of the constraint, or of a hard one that stops new pods, or one of two hard
    ones that exclude each other.
    """
    keys = tuple(one.spread.topology_key for one in revision.hard)
    stopping = (
        one
        for one in revision.hard
        if one.spread.index != tally.spread.index and one.largest_skew > one.spread.max_skew
    )
    found = (suggest_raising(subject, one, keys, context) for one in (tally, *stopping))
    return next(filter(None, found), "") or suggest_relaxing(subject, context)


def _suggest_kept(
    subject: Subject, tally: PodTally, profile: str, cluster: ClusterState, first: str
) -> str:
    """Suggest how to end a skew of pods that their volumes keep in their domains."""
    instead = suggest_returning(subject, tally, cluster, first)
    if not profile or instead == suggest_moving():
        return instead
    is_comment = instead.startswith("#")
    return (
        instead + _describe_place(profile)
        if is_comment
        else f"# change the defaults of profile {profile}"
    )


def evens_out(subject: Subject, tally: PodTally) -> bool:
    """
    Whether the pods that a rollout has yet to create can end the skew.

    Args:
        tally: The pods that one of its constraints counts, without those that are replaced.
    """
    return any(group.replaced for group in subject.running) and _are_enough(subject, tally)


def _are_enough(subject: Subject, tally: PodTally) -> bool:
    """Whether the pods that have no node yet are enough to end a skew."""
    placed = sum(group.placed for group in subject.running if not group.replaced)
    awaited = (subject.replicas or 0) - placed
    least = max(tally.pods.values()) - tally.spread.max_skew
    lacking = (least - tally.pods.get(value, 0) for value in tally.domains.sizes)
    return sum(number for number in lacking if number > 0) <= awaited


def leave_out_replaced(subject: Subject, cluster: ClusterState) -> ClusterState:
    """Leave out the pods that a rollout is about to delete: what remains is what was rolled out."""
    replaced = [(group.pod.labels, group.nodes) for group in subject.running if group.replaced]
    if not replaced:
        return cluster
    census = cluster.census.leave_out(subject.namespace, replaced)
    return cluster.with_pods(census, cluster.members)


def _locate(subject: Subject, tally: PodTally) -> str:
    """Return the field of a maxSkew; the list if it is one of an older revision or of a profile."""
    index = tally.spread.index
    is_written = subject.constraints[index : index + 1] == (tally.spread.constraint,)
    return subject.field(index, "maxSkew") if is_written else subject.list_path


def _tally_revisions(
    subject: Subject, cluster: ClusterState, context: AdviceContext
) -> Iterator[_Revision]:
    """Yield the tallies of each set of constraints that pods have."""
    cluster = leave_out_replaced(subject, cluster)
    found: dict[object, tuple[Mapping[str, str], tuple[Constraint, ...], GivenDefaults]] = {}
    groups = [group for group in subject.running if not group.replaced]
    for group, given in zip(groups, list_defaults(groups, subject, context), strict=True):
        labels: Mapping[str, str] = group.pod.labels
        held = find_constraints(subject, labels)
        defaults = given if held is None else NOTHING_GIVEN
        constraints = (*subject.constraints, *defaults.constraints) if held is None else held
        # matchLabelKeys makes every revision count only its own pods, and so do the selectors of
        # defaults: a rollout has several sets.
        keys = {key for constraint in constraints for key in constraint.match_label_keys}
        values = tuple((key, labels.get(key)) for key in sorted(keys))
        written = msgspec.json.encode(defaults.constraints)
        found[held is None, values, written] = labels, constraints, defaults
    for labels, constraints, defaults in found.values():
        pod = replace(subject.next_pod, labels=labels)
        tallies = cluster.tallies(pod, constraints, context.gates)
        yield _Revision(constraints, tallies, *defaults)
