"""Trials filter again only what edits can change, and find the same nodes as all filters."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from tests.explain.filterscenarios import filter_scenarios
from tests.explain.scenarios import scenarios
from webhook.explain import remedies
from webhook.explain.changes import CHANGE_SEARCHES
from webhook.explain.nodeedits import AddNodes, Cordon, RemoveNodes
from webhook.explain.remedies import Edits
from webhook.explain.scenario import Scenario, apply_all
from webhook.explain.trials import ChangeTrials
from webhook.policy.model import HOSTNAME, ZONE
from webhook.policy.placement.filters.run import filter_nodes

some_scenarios = st.one_of(scenarios(), filter_scenarios())

SEARCHES = (*(candidates for candidates, _ in CHANGE_SEARCHES), remedies.combine_changes)


def filter_anew(edits: Edits, scenario: Scenario) -> tuple[str, ...]:
    """Run all filters for all nodes, with nothing remembered."""
    changed = apply_all(edits, scenario).with_nodes(apply_all(edits, scenario).topology.nodes)
    return filter_nodes(changed.pod, changed.spreads.hard, changed.cluster).passing


def assert_same(edits: Iterable[Edits], scenario: Scenario) -> None:
    trials = ChangeTrials(scenario, scenario.placement())
    for one in edits:
        assert trials.find_passing(one) == filter_anew(one, scenario), one


@given(some_scenarios)
def test_every_candidate_of_a_change_passes_where_all_filters_do(scenario: Scenario) -> None:
    placement = scenario.placement()

    for candidates in SEARCHES:
        assert_same(candidates(scenario, placement), scenario)


@given(some_scenarios)
def test_other_changes_of_nodes_are_tried_too(scenario: Scenario) -> None:
    names = [node.name for node in scenario.topology.nodes]
    edits: list[Edits] = [
        (),
        (AddNodes({ZONE: "a"}),),
        (AddNodes({ZONE: "b"}, 2, "n0"),),
        (AddNodes({ZONE: "c"}, 1, "n1"), Cordon("n0")),
        (RemoveNodes(ZONE, "a"), AddNodes({ZONE: "b"}, 2)),
        *((Cordon(name),) for name in names),
        *((RemoveNodes(HOSTNAME, name),) for name in names),
    ]

    assert_same(edits, scenario)
