from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.policy.placement import clusters
from webhook.policy.explain.changes import smallest_changes
from webhook.policy.explain.edits import apply_all
from webhook.policy.explain.situation import Situation
from webhook.policy.placement.census import Census
from webhook.policy.placement.place import measure, place, refusals
from webhook.policy.placement.spreads import HARD, resolve
from webhook.policy.placement.topology import Topology


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    """Draw a pod with hard constraints and a small cluster, some of whose nodes are cordoned."""
    pod = draw(clusters.incoming)
    some = st.lists(clusters.constraints, max_size=3, unique_by=lambda each: each.topology_key)
    constraints = tuple(replace(each, when_unsatisfiable=HARD) for each in draw(some))
    nodes = [
        replace(node, unschedulable=draw(st.booleans())) for node in draw(clusters.node_lists())
    ]
    census = Census()
    for namespace, labels, name in draw(clusters.placed_pods):
        census.add(namespace, labels, name)
    spreads = resolve(constraints, pod.labels, clusters.gates())
    return Situation(pod, spreads, Topology(nodes), census)


blocked = situations().filter(lambda situation: not situation.placement().passing)


def passing(situation: Situation) -> tuple[str, ...]:
    """Place anew, with nothing of what was remembered."""
    topology = Topology(situation.topology.nodes)
    measured = measure(situation.pod, situation.spreads, topology, situation.census.copy())
    return place(measured, topology, refusals(topology, situation.pod.demands)).passing


@settings(max_examples=300)
@given(blocked)
def test_every_change_lets_the_pod_be_placed(situation: Situation) -> None:
    changes = smallest_changes(situation, situation.placement())
    assert changes
    for change in changes:
        assert passing(apply_all(change.edits, situation)) == change.nodes
