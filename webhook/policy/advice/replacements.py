"""
Rollouts of a StatefulSet whose pods return to the zones of their volumes: part of TSC119.

``judge_volumes`` is the entry point, ``suggest_returning`` serves TSC114, too. A constraint that
counts each revision apart counts none of the old pods, so whether the new ones fit depends on which
zone each ordinal returns to.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec
from msgspec.structs import replace

from webhook.policy.advice.context import AdviceContext, ClusterState
from webhook.policy.advice.counting import list_revision_keys
from webhook.policy.advice.fields import compares_revisions, correct_keys, suggest_keys
from webhook.policy.advice.findings import RuleViolation, count_of, join_names, quote_value
from webhook.policy.advice.fixedminimum import suggest_raising
from webhook.policy.advice.otherpods import (
    count_others,
    name_others,
    suggest_about_others,
    suggest_own_selector,
)
from webhook.policy.advice.repeats import suggest_soft
from webhook.policy.advice.restarts import suggest_moving
from webhook.policy.advice.subject import Subject
from webhook.policy.advice.volumes import ZONES, list_zonal_classes
from webhook.policy.model import DO_NOT_SCHEDULE, Constraint, Node
from webhook.policy.nextrevision import find_ordinals
from webhook.policy.placement.tallies import PodTally
from webhook.policy.selectors import selected_keys


class RejectedReplacement(msgspec.Struct, frozen=True):
    """
    The first new pod that cannot return to the zone of its volume.

    Attributes:
        name: Of the pod.
        zone: The zone that rejects it.
        before: New pods of the constraint's revision that run there by then.
        emptiest: The zone with the fewest of them.
        minimum: Their number there.
    """

    name: str
    zone: str
    before: int
    emptiest: str
    minimum: int

    @property
    def skew(self) -> int:
        """The skew with the pod in its zone."""
        return self.before + 1 - self.minimum


def judge_volumes(
    subject: Subject, cluster: ClusterState, context: AdviceContext
) -> Iterator[RuleViolation]:
    """
    Judge a rollout whose pods return to the zones of their volumes.

    In the end each zone has as many pods as now, all of them on nodes that count. A zone that then
    has too many rejects the last ones, whether or not revisions are counted apart: the minimum was
    no larger before.
    """
    classes = list_zonal_classes(subject, cluster)
    tallies = cluster.tally_known(subject.next_pod, subject.constraints, context.gates).hard
    keys = tuple(tally.spread.topology_key for tally in tallies)
    names = join_names([quote_value(found.name) for found in classes])
    kept = f"the volumes of StorageClass {names} keep the pods in their zones, and maxSkew"
    for tally in tallies if classes else ():
        if tally.spread.topology_key in ZONES and tally.matches_pod:
            raising = suggest_raising(subject, tally, keys, context) or ""
            returned = _return_all(subject, tally, cluster)
            yield from _judge_sizes(subject, returned, cluster, kept, raising) or _judge_order(
                subject, returned, cluster, kept
            )


def _return_all(subject: Subject, tally: PodTally, cluster: ClusterState) -> PodTally:
    """
    Count also the subject's pods that run on nodes which do not count.

    A node may have been cordoned, or tainted, after the pod came. Its successor runs in the same
    zone, on a node that the pod can go to.
    """
    nodes, key, values = cluster.topology.by_name, tally.spread.topology_key, tally.domains.values
    pods, added = Counter(tally.pods), dict[str, str]()
    for name, number in (item for group in subject.running for item in group.nodes.items()):
        zone = nodes[name].labels.get(key, "") if name in nodes else ""
        if name not in values and zone in tally.domains.sizes:
            pods[zone] += number
            added[name] = zone
    domains = replace(tally.domains, values={**values, **added})
    return replace(tally, pods=pods).within(domains)


def _judge_sizes(
    subject: Subject, tally: PodTally, cluster: ClusterState, kept: str, raising: str
) -> list[RuleViolation]:
    """Find the zones that have too many pods when all are back."""
    key, most = tally.spread.topology_key, tally.minimum + tally.spread.max_skew
    own = {node.labels.get(key) for node in cluster.topology.nodes if _runs_on(subject, node)}
    full = sorted(value for value, pods in tally.pods.items() if pods > most and value in own)
    if not full:
        return []
    return [
        RuleViolation(
            subject.field(tally.spread.index, "maxSkew"),
            f"no rollout can finish: {kept} {tally.spread.max_skew} lets no zone take back more "
            f"than {count_of(most, 'pod')}: {_describe_zones(full, subject, tally)}, the minimum "
            f"is {tally.minimum} ({tally.minimum_reason})"
            f"{_describe_others(subject, tally, cluster)}",
            suggest_returning(subject, tally, cluster, raising),
            "no rollout can finish: a new pod cannot return to the zone of its volume",
        )
    ]


def suggest_returning(subject: Subject, tally: PodTally, cluster: ClusterState, first: str) -> str:
    """
    Suggest how pods that their volumes keep in their domains become even; YAML or a comment.

    The data is not to be moved because of pods of other workloads that a constraint counts, nor
    while no pod can go to the domains with the fewest.

    Args:
        tally: The pods of a constraint that does not hold.
        first: What to change before data is moved, a YAML comment; empty for nothing.
    """
    constraint = tally.spread.constraint
    is_hard = constraint.when_unsatisfiable == DO_NOT_SCHEDULE
    return (
        suggest_own_selector(subject, tally, cluster)
        or suggest_about_others(subject, tally, cluster)
        or first
        or suggest_moving(suggest_soft(constraint, subject) if is_hard else "")
    )


def _describe_zones(full: list[str], subject: Subject, tally: PodTally) -> str:
    """Describe how many pods some zones have, and how many of them are of other workloads."""
    others = count_others(subject, tally)
    counts = {value: count_of(tally.pods[value], "pod") for value in full}
    return join_names(
        [
            f"{value} has {pods}" + (f" ({others[value]} of others)" if others[value] else "")
            for value, pods in counts.items()
        ]
    )


def _describe_others(subject: Subject, tally: PodTally, cluster: ClusterState) -> str:
    """Name the other workloads that are counted; the end of a problem."""
    names = name_others(subject, tally, cluster)
    if not names:
        return ""
    fits = suggest_own_selector(subject, tally, cluster) is not None
    alone = ", without which maxSkew lets all its own pods return" if fits else ""
    return f"; the labelSelector also counts pods of {names}{alone}"


def _judge_order(
    subject: Subject, tally: PodTally, cluster: ClusterState, kept: str
) -> list[RuleViolation]:
    """Find the first pod that does not fit among the new ones, if only these are counted."""
    constraint = tally.spread.constraint
    stop = None
    if compares_revisions(constraint, subject):
        stop = _find_stop(subject, tally, cluster.topology.nodes)
    if stop is None:
        return []
    return [
        RuleViolation(
            subject.field(tally.spread.index, "matchLabelKeys"),
            f"no rollout can finish: {kept} {tally.spread.max_skew} counts the new pods only, from "
            f"the last ordinal to the first: {stop.name} returns to {stop.zone}, which has "
            f"{count_of(stop.before, 'new pod')} by then, and {stop.emptiest} has {stop.minimum}",
            _suggest(constraint, subject),
            "no rollout can finish: a new pod cannot return to the zone of its volume",
        )
    ]


def _runs_on(subject: Subject, node: Node) -> bool:
    return any(node.name in group.nodes for group in subject.running)


def _suggest(constraint: Constraint, subject: Subject) -> str:
    """Suggest to count all revisions together."""
    apart = list_revision_keys(subject)
    selected = selected_keys(constraint.label_selector).intersection(apart)
    if selected:
        return f"# leave {', '.join(sorted(selected))} out of labelSelector"
    return suggest_keys([key for key in correct_keys(constraint, subject) if key not in apart])


def _find_stop(
    subject: Subject, tally: PodTally, nodes: Iterable[Node]
) -> RejectedReplacement | None:
    """
    Replace the pods from the last ordinal to the first; each waits until the one before it runs.

    Args:
        tally: Of a constraint that counts each revision apart; its pods fit as they are now.

    Returns:
        None if all pods are replaced, or if the order is not known: a pod has no ordinal, a zone is
        unknown, or several pods may be missing at a time.

    Source: pkg/controller/statefulset stateful_set_control.go
    ``updateStatefulSetAfterInvariantEstablished``.
    """
    limits, replicas = subject.limits, subject.replicas or 0
    if limits is None or limits.resolve(replicas).unavailable > 1:
        return None
    homes = dict(_find_homes(subject, tally.spread.topology_key, nodes))
    if len(homes) != replicas or len(tally.domains.sizes) < tally.spread.min_domains:
        return None
    pods = Counter(dict.fromkeys(sorted(tally.domains.sizes), 0))
    for _, (name, zone) in sorted(homes.items(), reverse=True):
        emptiest = min(pods, key=lambda value: pods[value])
        found = RejectedReplacement(name, zone, pods[zone], emptiest, pods[emptiest])
        if found.skew > tally.spread.max_skew:
            return found
        pods.update(tally.domains.sizes.keys() & {zone})
    return None


def _find_homes(
    subject: Subject, key: str, nodes: Iterable[Node]
) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield the ordinal of each pod, with its name and the zone of its volume."""
    zones = {node.name: node.labels[key] for node in nodes if key in node.labels}
    for group in subject.running:
        metadata = group.pod.metadata
        name = metadata.name if metadata and group.number == 1 else ""
        for ordinal in find_ordinals([name]):
            yield from ((ordinal, (name, zones[node])) for node in group.nodes if node in zones)
