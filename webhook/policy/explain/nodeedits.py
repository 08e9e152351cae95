"""Things that an admin could change in the nodes of a cluster, each with its sentence."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, islice

from msgspec.structs import replace

from webhook.policy.defaulting.profiles import HOSTNAME
from webhook.policy.explain.edits import ScenarioEdit
from webhook.policy.explain.scenario import Scenario, counted, short_key
from webhook.policy.model import Node
from webhook.policy.placement.taints import UNSCHEDULABLE
from webhook.policy.placement.topology import Topology


class Uncordon(ScenarioEdit, frozen=True):
    """Let a node take new pods again."""

    node: str

    def __str__(self) -> str:
        """Say what to do."""
        return f"uncordon node {self.node}"

    def apply(self, situation: Scenario) -> Scenario:
        """Do it, and take away the taint that comes with a cordon."""
        return _with_node(situation, self.node, _uncordoned)


class Cordon(ScenarioEdit, frozen=True):
    """Let a node take no new pods."""

    node: str

    def __str__(self) -> str:
        """Say what to do."""
        return f"cordon node {self.node}"

    def apply(self, situation: Scenario) -> Scenario:
        """Do it, and put on the taint that comes with a cordon."""
        return _with_node(situation, self.node, _cordoned)


class LabelNode(ScenarioEdit, frozen=True):
    """Give a node labels that it lacks."""

    node: str
    labels: dict[str, str]

    def __str__(self) -> str:
        """Say what to do."""
        return f"label node {self.node} with {render_labels(self.labels)}"

    def apply(self, situation: Scenario) -> Scenario:
        """Do it."""
        return _with_node(
            situation, self.node, lambda node: replace(node, labels=node.labels | self.labels)
        )


class AddNodes(ScenarioEdit, frozen=True):
    """
    Add nodes to the cluster, without taints.

    Attributes:
        labels: What they are told by; each also gets the labels that all nodes share, and a
            hostname of its own.
        number: How many; at least 1.
    """

    labels: dict[str, str]
    number: int = 1

    def __str__(self) -> str:
        """Say what to do."""
        nodes = counted(self.number, "node")
        labels = {key: value for key, value in self.labels.items() if key != HOSTNAME}
        return f"add {nodes} with {render_labels(labels)}" if labels else f"add {nodes}"

    def apply(self, situation: Scenario) -> Scenario:
        """Do it."""
        nodes = situation.topology.nodes
        names = islice(_free_names(nodes), self.number)
        shared = shared_labels(nodes)
        added = (Node(name, {**shared, **self.labels, HOSTNAME: name}) for name in names)
        return replace(situation, topology=Topology((*nodes, *added)))


class RemoveNodes(ScenarioEdit, frozen=True, tag="without"):
    """Take all nodes with a label out of the cluster, and the pods on them."""

    key: str
    value: str

    def __str__(self) -> str:
        """Say what to do."""
        return f"lose {short_key(self.key)} {self.value}"

    def apply(self, situation: Scenario) -> Scenario:
        """Do it; pods on nodes that do not exist count nowhere."""
        left = (
            node for node in situation.topology.nodes if node.labels.get(self.key) != self.value
        )
        return replace(situation, topology=Topology(left))


def shared_labels(nodes: Sequence[Node]) -> dict[str, str]:
    """The labels that all nodes have in common, which a new one would have, too."""
    pairs = [node.labels.items() for node in nodes]
    return dict(set(pairs[0]).intersection(*pairs[1:])) if pairs else {}


def render_labels(labels: Mapping[str, str]) -> str:
    """Labels as people write them: ``zone=us-1a, disk=ssd``."""
    return ", ".join(f"{short_key(key)}={value}" for key, value in labels.items())


def _with_node(situation: Scenario, name: str, change: Callable[[Node], Node]) -> Scenario:
    nodes = situation.topology.nodes
    changed = (change(node) if node.name == name else node for node in nodes)
    return replace(situation, topology=Topology(changed))


def _cordoned(node: Node) -> Node:
    taints = (*_uncordoned(node).taints, UNSCHEDULABLE)
    return replace(node, unschedulable=True, taints=taints)


def _uncordoned(node: Node) -> Node:
    taints = tuple(taint for taint in node.taints if taint.key != UNSCHEDULABLE.key)
    return replace(node, unschedulable=False, taints=taints)


def _free_names(nodes: Sequence[Node]) -> Iterator[str]:
    """Names that no node has yet."""
    taken = {node.name for node in nodes}
    return (name for number in count(1) if (name := f"new-{number}") not in taken)
