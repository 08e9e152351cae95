"""
Changes that let the missing pods of a DaemonSet be placed; ``find_daemon_changes`` finds them.

Each pod is pinned to its node, so only changes of constraints and of that node can help. Each is
tried with the pod that cannot be placed, and then with all missing pods.
"""

from msgspec.structs import replace

from webhook.explain import remedies
from webhook.explain.awaited import MOST_PLACEMENTS, widen
from webhook.explain.changes import SuggestedChange, describe_change, find_changes
from webhook.explain.daemons import DaemonReport, fill
from webhook.explain.scenario import Scenario, apply_all
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
    scenario: Scenario, pinned: Scenario, report: DaemonReport
) -> tuple[SuggestedChange, ...]:
    """
    Find changes, those that place all missing pods first.

    Args:
        scenario: The DaemonSet's next pod, without a node.
        pinned: The scenario of a missing pod that cannot be placed.
        report: The missing pods.
    """
    found = find_changes(pinned, pinned.placement(), _SEARCHES)
    awaited = len(report.missing)
    if awaited * len(scenario.topology.nodes) > MOST_PLACEMENTS:
        return tuple(replace(change, placed=None, awaited=awaited) for change in found)
    judged = (_judge(change, scenario, report) for change in found)
    return tuple(sorted(judged, key=lambda change: change.placed != change.awaited))


def _judge(change: SuggestedChange, scenario: Scenario, report: DaemonReport) -> SuggestedChange:
    awaited = len(report.missing)
    for edits in widen(change.edits):
        nodes = _place(edits, scenario, report)
        if len(nodes) == awaited:
            sentence = describe_change(edits, scenario.names)
            return SuggestedChange(sentence, edits, nodes, awaited, awaited)
    nodes = _place(change.edits, scenario, report)
    return replace(change, nodes=nodes, placed=len(nodes), awaited=awaited)


def _place(edits: remedies.Edits, scenario: Scenario, report: DaemonReport) -> tuple[str, ...]:
    """Place the missing pods after edits; return the names of their nodes, in order."""
    changed = apply_all(edits, scenario)
    names = {pod.node for pod in report.missing}
    missing = [node for node in changed.topology.nodes if node.name in names]
    _, placed = fill(changed, missing)
    return tuple(node.name for node in missing if node.name in placed)
