"""
The new pods of a workload, placed one after another.

``place_pods`` is the entry point. Among equally good nodes kube-scheduler consults other plugins
and chooses at random; here the node with the fewest counted pods is chosen, and the first of those.
``describe_choice`` shows where another choice has another result.

New pods are alike, except for those of a StatefulSet: their labels differ by their ordinals, such
as the revision with a partition, and with the labels what their constraints count. How pods are
labelled is decided by the caller.

Source: kubernetes pkg/controller/statefulset stateful_set_control.go ``processReplica``.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice, repeat
from typing import NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from webhook.explain.scenario import Scenario, ScenarioEdit, apply_all
from webhook.policy.advice.awaitedpods import AwaitedPods
from webhook.policy.placement.filters.filterpods import FilterPod
from webhook.policy.placement.place import PodPlacement
from webhook.policy.placement.spreads import SpreadConstraints
from webhook.policy.selectors import matches

TRIED_TWICE = 1000  # replicas that are placed a second time, to see whether other choices matter


class NewPod(msgspec.Struct, frozen=True):
    """A pod to create, with its constraints."""

    pod: FilterPod
    spreads: SpreadConstraints

    def enter(self, scenario: Scenario) -> Scenario:
        """Return the scenario with this pod in place of another one."""
        return replace(scenario, pod=self.pod, spreads=self.spreads)


class PodSuccession(msgspec.Struct, frozen=True):
    """
    The new pods of a workload, in the order of their creation.

    Attributes:
        build: Builds the pod with an ordinal; None if all new pods are alike.
        start: The first ordinal.
        is_parallel: Whether pods are created although one before them does not run.
        taken: Ordinals whose pod has a node.
        waiting: Ordinals whose pod exists without a node.
    """

    build: Callable[[int], NewPod] | None = None
    start: int = 0
    is_parallel: bool = False
    taken: frozenset[int] = frozenset()
    waiting: frozenset[int] = frozenset()

    def needs_all_before(self, ordinal: int) -> bool:
        """Whether a pod is created only after all before it run; kube-scheduler waits for none."""
        return not self.is_parallel and ordinal not in self.waiting

    def follow(self, scenario: Scenario) -> Iterator[tuple[int, Scenario]]:
        """Iterate over the ordinals of the new pods and their scenarios, without end."""
        if self.build is None:
            return repeat((0, scenario))
        free = (ordinal for ordinal in count(self.start) if ordinal not in self.taken)
        build = self.build
        return ((ordinal, build(ordinal).enter(scenario)) for ordinal in free)


ALIKE = PodSuccession()

_Choice: TypeAlias = Callable[[PodPlacement], str]
"""Chooses one of the best nodes."""


class NewPodPlacement(NamedTuple):
    """
    The new pods that were placed, and those that were not.

    Attributes:
        end: The scenario of the first pod without a node, or else of the next one.
        placed: Node name -> pods placed there, at least 1.
        awaiting: The pods without a node, and those after them.
    """

    end: Scenario
    placed: Counter[str]
    awaiting: PodSuccession


def place_pods(
    scenario: Scenario,
    number: int,
    succession: PodSuccession = ALIKE,
    edits: Sequence[ScenarioEdit] = (),
) -> NewPodPlacement:
    """
    Place new pods until all run, or one has no node and keeps the others from being placed.

    Args:
        edits: Changes of the cluster and of the pods.
    """
    return _place_pods(scenario, number, succession, edits, choose_node)


def count_placed(
    scenario: Scenario, number: int, succession: PodSuccession, edits: Sequence[ScenarioEdit]
) -> Iterator[int]:
    """Count the new pods that are placed, with each of two opposite choices among equal nodes."""
    for choose in (choose_node, _choose_otherwise):
        yield _place_pods(scenario, number, succession, edits, choose).placed.total()


def _place_pods(
    scenario: Scenario,
    number: int,
    succession: PodSuccession,
    edits: Sequence[ScenarioEdit],
    choose: _Choice,
) -> NewPodPlacement:
    placed, taken = Counter[str](), set(succession.taken)
    changed = apply_all(edits, scenario.copy_pods())
    upcoming = ((at, _apply(edits, one, changed)) for at, one in succession.follow(changed))
    pending: Scenario | None = None
    for ordinal, following in islice(upcoming, number):
        if pending and succession.needs_all_before(ordinal):
            continue
        placement = following.placement()
        if placement.passing:
            node = choose(placement)
            following.put(node)
            placed[node] += 1
            taken.add(ordinal)
        else:
            pending = pending or following
            if not (succession.is_parallel or succession.waiting):
                # the next one would have no node either, or is not created before this one runs
                break
    awaiting = replace(succession, taken=frozenset(taken))
    return NewPodPlacement(pending or next(upcoming)[1], placed, awaiting)


def _apply(edits: Sequence[ScenarioEdit], following: Scenario, changed: Scenario) -> Scenario:
    """Apply the edits to a new pod, unless it is that of ``changed``, where they are applied."""
    if following is changed:
        return following
    return apply_all((edit for edit in edits if edit.changes_pod(following)), following)


def describe_choice(
    scenario: Scenario, number: int, succession: PodSuccession, placed: Counter[str]
) -> Iterator[str]:
    """Yield a note if another choice among equally good nodes has another result than this."""
    many, are_placed = placed.total() > TRIED_TWICE, placed.total() == number
    fit = _fit_in_every_order(scenario, placed.total(), succession)  # as many, if not all of them
    if (
        many
        or fit is False
        or _place_pods(scenario, number, succession, (), _choose_otherwise).placed != placed
    ):
        pending = f", and then perhaps leave {'some' if are_placed else 'more of them'} Pending"
        yield (
            "the choice among equal nodes is arbitrary: kube-scheduler may place these replicas "
            f"on other nodes{'' if fit else pending}"
        )


def _fit_in_every_order(scenario: Scenario, number: int, succession: PodSuccession) -> bool | None:
    """
    Whether new pods have a node whatever nodes are chosen, by their hard constraints.

    Returns:
        True also for one topology key, of which as many pods are placed in every order; None if it
        is not known.
    """
    if len({spread.topology_key for spread in scenario.spreads.hard}) <= 1:
        return True
    if not _count_alike(scenario, number, succession):
        return None
    placement = scenario.placement()
    nodes = [one for one in scenario.topology.nodes if one.name not in placement.refused]
    return AwaitedPods.read(placement.tallies.hard, nodes, number).fit()


def _count_alike(scenario: Scenario, number: int, succession: PodSuccession) -> bool:
    """Whether the new pods differ in nothing but names, and labels that no constraint reads."""
    if succession.build is None:
        return True
    upcoming = islice((new for _, new in succession.follow(scenario)), min(number, TRIED_TWICE))
    return len({_describe_counting(new) for new in upcoming}) <= 1


def _describe_counting(new: Scenario) -> bytes:
    """Describe where a pod can go, what its constraints select, and whether they select the pod."""
    pod, spreads = new.pod, new.spreads
    counted = [matches(spread.selector, pod.labels) for spread in (*spreads.hard, *spreads.soft)]
    return msgspec.json.encode((replace(pod, name="", uid="", labels={}), spreads, counted))


def describe_succession(
    scenario: Scenario, number: int, succession: PodSuccession
) -> Iterator[str]:
    """Yield a note if the constraints of new pods, and of the one after them, count other pods."""
    upcoming = islice(succession.follow(scenario), number + 1)
    if succession.build and len({msgspec.json.encode(new.spreads) for _, new in upcoming}) > 1:
        yield (
            "the constraints of these replicas count different pods, since their labels differ: "
            "the skew shown is that of the pods that the constraints of the next pod count"
        )


def choose_node(placement: PodPlacement) -> str:
    """Choose the best node with the fewest counted pods, the first one of several."""
    return min(placement.best, key=lambda node: _count_pods(placement, node))


def _choose_otherwise(placement: PodPlacement) -> str:
    """Choose as differently as possible: the last node with the most counted pods."""
    return max(reversed(placement.best), key=lambda node: _count_pods(placement, node))


def _count_pods(placement: PodPlacement, node: str) -> int:
    return sum(tally.by_node.get(node, 0) for tally in placement.tallies.by_index)
