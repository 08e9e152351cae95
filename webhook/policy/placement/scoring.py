"""
Filter nodes by the hard constraints of a pod, and score the rest by its soft constraints.

``filter_node`` judges one node; ``score_nodes`` takes the nodes that passed all filters. Counting
pods is not done here.

Source: kube-scheduler plugins/podtopologyspread/{filtering,scoring}.go.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import floor, log

import msgspec

from webhook.policy.model import HOSTNAME, Node
from webhook.policy.placement.spreads import SpreadConstraint
from webhook.policy.placement.tallies import PodTally
from webhook.policy.placement.topology import carries_keys


class FilterStatus(msgspec.Struct, frozen=True):
    """
    Result of the plugin's filter for one node.

    Attributes:
        spread: The first constraint in order that rejects the node; None if the node passes.
        skew: The skew that exceeds maxSkew; None if the node passes or lacks the topology key.
    """

    spread: SpreadConstraint | None = None
    skew: int | None = None

    @property
    def passes(self) -> bool:
        """Whether the pod may go to the node."""
        return self.spread is None


PASSES = FilterStatus()


def filter_node(node: Node, hard: tuple[PodTally, ...]) -> FilterStatus:
    """Apply the hard constraints to one node; without any it passes."""
    for tally in hard:
        spread = tally.spread
        value = node.labels.get(spread.topology_key)
        # A node without the key is in no domain.
        if value is None:
            return FilterStatus(spread)
        # The pod's own tolerations and affinity play no part here: a node that does not count can
        # still pass, by the pods of its domain. Other filters reject it if the pod cannot go there.
        skew = tally.skew(value)
        if skew > spread.max_skew:
            return FilterStatus(spread, skew)
    return PASSES


MAX_SCORE = 100  # of a node, framework ``MaxNodeScore``


class Scores(msgspec.Struct, frozen=True):
    """
    Scores of the nodes that passed the filters.

    Attributes:
        raw: Passing node -> raw score, at least 0, lower is better.
        normalized: Passing node -> 0 to 100, higher is better.

    Both are 0 for a node that is ignored because it lacks a topology key.
    """

    raw: Mapping[str, int]
    normalized: Mapping[str, int]

    @property
    def best(self) -> tuple[str, ...]:
        """Names of the nodes with the highest score, in order; empty if no node passes."""
        highest = max(self.normalized.values(), default=0)
        return tuple(name for name, points in self.normalized.items() if points == highest)


def score_nodes(
    soft: tuple[PodTally, ...], passing: Sequence[Node], *, requires_keys: bool
) -> Scores:
    """
    Score the nodes that passed all filters; O(nodes x constraints).

    Args:
        soft: The tallies of all soft constraints of the pod, in order; at least one.
        passing: The nodes; may be empty.
        requires_keys: Whether nodes that lack any of the topology keys are ignored.

    Source: scoring.go ``PreScore``, ``Score``.
    """
    keys = tuple(tally.spread.topology_key for tally in soft) if requires_keys else ()
    scored = [node for node in passing if carries_keys(node, keys)]
    weights = [(tally, _weigh(tally.spread.topology_key, scored)) for tally in soft]
    # Rounding comes after the sum over constraints. Ignored nodes take no part in the minimum and
    # maximum by which scores are normalized, and end with 0, the worst score.
    raw = {node.name: round_half_up(_add_scores(node, weights)) for node in scored}
    normalized = normalize_scores(raw)
    return Scores(
        {node.name: raw.get(node.name, 0) for node in passing},
        {node.name: normalized.get(node.name, 0) for node in passing},
    )


def _weigh(key: str, scored: Sequence[Node]) -> float:
    """
    Weigh each pod in a domain of a constraint.

    With few domains each one has many pods; the weight keeps constraints on such topology keys
    from outweighing those with many domains.

    Source: scoring.go ``initPreScoreState``, ``topologyNormalizingWeight``.
    """
    values = {node.labels.get(key, "") for node in scored}
    size = len(scored) if key == HOSTNAME else len(values)
    return log(size + 2)


def _add_scores(node: Node, weights: Iterable[tuple[PodTally, float]]) -> float:
    """
    Add up the raw score of a node.

    Source: scoring.go ``Score``, ``scoreForCount``.
    """
    total = 0.0
    for tally, weight in weights:
        value = node.labels.get(tally.spread.topology_key)
        if value is None:
            continue
        # For hostname kube-scheduler counts the pods of the node itself, so node inclusion
        # policies make no difference; for other keys, those on the domain's eligible nodes.
        if tally.spread.topology_key == HOSTNAME:
            pods = tally.by_node.get(node.name, 0)
        else:
            pods = tally.pods.get(value, 0)
        # A larger maxSkew makes the pod counts of this constraint matter less in the ratio of
        # two nodes' scores: it adds the same to both.
        total += pods * weight + (tally.spread.max_skew - 1)
    return total


def round_half_up(number: float) -> int:
    """
    Round a number that is not negative to the nearest integer, halves up.

    Source: Go math ``Round``, which for such numbers does the same.
    """
    whole = floor(number)
    return whole + (number - whole >= 0.5)  # noqa: PLR2004 - a half


def normalize_scores(raw: Mapping[str, int]) -> dict[str, int]:
    """
    Turn raw scores (lower is better) into scores of 0 to 100 (higher is better).

    Source: scoring.go ``NormalizeScore``.
    """
    low, high = min(raw.values(), default=0), max(raw.values(), default=0)
    if high == 0:  # no pod counts anywhere: all nodes are equally good
        return dict.fromkeys(raw, MAX_SCORE)
    return {name: MAX_SCORE * (high + low - number) // high for name, number in raw.items()}
