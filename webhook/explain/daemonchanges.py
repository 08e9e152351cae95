"""
Changes that let the missing pods of a DaemonSet be placed; ``find_daemon_changes`` finds them.

Each pod is pinned to its node, so only changes of constraints and of that node can help. Each is
tried with the pod that cannot be placed, and then with all missing pods, of which those that exist
keep their own constraints.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from webhook.explain import remedies
from webhook.explain.awaited import MOST_PLACEMENTS, widen
from webhook.explain.changes import SuggestedChange, describe_change, find_changes
from webhook.explain.daemonreport import DaemonReport
from webhook.explain.daemons import DaemonPods, WaitingPod, fill
from webhook.explain.scenario import Scenario, ScenarioEdit, apply_all
from webhook.explain.softening import soften

_SEARCHES = (
    (remedies.honor, 3),
    (remedies.raise_max_skew, 3),
    (remedies.lower_min_domains, 3),
    (remedies.lower_requests, 3),
    (remedies.drop_ports, 1),
    (remedies.label_nodes, 1),
    (remedies.loosen_pod_affinity, 1),
    (soften, 3),
)
"""The kinds of changes that can help a pinned pod, with the most to report of each."""


def find_daemon_changes(
    scenario: Scenario, pinned: Scenario, report: DaemonReport, pods: DaemonPods
) -> tuple[SuggestedChange, ...]:
    """
    Find changes, those that place all missing pods first.

    Args:
        scenario: The DaemonSet's next pod, without a node.
        pinned: The scenario of a missing pod that cannot be placed.
        report: The pods that do not run.
        pods: Those that exist.
    """
    found = find_changes(pinned, pinned.placement(), _SEARCHES)
    awaited = len(report.awaited)
    if awaited * len(scenario.topology.nodes) > MOST_PLACEMENTS:
        return tuple(replace(change, placed=None, awaited=awaited) for change in found)
    trial = _Trial(scenario, pinned, report, pods)
    judged = (trial.judge(change) for change in found)
    return tuple(sorted(judged, key=lambda change: change.placed != change.awaited))


class _Trial(NamedTuple):
    """Tries changes with all missing pods; the members are those of ``find_daemon_changes``."""

    scenario: Scenario
    pinned: Scenario
    report: DaemonReport
    pods: DaemonPods

    def judge(self, change: SuggestedChange) -> SuggestedChange:
        """Find how many of the missing pods a change places, and widen it to place all."""
        awaited = len(self.report.awaited)
        for edits in widen(change.edits):
            nodes = self._place(edits)
            if len(nodes) == awaited:
                sentence = describe_change(edits, self.scenario.names)
                return SuggestedChange(sentence, edits, nodes, awaited, awaited)
        nodes = self._place(change.edits)
        return replace(change, nodes=nodes, placed=len(nodes), awaited=awaited)

    def _place(self, edits: remedies.Edits) -> tuple[str, ...]:
        """Place the missing pods after edits; return the names of their nodes, in order."""
        subject = replace(self.pinned, cluster=self.scenario.cluster)
        cluster = apply_all(edits, subject).cluster
        changed = _edit_pod(edits, replace(self.scenario, cluster=cluster))
        names = {pod.node for pod in self.report.awaited}
        missing = [node for node in changed.topology.nodes if node.name in names]
        _, placed = fill(changed, missing, DaemonPods(waiting=self._edit_waiting(edits)))
        return tuple(node.name for node in missing if node.name in placed)

    def _edit_waiting(self, edits: remedies.Edits) -> Mapping[str, WaitingPod]:
        """Return the missing pods that exist with the edits that are about them."""
        return {
            node: replace(one, situation=one.situation and _edit_pod(edits, one.situation))
            for node, one in self.pods.waiting.items()
        }


def _edit_pod(edits: Iterable[ScenarioEdit], scenario: Scenario) -> Scenario:
    """Apply the edits that change the pod of a scenario; others have no such constraint."""
    return apply_all((edit for edit in edits if edit.changes_pod(scenario)), scenario)
