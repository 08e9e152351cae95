"""
Candidate changes of a pod and of nodes, the smallest first; ``changes`` tries whether they help.

Each function inverts one question of kube-scheduler's filters: which change would make a rejected
node pass. ``combine_changes`` joins changes of the pod with changes of one node.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from webhook.explain.keynames import SHORT_NAMES
from webhook.explain.nodeedits import LabelNode, Uncordon
from webhook.explain.podedits import (
    AffinityKind,
    DropPodAffinity,
    find_excess,
    free_port,
    leaves_some,
    measure_excess,
)
from webhook.explain.scenario import (
    DropAffinity,
    DropSelector,
    HonorPolicy,
    LowerMinDomains,
    RaiseMaxSkew,
    Scenario,
    ScenarioEdit,
    Tolerate,
    apply_all,
)
from webhook.policy.model import AFFINITY_POLICY, HOSTNAME, TAINTS_POLICY, Node, Taint
from webhook.policy.placement.filters.nodefilters import CORDON, PORTS, RESOURCES, find_conflicts
from webhook.policy.placement.filters.run import LAST
from webhook.policy.placement.nodeaffinity import term_matches
from webhook.policy.placement.nodes import UNSCHEDULABLE, find_untolerated
from webhook.policy.placement.passingtaints import is_passing
from webhook.policy.placement.place import PodPlacement
from webhook.policy.placement.tallies import MinimumReason, PodTally
from webhook.policy.placement.topology import carries_keys

Edits: TypeAlias = tuple[ScenarioEdit, ...]
"""Edits that belong together."""

MOST_TOGETHER = 16  # nodes that one candidate changes; more would be a different cluster


def raise_max_skew(scenario: Scenario, placement: PodPlacement) -> Iterator[Edits]:
    """
    Raise the maxSkew of constraints until a node passes that nothing else rejects.

    A maxSkew does not change which nodes and pods count, so this is exact. For every set of
    constraints it yields the smallest total raise, sets of few constraints first.
    """
    hard = placement.tallies.hard
    keys = tuple(tally.spread.topology_key for tally in hard)
    least: dict[tuple[int, ...], tuple[RaiseMaxSkew, ...]] = {}
    for node in scenario.topology.nodes:
        if node.name in placement.refused or not carries_keys(node, keys):
            continue
        raises = raises_for(node, hard)
        indexes = tuple(edit.index for edit in raises)
        if indexes and (indexes not in least or _total(raises) < _total(least[indexes])):
            least[indexes] = raises
    yield from sorted(least.values(), key=lambda raises: (len(raises), _total(raises)))


def raises_for(node: Node, hard: Sequence[PodTally]) -> tuple[RaiseMaxSkew, ...]:
    """List the raises that make a node pass, which has the topology keys of all constraints."""
    return tuple(
        RaiseMaxSkew(spread.index, spread.topology_key, spread.max_skew, skew)
        for tally in hard
        if (skew := tally.skew(node.labels[(spread := tally.spread).topology_key]))
        > spread.max_skew
    )


def lower_min_domains(_: Scenario, placement: PodPlacement) -> Iterator[Edits]:
    """Lower every minDomains that exceeds the number of domains, alone and then together."""
    yield from alone_and_together(
        [
            LowerMinDomains(spread.index, spread.topology_key, spread.min_domains, found)
            for tally in placement.tallies.hard
            if tally.minimum_reason is MinimumReason.TOO_FEW_DOMAINS
            for spread, found in [(tally.spread, len(tally.domains.sizes))]
        ]
    )


def honor(scenario: Scenario, placement: PodPlacement) -> Iterator[Edits]:
    """Honor taints or affinity in a hard constraint that ignores them; then in all of them."""
    if not scenario.node_policies:
        return
    spreads = [tally.spread for tally in placement.tallies.hard]
    ignored = [(spread, TAINTS_POLICY) for spread in spreads if not spread.honors_taints]
    ignored += [(spread, AFFINITY_POLICY) for spread in spreads if not spread.honors_affinity]
    yield from alone_and_together(
        [HonorPolicy(spread.index, spread.topology_key, policy) for spread, policy in ignored]
    )


def tolerate(scenario: Scenario, _: PodPlacement) -> Iterator[Edits]:
    """
    Tolerate the taints of one node, those with few taints first; then all taints.

    Nodes with a taint for a state that passes are skipped, such as one that is not ready. For
    cordoned nodes, ``uncordon`` is the remedy.
    """
    sets = {untolerated_taints(node, scenario): None for node in scenario.topology.nodes}
    ordered = sorted((taints for taints in sets if taints and not _has_passing(taints)), key=len)
    yield from (tuple(map(Tolerate, taints)) for taints in ordered)
    yield tuple(map(Tolerate, dict.fromkeys(taint for taints in ordered for taint in taints)))


def _has_passing(taints: Iterable[Taint]) -> bool:
    """Whether a taint is for a state of the node that passes, which no pod should tolerate."""
    return any(is_passing(taint.key) for taint in taints)


def untolerated_taints(node: Node, scenario: Scenario) -> tuple[Taint, ...]:
    """List all taints of a node that reject the pod."""
    tolerations = scenario.pod.demands.tolerations or ()
    return tuple(taint for taint in node.taints if find_untolerated((taint,), tolerations))


def loosen_selector(scenario: Scenario, _: PodPlacement) -> Iterator[Edits]:
    """Drop one label of the nodeSelector, or the required affinity; then all of them."""
    demands = scenario.pod.demands
    edits: list[ScenarioEdit] = [DropSelector(*label) for label in scenario.own_labels]
    if demands.terms is not None and not _is_pinned(scenario):
        edits.append(DropAffinity())
    yield from alone_and_together(edits)


def _is_pinned(scenario: Scenario) -> bool:
    """Whether the affinity names one node, as that of every pod of a DaemonSet does."""
    names = scenario.pod.required_names
    return names is not None and len(names) == 1


def lower_requests(scenario: Scenario, placement: PodPlacement) -> Iterator[Edits]:
    """Lower the requests to what a node has free, by little first."""
    found = {
        edits: None
        for name, rejection in placement.refused.items()
        if rejection.plugin == RESOURCES
        and leaves_some(edits := find_excess(scenario, name), scenario.pod)
    }
    yield from sorted(found, key=lambda edits: (len(edits), measure_excess(edits)))


def drop_ports(scenario: Scenario, placement: PodPlacement) -> Iterator[Edits]:
    """Let the pod take one host port less, then none of them, if ports reject a node."""
    if PORTS in placement.refused.values():
        ports = scenario.pod.ports
        yield from alone_and_together(
            [free_port(one, host_network=scenario.host_network) for one in ports]
        )


def loosen_pod_affinity(scenario: Scenario, placement: PodPlacement) -> Iterator[Edits]:
    """Drop the required affinity to pods, the anti-affinity, then both, if they reject a node."""
    if rejects_by_pods(placement):
        yield from alone_and_together(_list_pod_affinity(scenario))


def rejects_by_pods(placement: PodPlacement) -> bool:
    """Whether affinity to pods rejects a node."""
    return any(rejection.plugin == LAST for rejection in placement.refused.values())


def _list_pod_affinity(scenario: Scenario) -> list[ScenarioEdit]:
    pod = scenario.pod
    terms = {AffinityKind.AFFINITY: pod.affinity, AffinityKind.ANTI_AFFINITY: pod.anti_affinity}
    return [DropPodAffinity(kind) for kind, found in terms.items() if found]


def alone_and_together(edits: Sequence[ScenarioEdit]) -> Iterator[Edits]:
    """Yield every edit on its own, then all of them together."""
    yield from ((edit,) for edit in edits)
    if len(edits) > 1:
        yield tuple(edits)


def _total(raises: Sequence[RaiseMaxSkew]) -> int:
    return sum(edit.after - edit.before for edit in raises)


def uncordon(scenario: Scenario, placement: PodPlacement) -> Iterator[Edits]:
    """Uncordon one node of every kind; then all of those."""
    cordoned = (
        node for node in scenario.topology.nodes if placement.refused.get(node.name) == CORDON
    )
    chosen = _distinct_nodes(cordoned, placement)
    yield from alone_and_together([Uncordon(node.name) for node in chosen[:MOST_TOGETHER]])


def label_nodes(scenario: Scenario, placement: PodPlacement) -> Iterator[Edits]:
    """Label a node that lacks keys, for the emptiest domain or a new one; then several nodes."""
    hard = placement.tallies.hard
    keys = tuple(dict.fromkeys(tally.spread.topology_key for tally in hard))
    lacking = [
        node
        for node in scenario.topology.nodes
        if node.name not in placement.refused and any(key not in node.labels for key in keys)
    ]
    for node in _distinct_nodes(lacking, placement):
        for values in (find_emptiest(hard), {}):
            yield (LabelNode(node.name, _missing_labels(node, keys, values)),)
    several = tuple(
        LabelNode(node.name, _missing_labels(node, keys, {}, number))
        for number, node in enumerate(lacking[:MOST_TOGETHER], start=1)
    )
    yield from (several[:number] for number in range(2, len(several) + 1))


def combine_changes(scenario: Scenario, placement: PodPlacement) -> Iterator[Edits]:
    """Combine all changes that one node needs; nodes with few changes first."""
    hard = placement.tallies.hard
    keys = tuple(dict.fromkeys(tally.spread.topology_key for tally in hard))
    nodes = scenario.topology.nodes
    ordered = sorted(nodes, key=lambda node: measure_excess(find_excess(scenario, node.name)))
    chosen = _distinct_nodes(ordered, placement)
    needed = [
        (edits, node.name)
        for node in chosen
        if (edits := _list_changes(node, scenario, keys, find_emptiest(hard))) is not None
    ]
    for edits, name in sorted(needed, key=lambda pair: len(pair[0])):
        # The edits change what counts, so the skew has to be calculated again before maxSkew is
        # raised to it. Affinity to pods is looked at by the last filter only.
        changed = apply_all(edits, scenario)
        now = changed.placement()
        loosened = _list_pod_affinity(changed) if name in now.refused else []
        yield (*edits, *loosened, *raises_for(changed.cluster.nodes[name], now.tallies.hard))


def _list_changes(
    node: Node, scenario: Scenario, keys: Iterable[str], values: Mapping[str, str]
) -> Edits | None:
    """
    List the changes that a node needs.

    Returns:
        None if the node is full, has a taint that passes, or lacks a label of the RuntimeClass.
    """
    demands = scenario.pod.demands
    taints = untolerated_taints(node, scenario)
    edits: list[ScenarioEdit] = []
    if node.unschedulable:
        edits.append(Uncordon(node.name))
        taints = tuple(taint for taint in taints if taint.key != UNSCHEDULABLE.key)
    if _has_passing(taints):
        return None
    edits += map(Tolerate, taints)
    lacking = [label for label in demands.pairs if node.labels.get(label[0]) != label[1]]
    if not scenario.class_labels.isdisjoint(lacking):
        return None
    edits += (DropSelector(*label) for label in lacking)
    if demands.terms is not None and not any(term_matches(term, node) for term in demands.terms):
        if _is_pinned(scenario):
            return None
        edits.append(DropAffinity())
    missing = _missing_labels(node, keys, values)
    if missing:
        edits.append(LabelNode(node.name, missing))
    used = scenario.cluster.usage(node.name).ports
    conflicts = find_conflicts(scenario.pod.ports, used)
    edits += (free_port(one, host_network=scenario.host_network) for one in conflicts)
    excess = find_excess(scenario, node.name)
    return (*edits, *excess) if leaves_some(excess, scenario.pod) else None


def _missing_labels(
    node: Node, keys: Iterable[str], values: Mapping[str, str], number: int = 1
) -> dict[str, str]:
    """Choose labels for the keys that a node lacks: by known values, or numbered new ones."""
    lacking = (key for key in keys if key not in node.labels)
    return {key: values.get(key) or make_value(key, number) for key in lacking}


def _distinct_nodes(nodes: Iterable[Node], placement: PodPlacement) -> list[Node]:
    """Choose nodes that differ in more than their names, those with few counted pods first."""
    hard = placement.tallies.hard
    keys = [key for tally in hard if (key := tally.spread.topology_key) != HOSTNAME]
    kinds: dict[object, tuple[int, Node]] = {}
    for node in nodes:
        pods = sum(tally.by_node.get(node.name, 0) for tally in hard)
        values = tuple(node.labels.get(key) for key in keys)
        kind = (pods, values, node.taints, node.unschedulable, placement.refused.get(node.name))
        kinds.setdefault(kind, (pods, node))
    return [node for _, node in sorted(kinds.values(), key=lambda pair: pair[0])]


def find_emptiest(hard: Iterable[PodTally]) -> dict[str, str]:
    """Find the domain with the fewest pods for each topology key but the hostname."""
    return {
        tally.spread.topology_key: min(sizes, key=lambda value: tally.pods.get(value, 0))
        for tally in hard
        if (sizes := tally.domains.sizes) and tally.spread.topology_key != HOSTNAME
    }


def make_value(key: str, number: int) -> str:
    """Make the value of a label for a new domain, as ``new-zone-1``."""
    return f"new-{SHORT_NAMES.short(key).rpartition('/')[2]}-{number}"
