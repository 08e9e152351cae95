"""Edits of nodes: changes that a cluster administrator could make, each with its sentence."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count, islice

import msgspec
from msgspec.structs import replace

from webhook.explain.keynames import KeyNames
from webhook.explain.scenario import Scenario, ScenarioEdit
from webhook.explain.usualnodes import find_usual_node
from webhook.policy.advice.findings import count_of
from webhook.policy.model import HOSTNAME, Node
from webhook.policy.placement.nodes import UNSCHEDULABLE, uncordon


class NodeEdit(ScenarioEdit, frozen=True):
    """An edit of one node; ``node`` is its name."""

    node: str

    def apply(self, scenario: Scenario) -> Scenario:
        """Apply the edit."""
        node = scenario.cluster.nodes.get(self.node)
        return scenario.change_nodes([self.change(node)]) if node else scenario

    @abstractmethod
    def change(self, node: Node) -> Node:
        """Return the node as it is after the edit."""


class Uncordon(NodeEdit, frozen=True):
    """Uncordon a node, so that it takes new pods again."""

    def describe(self, names: KeyNames) -> str:
        """Describe the edit."""
        del names
        return f"uncordon node {self.node}"

    def change(self, node: Node) -> Node:
        """Remove the taint together with the cordon."""
        return uncordon(node)


class Cordon(NodeEdit, frozen=True):
    """Cordon a node, so that it takes no new pods."""

    def describe(self, names: KeyNames) -> str:
        """Describe the edit."""
        del names
        return f"cordon node {self.node}"

    def change(self, node: Node) -> Node:
        """Add the taint together with the cordon."""
        taints = uncordon(node).taints
        return replace(node, unschedulable=True, taints=(*taints, UNSCHEDULABLE))


class LabelNode(NodeEdit, frozen=True):
    """Add labels to a node."""

    labels: dict[str, str]

    def describe(self, names: KeyNames) -> str:
        """Describe the edit."""
        return f"label node {self.node} with {render_labels(self.labels, names)}"

    def change(self, node: Node) -> Node:
        """Add the labels."""
        return replace(node, labels=node.labels | self.labels)


class AddNodes(ScenarioEdit, frozen=True):
    """
    Add nodes to the cluster, without taints.

    Attributes:
        labels: Labels of the nodes. They also get the labels that all nodes share, and every
            node its own hostname.
        like: The node whose resources they have, and the pods of whose DaemonSets; empty if they
            have room for any pod.
        lacking: The labels of that node which the nodes lack, and which decide on the pod's nodes.
    """

    labels: dict[str, str]
    number: int = 1
    like: str = ""
    lacking: dict[str, str] = msgspec.field(default_factory=dict)

    def describe(self, names: KeyNames) -> str:
        """Describe the edit."""
        like = f" like {self.like}" if self.like else ""
        nodes = f"{count_of(self.number, 'node')}{like}"
        labels = {key: value for key, value in self.labels.items() if key != HOSTNAME}
        having = f" with {render_labels(labels, names)}" if labels else ""
        lacking = f" without {render_labels(self.lacking, names)}" if self.lacking else ""
        return f"add {nodes}{having}{' and' if having and lacking else ''}{lacking}"

    def apply(self, scenario: Scenario) -> Scenario:
        """Apply the edit."""
        nodes = scenario.topology.nodes
        names = islice(_free_names(nodes), self.number)
        shared = shared_labels(nodes)
        added = (Node(name, {**shared, **self.labels, HOSTNAME: name}) for name in names)
        return scenario.change_nodes(added, self.like)


class RemoveNodes(ScenarioEdit, frozen=True, tag="without"):
    """Remove all nodes with a label from the cluster, and the pods on them."""

    key: str
    value: str

    def describe(self, names: KeyNames) -> str:
        """Describe the edit."""
        return f"lose {names.short(self.key)} {self.value}"

    def apply(self, scenario: Scenario) -> Scenario:
        """Apply the edit; pods on nodes that are gone no longer count."""
        left = (node for node in scenario.topology.nodes if node.labels.get(self.key) != self.value)
        return scenario.with_nodes(left)


def suppose_resources(
    edits: Iterable[ScenarioEdit], scenario: Scenario
) -> tuple[ScenarioEdit, ...]:
    """Return edits whose new nodes have the resources of the usual node."""
    return tuple(
        resemble(edit, find_usual_node(scenario), scenario) if isinstance(edit, AddNodes) else edit
        for edit in edits
    )


def resemble(edit: AddNodes, like: str, scenario: Scenario) -> AddNodes:
    """Return the edit with nodes of the same resources as a known one; empty for none."""
    node, demands = scenario.cluster.nodes.get(like), scenario.pod.demands
    if node is None:
        return replace(edit, like=like, lacking={})
    terms = (one for term in demands.terms or () for one in term.match_expressions or ())
    read = dict.fromkeys([*(key for key, _ in demands.pairs), *(one.key for one in terms)])
    known = {HOSTNAME, *edit.labels, *shared_labels(scenario.topology.nodes)}
    labels = node.labels
    lacking = {key: labels[key] for key in read if key in labels and key not in known}
    return replace(edit, like=like, lacking=lacking)


def shared_labels(nodes: Sequence[Node]) -> dict[str, str]:
    """Return the labels that all nodes have in common, which a new node would have too."""
    pairs = [node.labels.items() for node in nodes]
    return dict(set(pairs[0]).intersection(*pairs[1:])) if pairs else {}


def render_labels(labels: Mapping[str, str], names: KeyNames) -> str:
    """Format labels with short keys, as ``zone=us-1a, disk=ssd``."""
    return ", ".join(f"{names.short(key)}={value}" for key, value in labels.items())


def _free_names(nodes: Sequence[Node]) -> Iterator[str]:
    taken = {node.name for node in nodes}
    return (name for number in count(1) if (name := f"new-{number}") not in taken)
