"""
Trials of edits: which nodes pass all filters after them.

``ChangeTrials`` is the entry point. What an edit cannot change is not filtered again: a node that
stays as it is keeps its rejection by a filter that the edits do not concern. So a trial costs as
much as there are nodes that may be affected.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from webhook.explain.remedies import Edits
from webhook.explain.scenario import Scenario, apply_all
from webhook.policy.placement.filters.run import LAST, NodeResults, filter_some
from webhook.policy.placement.place import PodPlacement, find_passing


class ChangeTrials:
    """
    Trials in one scenario; each edit of the pod lets it pass filters, and never fail one.

    Attributes:
        names: The names of label keys in sentences.
    """

    def __init__(self, scenario: Scenario, placement: PodPlacement) -> None:
        """Store the scenario and its placement."""
        self._scenario = scenario
        self.names = scenario.names
        self._rejections = placement.refused
        self._passing = placement.others.passing
        self._rejected = defaultdict[str, list[str]](list)  # plugin -> names of nodes
        for name, rejection in self._rejections.items():
            self._rejected[rejection.plugin].append(name)

    def find_passing(self, edits: Edits) -> tuple[str, ...]:
        """Find the names of the nodes that pass after edits, in order."""
        changed = apply_all(edits, self._scenario)
        lifted = frozenset[str]().union(*(edit.lifts for edit in edits))
        others = self._filter_again(self._list_affected(lifted, changed), changed)
        return find_passing(changed.pod, changed.spreads, changed.cluster, others)

    def _filter_again(self, affected: Iterable[str], changed: Scenario) -> NodeResults:
        """Run the filters besides PodTopologySpread for the nodes that may be affected."""
        nodes = [node for name in set(affected) if (node := changed.cluster.nodes.get(name))]
        if not nodes:
            return self._rejections
        return {**self._rejections, **filter_some(changed.pod, (), changed.cluster, nodes)}

    def _list_affected(self, lifted: Iterable[str], changed: Scenario) -> Iterator[str]:
        """
        Yield the names of nodes whose results may be other ones; names may recur.

        Other nodes, or other labels of them, change where affinity to pods is satisfied.
        """
        for plugin in lifted:
            yield from self._rejected[plugin]
        if changed.cluster is not self._scenario.cluster:
            yield from self._rejected[LAST]
            yield from self._passing
            before = self._scenario.cluster.nodes
            for name, node in changed.cluster.nodes.items():
                if node is not before.get(name):
                    yield name
