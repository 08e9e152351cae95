"""
How the soft constraints of a pod rank the nodes that passed.

Source: kube-scheduler plugins/podtopologyspread/scoring.go.
"""

from collections.abc import Mapping, Sequence
from math import floor, log

import msgspec

from webhook.policy.defaulting.profiles import HOSTNAME
from webhook.policy.model import Node
from webhook.policy.placement.tallies import PodTally
from webhook.policy.placement.topology import carries_keys

MAX_SCORE = 100  # of a node, framework ``MaxNodeScore``


class ConstraintWeight(msgspec.Struct, frozen=True):
    """
    What one soft constraint adds to the scores.

    Attributes:
        tally: The pods it counts.
        size: Number of its domains among the scored nodes; for hostname their own number.
        weight: What a pod in a domain counts, ln(size + 2); it keeps small topologies, in which
            each domain has many pods, from drowning large ones.
    """

    tally: PodTally
    size: int
    weight: float


class Scores(msgspec.Struct, frozen=True):
    """
    How the passing nodes rank.

    Attributes:
        weighings: One for each soft constraint, in order.
        ignored: Names of passing nodes that lack a topology key and are not ranked.
        raw: Passing node -> raw score, at least 0; fewer are better; 0 if ignored.
        normalised: Passing node -> 0 to 100; more are better; 0 if ignored.
    """

    weighings: tuple[ConstraintWeight, ...]
    ignored: frozenset[str]
    raw: Mapping[str, int]
    normalised: Mapping[str, int]


def score_nodes(
    soft: tuple[PodTally, ...], passing: Sequence[Node], *, requires_keys: bool
) -> Scores:
    """
    Rank the nodes that passed all filters; O(nodes x constraints).

    Args:
        soft: The tallies of all soft constraints of the pod, in order; at least one.
        passing: May be empty.
        requires_keys: Whether nodes that lack a topology key of any of them are ignored.

    Source: scoring.go ``PreScore``, ``Score``.
    """
    keys = tuple(tally.spread.topology_key for tally in soft) if requires_keys else ()
    ranked = [node for node in passing if carries_keys(node, keys)]
    weighings = tuple(_weigh(tally, ranked) for tally in soft)
    raw = {node.name: round_half_up(_sum(node, weighings)) for node in ranked}
    normalised = normalize_scores(raw)
    return Scores(
        weighings,
        frozenset(node.name for node in passing if node.name not in raw),
        {node.name: raw.get(node.name, 0) for node in passing},
        {node.name: normalised.get(node.name, 0) for node in passing},
    )


def _weigh(tally: PodTally, ranked: Sequence[Node]) -> ConstraintWeight:
    """Source: scoring.go ``initPreScoreState``, ``topologyNormalizingWeight``."""
    key = tally.spread.topology_key
    values = {node.labels.get(key, "") for node in ranked}
    size = len(ranked) if key == HOSTNAME else len(values)
    return ConstraintWeight(tally, size, log(size + 2))


def _sum(node: Node, weighings: tuple[ConstraintWeight, ...]) -> float:
    """Source: scoring.go ``Score``, ``scoreForCount``."""
    total = 0.0
    for weighing in weighings:
        tally = weighing.tally
        value = node.labels.get(tally.spread.topology_key)
        if value is None:
            continue
        if tally.spread.topology_key == HOSTNAME:
            pods = tally.by_node.get(node.name, 0)
        else:
            pods = tally.pods.get(value, 0)
        total += pods * weighing.weight + (tally.spread.max_skew - 1)
    return total


def round_half_up(number: float) -> int:
    """
    The nearest integer to a number that is not negative; a half goes up.

    Source: Go math ``Round``, which for such numbers does the same.
    """
    whole = floor(number)
    return whole + (number - whole >= 0.5)  # noqa: PLR2004 - a half


def normalize_scores(raw: Mapping[str, int]) -> dict[str, int]:
    """
    Turn raw scores, of which fewer are better, into scores of 0 to 100, of which more are.

    Args:
        raw: Name of each ranked node -> raw score, at least 0; may be empty.

    Source: scoring.go ``NormalizeScore``.
    """
    low, high = min(raw.values(), default=0), max(raw.values(), default=0)
    if high == 0:
        return dict.fromkeys(raw, MAX_SCORE)
    return {name: MAX_SCORE * (high + low - number) // high for name, number in raw.items()}
