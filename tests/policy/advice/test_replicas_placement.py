"""TSC109 in random clusters, compared with kube-scheduler's filter for pods in every order."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.build import NAMESPACE, Json, gates, spread
from tests.policy.advice.subjects import GPU, audit, check_rule, deployed, node
from webhook.policy.advice.context import resolve_valid
from webhook.policy.advice.counting import next_pod
from webhook.policy.advice.subject import Subject
from webhook.policy.model import HOSTNAME, ZONE, Constraint, Node
from webhook.policy.placement.census import Census
from webhook.policy.placement.place import find_rejections, place_pod, tally_constraints
from webhook.policy.placement.topology import Topology

POLICIES = st.fixed_dictionaries(
    {
        "nodeAffinityPolicy": st.sampled_from(["Honor", "Ignore"]),
        "nodeTaintsPolicy": st.sampled_from(["Honor", "Ignore"]),
    }
)


@st.composite
def some_nodes(draw: st.DrawFn) -> list[Node]:
    """Draw nodes of two zones, some of which are tainted, or belong to another pool."""
    found: list[Node] = []
    for number in range(draw(st.integers(3, 6))):
        zone, pool = draw(st.sampled_from("abbb")), draw(st.sampled_from(["", "", "", "", "gpu"]))
        taints = draw(st.sampled_from([(), (), (), (), (GPU,)]))
        found.append(node(f"n{number}", zone, *taints, pool=pool))
    return found


@st.composite
def some_constraints(draw: st.DrawFn) -> list[Json]:
    """Draw one constraint on zones and one on nodes, which may count different nodes."""
    skews = draw(st.sampled_from([(1, 1), (1, 1), (1, 2), (2, 1)]))
    return [
        spread(topologyKey=key, maxSkew=skew, **draw(POLICIES))
        for key, skew in zip((ZONE, HOSTNAME), skews, strict=True)
    ]


def count_placed(
    advised: Subject, constraints: Sequence[Constraint], nodes: Sequence[Node], most: int
) -> int:
    """Count the replicas that have a place in the best order; every order is tried."""
    pod, topology = next_pod(advised), Topology(nodes)
    spreads = resolve_valid(tuple(constraints), pod.labels, gates())
    refused = find_rejections(topology, pod.demands)
    states = {(0,) * len(nodes)}
    for placed in range(most):
        following: set[tuple[int, ...]] = set()
        for state in states:
            census = Census()
            for one, number in zip(nodes, state, strict=True):
                census.add(NAMESPACE, pod.labels, one.name, number)
            tallies = tally_constraints(pod, spreads, topology, census)
            passing = place_pod(tallies, topology, refused).passing
            following |= {
                tuple(n + (one.name in chosen) for one, n in zip(nodes, state, strict=True))
                for chosen in ([name] for name in passing)
            }
        if not following:
            return placed
        states = following
    return most


@settings(max_examples=150)
@given(some_nodes(), some_constraints(), st.integers(4, 7))
def test_replicas_without_a_place_are_those_of_placement(
    nodes: list[Node], written: list[Json], replicas: int
) -> None:
    advised = deployed(*written, replicas=replicas, template_spec={"nodeSelector": {"pool": ""}})
    zones, hosts = advised.constraints
    found = check_rule("TSC109", advised, audit(nodes))

    most = count_placed(advised, (zones, hosts), nodes, replicas)
    alone = [count_placed(advised, (one,), nodes, replicas) for one in (zones, hosts)]

    assert bool(found) is (0 < most < replicas and alone == [replicas, replicas])
    for violation in found:
        assert f"more than {most} of {replicas} replicas" in violation.problem
        wider = int(violation.instead.removeprefix("maxSkew: "))
        for skew, fits in ((wider - 1, False), (wider, True)):
            changed = replace(hosts, max_skew=skew)
            placed = count_placed(advised, (zones, changed), nodes, replicas)
            assert (placed == replicas) is fits
