"""
The explanation of constraints: their domains with the pods there, and the nodes left out.

``explain_constraints`` is the entry point. Its structs are parts of the JSON output of ``evenspread
explain``.
"""

from collections.abc import Iterable, Iterator

import msgspec

from webhook.explain import sentences
from webhook.explain.rollout import unevenness
from webhook.explain.scenario import Scenario
from webhook.policy.model import DO_NOT_SCHEDULE, HONOR, IGNORE
from webhook.policy.placement.place import PodPlacement
from webhook.policy.placement.tallies import PodTally
from webhook.policy.placement.topology import Topology
from webhook.policy.selectors import render

NAMED_NODES = 3  # names of a group that are listed; few enough for one line


class NodeGroup(msgspec.Struct, frozen=True):
    """
    Nodes that are rejected for the same reason.

    Attributes:
        reason: The reason, in kube-scheduler's words where it has any.
        named: Names of the first ones, at most ``NAMED_NODES``.
    """

    reason: str
    nodes: int
    named: tuple[str, ...]


class DomainRow(msgspec.Struct, frozen=True, rename="camel"):
    """
    A value of a topology key, with its pods.

    Attributes:
        nodes: Number of eligible nodes; 0 if it is no domain.
        left_out: Number of ineligible nodes with the value.
        pods: Counted pods on the eligible nodes.
        skew: The skew if the pod went there; None for a soft constraint.
        fits: Whether the constraint allows that skew; always true for a soft one.
    """

    value: str
    nodes: int
    left_out: int
    pods: int
    skew: int | None
    fits: bool


class ConstraintExplanation(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """
    One constraint in force, and the pods that it counts.

    Attributes:
        index: Position in the list, from 0.
        min_domains: The value in force; at least 1.
        selector: Selector of the counted pods with matchLabelKeys merged; ``<none>`` counts none.
        selects_pod: Whether the selector matches the pod itself.
        global_minimum: Pods of the least full domain; 0 with fewer domains than minDomains.
        minimum_because: Why the minimum is what it is.
        pods: All counted pods on eligible nodes.
        unevenness: Pods of the fullest domain above the emptiest one; of a soft constraint, among
            the domains that the pod can go to.
        left_out: Ineligible nodes, the largest group first.
    """

    index: int
    topology_key: str
    when_unsatisfiable: str
    max_skew: int
    min_domains: int
    selector: str
    node_affinity_policy: str
    node_taints_policy: str
    selects_pod: bool
    global_minimum: int
    minimum_because: str
    pods: int
    unevenness: int
    domains: tuple[DomainRow, ...]
    left_out: tuple[NodeGroup, ...]


def explain_constraints(
    scenario: Scenario, placement: PodPlacement
) -> tuple[ConstraintExplanation, ...]:
    """Explain the constraints in force, in their order."""
    reached = placement.tallies.reachable(scenario.topology, scenario.pod.demands)
    pairs = zip(placement.tallies.by_index, reached.by_index, strict=True)
    return tuple(_explain_constraint(tally, unevenness(one), scenario) for tally, one in pairs)


def _explain_constraint(tally: PodTally, uneven: int, scenario: Scenario) -> ConstraintExplanation:
    spread = tally.spread
    return ConstraintExplanation(
        index=spread.index,
        topology_key=spread.topology_key,
        when_unsatisfiable=spread.constraint.when_unsatisfiable,
        max_skew=spread.max_skew,
        min_domains=spread.min_domains,
        selector="<none>" if spread.selector is None else render(spread.selector),
        node_affinity_policy=HONOR if spread.honors_affinity else IGNORE,
        node_taints_policy=HONOR if spread.honors_taints else IGNORE,
        selects_pod=tally.matches_pod,
        global_minimum=tally.minimum,
        minimum_because=sentences.explain_minimum(tally, scenario.names),
        pods=sum(tally.pods.values()),
        unevenness=uneven,
        domains=tuple(_list_domains(tally, scenario.topology)),
        left_out=group_nodes(
            (node, sentences.render_rejection(rejection))
            for node, rejection in tally.domains.left_out.items()
        ),
    )


def _list_domains(tally: PodTally, topology: Topology) -> Iterator[DomainRow]:
    sizes, left_out = tally.domains.sizes, tally.count_ineligible(topology)
    soft = tally.spread.constraint.when_unsatisfiable != DO_NOT_SCHEDULE
    for value in sorted({*sizes, *left_out}):
        yield DomainRow(
            value=value,
            nodes=sizes.get(value, 0),
            left_out=left_out[value],
            pods=tally.pods.get(value, 0),
            skew=None if soft else tally.skew(value),
            fits=soft or tally.fits(value),
        )


def group_nodes(pairs: Iterable[tuple[str, str]]) -> tuple[NodeGroup, ...]:
    """Group nodes with their reasons by the reasons, the largest group first."""
    groups: dict[str, list[str]] = {}
    for name, reason in pairs:
        groups.setdefault(reason, []).append(name)
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    return tuple(
        NodeGroup(reason, len(names), tuple(names[:NAMED_NODES])) for reason, names in ordered
    )
