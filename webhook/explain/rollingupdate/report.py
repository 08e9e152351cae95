"""
The result of a simulated rolling update: ``RolloutForecast`` and its sentence.

Nothing is simulated here; see ``simulation``.
"""

from collections.abc import Sequence

import msgspec

from webhook.explain.keynames import KeyNames
from webhook.explain.replicaskew import describe_skew
from webhook.explain.rollout import describe_edits
from webhook.explain.scenario import ScenarioEdit
from webhook.policy.advice.findings import count_of


class RolloutDomain(msgspec.Struct, frozen=True):
    """
    The pods of the workload in a domain; ``value`` is empty for nodes without the key.

    Attributes:
        old: Pods of older revisions.
        new: Pods of the new revision.
    """

    value: str
    old: int
    new: int


class RolloutStep(msgspec.Struct, frozen=True):
    """
    A step of a rolling update: the controllers act, and kube-scheduler places what it can.

    Attributes:
        action: What the controllers do, as ``new 0 -> 1, old 3 -> 2``.
        old: Pods of older revisions after it, with a node or without.
        new: Pods of the new revision that have a node.
        pending: Those that have none.
        domains: The pods that have a node, by the domains of ``RolloutForecast.topology_key``.
    """

    action: str
    old: int
    new: int
    pending: int
    domains: tuple[RolloutDomain, ...]


class RolloutSkew(msgspec.Struct, frozen=True, rename="camel"):
    """
    The counted pods of the fullest domain above those of the emptiest one.

    Attributes:
        index: Position of the constraint in its list, from 0.
        before: At the start, as the constraint of the old pods counts them.
        after: At the end, with the first choices.
        least: At the end of any rolling update that was tried.
        most: The same.
        replicas_before: The skew of the workload's own pods at the start, counted or not.
        replicas_after: The same at the end, with the first choices.
    """

    index: int
    topology_key: str
    before: int
    after: int
    least: int
    most: int
    replicas_before: int = 0
    replicas_after: int = 0


class StopBounds(msgspec.Struct, frozen=True):
    """Numbers of new pods that have a node where rolling updates that were tried stop."""

    least: int
    most: int


class RolloutForecast(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """
    The result of a rolling update.

    Attributes:
        strategy: How pods are replaced, as ``maxSurge 1, maxUnavailable 0``.
        topology_key: The key whose domains the steps show; empty without constraints.
        start: The pods before the first step.
        steps: Those with the first choices: the node with the fewest counted pods of those with
            the highest score.
        finishes: Whether it finishes with these choices.
        can_finish: Whether it finishes with some choices that were tried.
        can_stop: Whether it stops with some choices that were tried.
        all_tried: Whether all choices were tried.
        reason: Why it stops; empty if it finishes with the first choices.
        stops_with: With how many new pods it stops; None if it finishes with all choices.
        skews: One for each constraint, in order.
        notes: What is supposed, or not determined; sentences.
    """

    sentence: str
    edits: tuple[ScenarioEdit, ...]
    strategy: str
    replicas: int
    topology_key: str
    start: RolloutStep
    steps: tuple[RolloutStep, ...]
    finishes: bool
    can_finish: bool
    can_stop: bool
    all_tried: bool
    reason: str
    stops_with: StopBounds | None
    skews: tuple[RolloutSkew, ...]
    notes: tuple[str, ...] = ()


def summarize_forecast(forecast: RolloutForecast, names: KeyNames) -> str:
    """Summarize a forecast, whose sentence is ignored; ``names`` are those of label keys."""
    given = f"{describe_edits(forecast.edits, names)}: " if forecast.edits else ""
    replicas = count_of(forecast.replicas, "replica")
    fate = f"a rollout of {replicas} ({forecast.strategy}) {_describe_fate(forecast)}"
    because = f": {forecast.reason}" if forecast.reason else _describe_skews(forecast.skews, names)
    return f"{given}{fate}{_describe_choices(forecast)}{because}"


def _describe_fate(forecast: RolloutForecast) -> str:
    number = len(forecast.steps)
    if forecast.finishes:
        return f"finishes in {count_of(number, 'step')}"
    last = forecast.steps[-1] if forecast.steps else forecast.start
    where = f"stops at step {number}" if number else "does not start"
    bounds = forecast.stops_with
    others = f" ({bounds.least} to {bounds.most})" if bounds and bounds.least < bounds.most else ""
    return f"{where}, with {last.new}{others} of {count_of(forecast.replicas, 'new pod')}"


def _describe_choices(forecast: RolloutForecast) -> str:
    """Describe whether the same happens with other choices."""
    is_same = not forecast.can_stop if forecast.finishes else not forecast.can_finish
    if is_same:
        return "" if forecast.all_tried else ", as with all other choices that were tried"
    other = "stops" if forecast.finishes else "finishes"
    return f", but {other} with other choices"


def _describe_skews(skews: Sequence[RolloutSkew], names: KeyNames) -> str:
    return "".join(_describe_skew(skew, names.short(skew.topology_key)) for skew in skews)


def _describe_skew(skew: RolloutSkew, name: str) -> str:
    counted = f"{skew.before} -> {_describe_range(skew)}"
    own = f"{skew.replicas_before} -> {skew.replicas_after}"
    # The range of the own pods' skew is not known.
    return describe_skew(name, counted if skew.least < skew.most else own, counted)


def _describe_range(skew: RolloutSkew) -> str:
    if skew.least == skew.most:
        return f"{skew.after}"
    return f"{skew.after} ({skew.least} to {skew.most})"
