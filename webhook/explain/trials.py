"""
Trials of edits: which nodes pass all filters after them.

``ChangeTrials`` is the entry point. What an edit cannot change is not filtered again: a node that
stays as it is keeps its rejection by a filter that the edits do not concern. So a trial costs as
much as there are nodes that may be affected.
"""

from collections.abc import Collection

from webhook.explain.remedies import Edits
from webhook.explain.scenario import Scenario, apply_all
from webhook.policy.placement.filters.run import LAST, FilterResult, NodeResults, filter_nodes
from webhook.policy.placement.place import PodPlacement, find_passing


class ChangeTrials:
    """Trials in one scenario; each edit of the pod lets it pass filters, and never fail one."""

    def __init__(self, scenario: Scenario, placement: PodPlacement) -> None:
        """Store the scenario and its placement."""
        self._scenario = scenario
        self._others = placement.others

    def find_passing(self, edits: Edits) -> tuple[str, ...]:
        """Find the names of the nodes that pass after edits, in order."""
        changed = apply_all(edits, self._scenario)
        others = self._filter_again(edits, changed)
        return find_passing(changed.pod, changed.spreads, changed.cluster, others)

    def _filter_again(self, edits: Edits, changed: Scenario) -> FilterResult:
        """Run the filters besides PodTopologySpread for the nodes that may be affected."""
        lifted = frozenset[str]().union(*(edit.lifts for edit in edits))
        is_same = changed.cluster is self._scenario.cluster
        if is_same and not lifted:
            return self._others
        known = self._keep(lifted) if is_same else self._keep_nodes(lifted, changed)
        return filter_nodes(changed.pod, (), changed.cluster, known)

    def _keep(self, lifted: Collection[str]) -> NodeResults:
        """Keep the results in the same cluster but for rejections that may be lifted."""
        rejections = self._others.rejections
        results = ((name, rejections.get(name)) for name in self._scenario.cluster.nodes)
        return {
            name: found for name, found in results if found is None or found.plugin not in lifted
        }

    def _keep_nodes(self, lifted: Collection[str], changed: Scenario) -> NodeResults:
        """
        Keep the rejections of nodes that are the same as before, likewise.

        Other nodes, or other labels of them, change where affinity to pods is satisfied.
        """
        before, rejections = self._scenario.cluster.nodes, self._others.rejections
        return {
            node.name: found
            for node in changed.topology.nodes
            if node is before.get(node.name)
            and (found := rejections.get(node.name)) is not None
            and found.plugin not in lifted
            and found.plugin != LAST
        }
