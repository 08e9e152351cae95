"""
What precedes the placement of a pod: its end, a written node, another scheduler, or gates.

``find_terms`` is the entry point. Constraints are evaluated by kube-scheduler only, and only for
pods without a node and without scheduling gates. A pod that has ended needs no node any more.

Source: kubernetes pkg/scheduler/eventhandlers.go ``responsibleForPod``, plugins/schedulinggates.
"""

from collections.abc import Collection
from typing import Any

import msgspec
from msgspec.structs import replace

from webhook.explain.endingpods import MOST_POD_NAMES, NONE_ENDING, EndingPods
from webhook.explain.scenario import Scenario
from webhook.policy.advice.findings import join_names
from webhook.policy.defaulting.profiles import DEFAULT_SCHEDULER
from webhook.policy.model import LabelSelectorRequirement
from webhook.policy.paths import find_value, is_array
from webhook.policy.placement.census import FINISHED
from webhook.policy.placement.filters.filterpods import FilterPod
from webhook.policy.placement.nodeaffinity import NODE_NAME, NodeSelectorTerm
from webhook.policy.placement.nodes import Demands, SchedulingPod, Toleration
from webhook.policy.selectors import IN


class PlacementTerms(msgspec.Struct, frozen=True):
    """
    What decides on the node of a pod besides kube-scheduler; all empty for most pods.

    Attributes:
        node: Node that ``spec.nodeName`` of the template names.
        scheduler: Another scheduler, of which nothing is known.
        gates: Names of the scheduling gates.
        phase: The phase of a pod that has ended, ``Succeeded`` or ``Failed``.
        revision: Name of its revision if the template of that one is not known.
        closed: Why the Job that would create it creates no pod any more.
        suspended: Whether that Job is suspended.
        scaling: What an autoscaler does to the number of replicas; a sentence.
        ending: Pods that are being deleted, and have ended before it is placed.
        kept: Pending pods of its workload that have other constraints than its template, and keep
            them until they are deleted: no node accepts them.
    """

    node: str = ""
    scheduler: str = ""
    gates: tuple[str, ...] = ()
    phase: str = ""
    revision: str = ""
    closed: str = ""
    suspended: bool = False
    scaling: str = ""
    ending: EndingPods = NONE_ENDING
    kept: tuple[str, ...] = ()

    def describe(self, sentence: str, nodes: Collection[str]) -> str:
        """
        Put the terms before the sentence about a placement by kube-scheduler.

        Args:
            nodes: Names of the nodes that exist.
        """
        if self.phase:
            rest = self.of_new_pods.describe(sentence, nodes)
            return f"has ended ({self.phase}) and runs on no node; a new pod like it {rest}"
        if self.closed or self.suspended:
            rest = replace(self, closed="", suspended=False).describe(sentence, nodes)
            if self.closed:
                return f"is not created: {self.closed}; if it were, it {rest}"
            return f"is not created while the workload is suspended; then it {rest}"
        if self.node:
            absent = "" if self.node in nodes else "; this node does not exist"
            return (
                f"is bound to node {self.node} by spec.nodeName: kube-scheduler does not place it, "
                f"and no constraint is evaluated{absent}"
            )
        if self.scheduler:
            sentence = (
                f"is placed by scheduler {self.scheduler!r}, whose rules and defaults are not "
                f"known; by those of kube-scheduler: {sentence}"
            )
        if self.gates:
            sentence = (
                f"waits for its scheduling gates ({join_names(self.gates)}); without them, it "
                f"{sentence}"
            )
        if self.revision:
            sentence = (
                f"has the pod template of revision {self.revision}, which is not known; with the "
                f"present template, it {sentence}"
            )
        if self.kept:
            sentence += f"; {self._describe_kept()}"
        return self.ending.describe(sentence)

    @property
    def are_filtered(self) -> bool:
        """Whether kube-scheduler filters nodes for the pod, and records an event if none passes."""
        return not (self.node or self.scheduler or self.gates or self.closed)

    @property
    def of_new_pods(self) -> "PlacementTerms":
        """The terms of new pods like this one, which have not ended and await no other's end."""
        return replace(self, phase="", ending=NONE_ENDING, kept=())

    @property
    def notes(self) -> tuple[str, ...]:
        """What the terms mean for replicas that a what-if places, in sentences."""
        found: list[str] = []
        if self.scheduler and not self.node:
            found.append(
                f"scheduler {self.scheduler!r} places these replicas: its rules and defaults are "
                "not known, and those of kube-scheduler are shown"
            )
        if self.gates and not self.node:
            names = join_names(self.gates)
            found.append(f"replicas wait for their scheduling gates ({names}) before that")
        if self.closed:
            found.append(f"no further pod is created: {self.closed}")
        if self.scaling:
            found.append(self.scaling)
        if self.suspended:
            found.append("the workload is suspended: it has no pods until it is resumed")
        return (*found, *self.ending.notes)

    @property
    def kept_note(self) -> str:
        """What a what-if without a rollout supposes about the pods that are kept; or empty."""
        if not self.kept:
            return ""
        return f"{self._describe_kept()}, which is supposed here, and that no webhook adds others"

    def _describe_kept(self) -> str:
        names = join_names(self.kept, most=MOST_POD_NAMES)
        one = len(self.kept) == 1
        has, stays, is_deleted = ("has", "stays", "it is") if one else ("have", "stay", "they are")
        return (
            f"{names} {has} other constraints than the template now has, with which no node "
            f"accepts {'it' if one else 'them'}, and {stays} Pending until {is_deleted} deleted"
        )

    def restrict(self, scenario: Scenario) -> Scenario:
        """
        Return the scenario of the pod on its written node, where no filter of kube-scheduler runs.

        It is the same scenario without such a node.
        """
        if not self.node:
            return scenario
        field = LabelSelectorRequirement(key=NODE_NAME, operator=IN, values=(self.node,))
        demands = Demands(
            terms=(NodeSelectorTerm(match_fields=(field,)),),
            tolerations=(Toleration(operator="Exists"),),
        )
        pod = scenario.pod
        return replace(
            scenario,
            pod=FilterPod(pod.namespace, pod.labels, demands, name=pod.name),
            spreads=replace(scenario.spreads, hard=(), soft=()),
        )


NO_TERMS = PlacementTerms()


def find_terms(
    pod: SchedulingPod, written: Any, schedulers: Collection[str], *, is_running: bool = False
) -> PlacementTerms:
    """
    Find the terms of a pod or of a pod template.

    Args:
        written: The same, as decoded from JSON; gates of wrong types are ignored.
        schedulers: Names of the schedulers that are known.
        is_running: Whether it is a pod that has its node.
    """
    spec = pod.spec
    scheduler = (spec.scheduler_name if spec else "") or DEFAULT_SCHEDULER
    found = find_value(written, ("spec", "schedulingGates"))
    phase = find_value(written, ("status", "phase"))
    names = (find_value(gate, ("name",)) for gate in (found if is_array(found) else ()))
    return PlacementTerms(
        node=spec.node_name if spec and not is_running else "",
        scheduler="" if scheduler in schedulers else scheduler,
        gates=() if is_running else tuple(name for name in names if isinstance(name, str)),
        phase=phase if isinstance(phase, str) and phase in FINISHED else "",
    )
