"""
Scaling down with ranks: what a ReplicaSet controller removes now, and if all pods had ranks.

``report_ranks`` is the entry point. Ranks are deletion costs that keep the spread, see
``policy.scaledown``.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from webhook.explain.keynames import KeyNames
from webhook.explain.removal import RemovalOrder, WorkloadPods
from webhook.explain.removalorder import is_ready
from webhook.explain.replicaskew import SkewChange, describe_range
from webhook.explain.rollout import (
    RankedRemoval,
    RemovedPod,
    Rollout,
    ScaleDownReport,
    roll_out,
)
from webhook.explain.scenario import Scenario
from webhook.policy.advice.findings import count_of
from webhook.policy.placement.spreads import SpreadConstraints
from webhook.policy.scaledown.domain import ranking_key
from webhook.policy.scaledown.forecast import ForecastRank, rank_of, rank_pods


def report_ranks(
    rollout: Rollout,
    scenario: Scenario,
    running: Mapping[str, int],
    pods: WorkloadPods | None,
    *,
    configured: bool,
) -> Rollout:
    """
    Add to a rollout what ranks change in it.

    Nothing is added if no pod is removed, if another controller than that of ReplicaSets removes
    them, or if the pods have no constraint of their own.

    Args:
        rollout: From ``roll_out`` with the other arguments.
        scenario: The workload's next pod, and the cluster before.
        running: Node name -> pods of the workload that run there now.
        pods: The same pods, with what decides on their removal.
        configured: Whether the profile of the pods has ``scaleDown: KeepSpread``.
    """
    key = _find_key(scenario.spreads)
    if not (key and rollout.removed and pods and pods.order is RemovalOrder.REPLICA_SET):
        return rollout
    domains = {node.name: node.labels.get(key, "") for node in scenario.topology.nodes}
    present = [ForecastRank(pod, rank_of(pod)) for pod in pods.pods]
    removed = _list_removed(rollout.removed, present, domains)
    forecast = rank_pods(pods.pods, domains)
    after: RankedRemoval | None = None
    if forecast != present:
        ranked = replace(pods, pods=tuple(one.pod for one in forecast))
        then, *_ = roll_out(scenario, rollout.edits, rollout.replicas, running, ranked)
        after = RankedRemoval(
            _list_removed(then.removed, forecast, domains), then.skews, then.notes
        )
    has_rank = sum(one.rank is not None for one in present)
    report = ScaleDownReport(
        sentence=_summarize(
            (key, scenario.names),
            rollout,
            after,
            (has_rank, len(pods.pods)),
            configured=configured,
        ),
        topology_key=key,
        configured=configured,
        pods=len(pods.pods),
        ranked=has_rank,
        removed=removed,
        notes=tuple(_describe_unready(removed)),
        with_ranks=after,
    )
    return replace(rollout, scale_down=report)


def _find_key(spreads: SpreadConstraints) -> str:
    """Find the key of the ranks; empty if only kube-scheduler adds constraints, which none sees."""
    if spreads.defaulted:
        return ""
    return ranking_key([spread.constraint for spread in spreads.by_index])


def _list_removed(
    names: Sequence[str], pods: Sequence[ForecastRank], domains: Mapping[str, str]
) -> tuple[RemovedPod, ...]:
    some_are_ready = any(is_ready(one.pod) for one in pods)
    known = {one.pod.metadata.name or "": one for one in pods}
    return tuple(
        RemovedPod(
            name=name,
            node=(node := known[name].pod.spec.node_name or ""),
            domain=domains.get(node, ""),
            rank=known[name].rank,
            goes_first=some_are_ready and not is_ready(known[name].pod),
        )
        for name in names
    )


def _summarize(
    named: tuple[str, KeyNames],
    rollout: Rollout,
    after: RankedRemoval | None,
    counts: tuple[int, int],
    *,
    configured: bool,
) -> str:
    """Summarize the ranks by a key; ``counts`` are the pods that have one, and all pods."""
    (key, names), (ranked, pods) = named, counts
    have = f"{ranked} of {count_of(pods, 'pod')} {'has' if ranked == 1 else 'have'} a rank"
    have = f"{have} by {names.short(key)}"
    if after is None:
        return have if ranked == pods else f"{have}, and the others cannot get one"
    source = "new pods get one" if configured else "scaleDown: KeepSpread gives new pods one"
    pairs = zip(rollout.skews, after.skews, strict=True)
    skews = ", ".join(_compare_skews(now, then, names) for now, then in pairs)
    return f"{have}, and {source}; if all had one, {skews}"


def _compare_skews(now: SkewChange, then: SkewChange, names: KeyNames) -> str:
    before, after = (describe_range(skew.after, skew.bounds) for skew in (now, then))
    rest = " as well" if before == after else f" instead of {before}"
    return f"skew of {names.short(then.topology_key)} {then.before} -> {after}{rest}"


def _describe_unready(removed: Sequence[RemovedPod]) -> Iterator[str]:
    number = sum(pod.goes_first for pod in removed)
    if number:
        verb = "is" if number == 1 else "are"
        yield (
            f"{number} of {count_of(len(removed), 'removed pod')} {verb} not ready: such pods go "
            "first, whatever their rank"
        )
