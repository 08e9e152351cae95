"""
The scenario to explain: a pod to place, and the cluster to place it in; and edits of the pod.

An edit is a change that the pod's author could make, with its sentence. It turns a scenario into
another one; whether that helps is decided in ``changes``.
"""

import dataclasses
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Any, ClassVar, TypeAlias

import msgspec
from msgspec.structs import replace

from webhook.explain.abstractstructs import AbstractStructMeta
from webhook.explain.keynames import SHORT_NAMES, KeyNames
from webhook.policy.advice.findings import count_of
from webhook.policy.model import AFFINITY_POLICY, Node, Taint
from webhook.policy.placement import place
from webhook.policy.placement.census import Census
from webhook.policy.placement.filters.cluster import SchedulingCluster
from webhook.policy.placement.filters.filterpods import FilterPod
from webhook.policy.placement.filters.nodefilters import CORDON, NODE_AFFINITY, TAINT
from webhook.policy.placement.filters.run import NOTHING_KNOWN, NodeResults
from webhook.policy.placement.nodes import Demands, Toleration, render_taint
from webhook.policy.placement.spreads import SpreadConstraints
from webhook.policy.placement.topology import Topology

NodeLabel: TypeAlias = tuple[str, str]
"""The key and the value of a node label."""


class Scenario(msgspec.Struct, frozen=True):
    """
    A pod with its constraints, and a cluster; edits return another scenario.

    Attributes:
        cluster: The nodes, and the other pods without the pod itself.
        node_policies: Whether this Kubernetes knows the node inclusion policies of constraints.
        names: The names of label keys in sentences.
        class_labels: Labels in the nodeSelector of the pod that its RuntimeClass adds to every pod.
        host_network: Whether the pod has the network of its node, and so takes its ports there.
    """

    pod: FilterPod
    spreads: SpreadConstraints
    cluster: SchedulingCluster
    node_policies: bool = True
    names: KeyNames = SHORT_NAMES
    class_labels: frozenset[NodeLabel] = frozenset()
    host_network: bool = False

    @property
    def own_labels(self) -> tuple[NodeLabel, ...]:
        """The labels in the nodeSelector that the author of the pod can remove."""
        pairs = self.pod.demands.pairs
        return tuple(pair for pair in pairs if pair not in self.class_labels)

    @property
    def topology(self) -> Topology:
        """The nodes."""
        return self.cluster.topology

    @property
    def census(self) -> Census:
        """The pods that constraints count."""
        return self.cluster.placed.census

    def placement(self, known: NodeResults = NOTHING_KNOWN) -> place.PodPlacement:
        """
        Place the pod, by all filters that are modelled; O(nodes x constraints).

        Args:
            known: Results of the filters other than PodTopologySpread, for some nodes.
        """
        return place.place_in_cluster(self.pod, self.spreads, self.cluster, known)

    def with_nodes(self, nodes: Iterable[Node]) -> "Scenario":
        """Return the scenario with these nodes alone."""
        return replace(self, cluster=self.cluster.with_nodes(nodes))

    def change_nodes(self, nodes: Iterable[Node], like: str = "") -> "Scenario":
        """Return the scenario with changed nodes, as ``SchedulingCluster.change_nodes``."""
        return replace(self, cluster=self.cluster.change_nodes(nodes, like))

    def change_pod(self, **changes: Any) -> "Scenario":
        """Return the scenario with other values of attributes of the pod."""
        return replace(self, pod=replace(self.pod, **changes))

    def copy_pods(self) -> "Scenario":
        """Return the scenario with pods that ``put`` can be called on without changing these."""
        placed = self.cluster.placed.copy()
        return replace(self, cluster=dataclasses.replace(self.cluster, placed=placed))

    def put(self, node: str) -> None:
        """Put the pod on a node, so that it counts for the next one like it."""
        self.cluster.placed.add(self.pod, node)


def list_used_keys(demands: Demands, spreads: SpreadConstraints) -> Iterator[str]:
    """Yield the label keys of nodes that a pod uses; keys may recur."""
    for spread in (*spreads.hard, *spreads.soft):
        yield spread.topology_key
    for key, _ in demands.pairs:
        yield key
    for term in demands.terms or ():
        for requirement in term.match_expressions or ():
            yield requirement.key


class ScenarioEdit(
    msgspec.Struct,
    frozen=True,
    rename="camel",
    tag_field="edit",
    tag=lambda name: name[0].lower() + name[1:],
    metaclass=AbstractStructMeta,
):
    """
    One change of a scenario.

    Attributes:
        lifts: The filters besides PodTopologySpread whose rejections an edit of the pod may lift.
    """

    lifts: ClassVar[frozenset[str]] = frozenset()

    def __str__(self) -> str:
        """Describe the edit with the short names of label keys."""
        return self.describe(SHORT_NAMES)

    @abstractmethod
    def describe(self, names: KeyNames) -> str:
        """Describe the edit; ``names`` are those of label keys."""

    @abstractmethod
    def apply(self, scenario: Scenario) -> Scenario:
        """Return the scenario with the edit applied."""

    def changes_pod(self, scenario: Scenario) -> bool:
        """Whether the edit changes the pod of a scenario, and not its cluster."""
        del scenario
        return False


class Scale(ScenarioEdit, frozen=True):
    """Set the number of replicas; this changes neither the next pod nor the cluster."""

    replicas: int

    def describe(self, names: KeyNames) -> str:
        """Describe the edit."""
        del names
        return f"scale to {count_of(self.replicas, 'replica')}"

    def apply(self, scenario: Scenario) -> Scenario:
        """Return the scenario itself."""
        return scenario


class ConstraintEdit(ScenarioEdit, frozen=True):
    """An edit of one constraint; ``index`` is its position in the list, from 0."""

    index: int
    topology_key: str

    def changes_pod(self, scenario: Scenario) -> bool:
        """Whether the pod has this hard constraint, as pods of another revision may not."""
        hard = {spread.index: spread.topology_key for spread in scenario.spreads.hard}
        return hard.get(self.index) == self.topology_key

    def name_constraint(self, names: KeyNames) -> str:
        """Name the constraint, as ``constraint 0 (zone)``."""
        return f"constraint {self.index} ({names.short(self.topology_key)})"


class RaiseMaxSkew(ConstraintEdit, frozen=True):
    """Raise the maxSkew of a constraint."""

    before: int
    after: int

    def describe(self, names: KeyNames) -> str:
        """Describe the edit."""
        return f"raise maxSkew of {self.name_constraint(names)} from {self.before} to {self.after}"

    def apply(self, scenario: Scenario) -> Scenario:
        """Apply the edit."""
        return _with_spread(scenario, self.index, max_skew=self.after)


class LowerMinDomains(ConstraintEdit, frozen=True):
    """Lower the minDomains of a constraint."""

    before: int
    after: int

    def describe(self, names: KeyNames) -> str:
        """Describe the edit."""
        constraint = self.name_constraint(names)
        return f"drop minDomains of {constraint} from {self.before} to {self.after}"

    def apply(self, scenario: Scenario) -> Scenario:
        """Apply the edit."""
        return _with_spread(scenario, self.index, min_domains=self.after)


class HonorPolicy(ConstraintEdit, frozen=True):
    """Set a node inclusion policy of a constraint to Honor, by its name in the API."""

    policy: str

    def describe(self, names: KeyNames) -> str:
        """Describe the edit."""
        return f"set {self.policy} of {self.name_constraint(names)} to Honor"

    def apply(self, scenario: Scenario) -> Scenario:
        """Apply the edit."""
        if self.policy == AFFINITY_POLICY:
            return _with_spread(scenario, self.index, honors_affinity=True)
        return _with_spread(scenario, self.index, honors_taints=True)


class PodEdit(ScenarioEdit, frozen=True):
    """An edit of a pod that is none of a constraint."""

    def changes_pod(self, scenario: Scenario) -> bool:
        """Whether the edit changes the pod of a scenario: always."""
        del scenario
        return True


class Tolerate(PodEdit, frozen=True):
    """Let the pod tolerate a taint."""

    taint: Taint
    lifts: ClassVar[frozenset[str]] = frozenset({CORDON.plugin, TAINT.plugin})

    def describe(self, names: KeyNames) -> str:
        """Describe the edit."""
        del names
        return f"tolerate taint {render_taint(self.taint)}"

    def apply(self, scenario: Scenario) -> Scenario:
        """Apply the edit."""
        demands, taint = scenario.pod.demands, self.taint
        added = Toleration(taint.key, "Equal", taint.value, taint.effect)
        tolerations = (*(demands.tolerations or ()), added)
        return scenario.change_pod(demands=replace(demands, tolerations=tolerations))


class DropSelector(PodEdit, frozen=True):
    """Remove a label from the pod's nodeSelector."""

    key: str
    value: str
    lifts: ClassVar[frozenset[str]] = frozenset({NODE_AFFINITY.plugin})

    def describe(self, names: KeyNames) -> str:
        """Describe the edit."""
        del names
        return f"take {self.key}={self.value} out of nodeSelector"

    def apply(self, scenario: Scenario) -> Scenario:
        """Apply the edit."""
        demands = scenario.pod.demands
        pairs = tuple(pair for pair in demands.pairs if pair != (self.key, self.value))
        return scenario.change_pod(demands=replace(demands, pairs=pairs))


class DropAffinity(PodEdit, frozen=True):
    """Remove the pod's required node affinity."""

    lifts: ClassVar[frozenset[str]] = frozenset({NODE_AFFINITY.plugin})

    def describe(self, names: KeyNames) -> str:
        """Describe the edit."""
        del names
        return "take the required node affinity out of the pod"

    def apply(self, scenario: Scenario) -> Scenario:
        """Apply the edit."""
        demands = replace(scenario.pod.demands, terms=None)
        return scenario.change_pod(demands=demands, required_names=None)


def apply_all(edits: Iterable[ScenarioEdit], scenario: Scenario) -> Scenario:
    """Return the scenario with all edits applied, in order."""
    return reduce(lambda edited, edit: edit.apply(edited), edits, scenario)


def _with_spread(scenario: Scenario, index: int, **changes: int) -> Scenario:
    hard = tuple(
        replace(spread, **changes) if spread.index == index else spread
        for spread in scenario.spreads.hard
    )
    return replace(scenario, spreads=replace(scenario.spreads, hard=hard))
