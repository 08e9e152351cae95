"""Rules about the number of replicas: too few for a constraint to matter, too many for two."""

from collections.abc import Iterator
from itertools import permutations

from webhook.policy.advice.counting import counts_itself, hard_spreads, known_selectors, strangers
from webhook.policy.advice.feasibility import MOST_REPLICAS, Limit, fits
from webhook.policy.advice.findings import Remark, shown
from webhook.policy.advice.flow import member
from webhook.policy.advice.grounds import Grounds, Nesting, Survey
from webhook.policy.advice.subject import Subject
from webhook.policy.placement.nodes import Demands
from webhook.policy.placement.spreads import Spread


def skew_can_bind(subject: Subject, grounds: Grounds) -> Iterator[Remark]:
    """
    TSC112: a domain can never hold more pods above another than there are pods.

    A soft constraint prefers the emptier domain whatever its maxSkew, and a selector that counts
    others counts more pods than the replicas: of both there is nothing to say.
    """
    replicas = subject.replicas or 0
    if subject.is_alone or replicas <= 1:
        return
    loose = [each for each in hard_spreads(subject, grounds) if each.max_skew >= replicas]
    selectors = known_selectors(subject, grounds.gates) if loose else []
    for spread in loose:
        if not counts_itself(spread.constraint, subject, grounds.gates):
            continue
        if grounds.survey and strangers(subject, selectors[spread.index], grounds.survey):
            continue
        yield Remark(
            subject.field(spread.index, "maxSkew"),
            f"maxSkew {spread.max_skew} allows all {replicas} replicas in one domain: the "
            "constraint keeps a pod from no domain",
            member("maxSkew", 1),
            f"maxSkew {spread.max_skew} allows all {replicas} replicas in one domain",
        )


def constraints_agree(subject: Subject, grounds: Grounds) -> Iterator[Remark]:
    """TSC109: where zones differ in size, even zones and even nodes may exclude each other."""
    replicas, survey = subject.replicas or 0, grounds.survey
    if survey is None or subject.is_alone or not 1 < replicas <= MOST_REPLICAS:
        return
    asked = hard_spreads(subject, grounds)
    if not asked[1:]:
        return  # as of most workloads
    selectors = known_selectors(subject, grounds.gates)
    hard = [
        each
        for each in asked
        if (selector := selectors[each.index]) and not strangers(subject, selector, survey)
    ]
    for outer, inner in permutations(hard, 2):
        nesting = _nesting(outer, inner, subject, survey)
        if nesting is None or _agree(replicas, nesting, outer, inner):
            continue
        yield Remark(
            subject.field(inner.index),
            f"there is no way to place {replicas} replicas so that {shown(outer.topology_key)} "
            f"keeps maxSkew {outer.max_skew} and {shown(inner.topology_key)} keeps maxSkew "
            f"{inner.max_skew}, though each alone can be kept",
            _relaxed(replicas, nesting, outer, inner),
            f"{replicas} replicas cannot keep this and entry {outer.index} at once",
        )


def _nesting(outer: Spread, inner: Spread, subject: Subject, survey: Survey) -> Nesting | None:
    counting, other = (_counting(each, subject) for each in (outer, inner))
    if outer.topology_key == inner.topology_key or counting != other:
        return None  # different nodes count for the two
    return survey.nest(outer.topology_key, inner.topology_key, subject.demands, counting)


def _counting(spread: Spread, subject: Subject) -> Demands:
    return subject.demands.honoring(affinity=spread.honors_affinity, taints=spread.honors_taints)


def _agree(replicas: int, nesting: Nesting, outer: Spread, inner: Spread) -> bool:
    zones, nodes = _limits(nesting, outer, inner)
    return (
        fits(replicas, nesting.shapes, zones, nodes)
        or not fits(replicas, nesting.shapes, zones, None)
        or not fits(replicas, nesting.shapes, None, nodes)
    )


def _limits(nesting: Nesting, outer: Spread, inner: Spread) -> tuple[Limit, Limit]:
    return (
        Limit(outer.max_skew, nesting.outer >= outer.min_domains),
        Limit(inner.max_skew, nesting.inner >= inner.min_domains),
    )


def _relaxed(replicas: int, nesting: Nesting, outer: Spread, inner: Spread) -> str:
    """The smallest maxSkew of the inner constraint with which the two agree."""
    zones, nodes = _limits(nesting, outer, inner)
    wider = range(inner.max_skew + 1, replicas)
    enough = (
        skew
        for skew in wider
        if fits(replicas, nesting.shapes, zones, nodes._replace(max_skew=skew))
    )
    return member("maxSkew", next(enough, replicas))
