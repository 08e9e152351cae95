"""TSC109 in random clusters, compared with kube-scheduler's filter for pods in every order."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.build import Json, spread
from tests.policy.advice.orders import count_placed
from tests.policy.advice.subjects import GPU, audit, check_rule, deployed, node
from webhook.policy.advice.subject import Subject
from webhook.policy.model import HOSTNAME, ZONE, Node

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


@given(some_nodes(), some_constraints(), st.integers(4, 7))
def test_replicas_without_a_place_are_those_of_placement(
    nodes: list[Node], written: list[Json], replicas: int
) -> None:
    advised = deployed(*written, replicas=replicas, template_spec={"nodeSelector": {"pool": ""}})
    zones, hosts = advised.constraints
    found = check_rule("TSC109", advised, audit(nodes))

    most = max(count_placed(advised, nodes, replicas))
    alone = [
        max(count_placed(advised, nodes, replicas, constraints=(one,))) for one in (zones, hosts)
    ]

    assert bool(found) is (0 < most < replicas and alone == [replicas, replicas])
    for violation in found:
        assert f"more than {most} of {replicas} replicas" in violation.problem
        assert_first_that_fits(
            violation.instead, advised, 1, nodes, range(hosts.max_skew, replicas)
        )


@st.composite
def some_racks(draw: st.DrawFn) -> list[Node]:
    """Draw nodes of three zones and two racks, neither of which lie within the other."""
    cells = draw(st.sets(st.tuples(st.sampled_from("abc"), st.sampled_from("12")), min_size=3))
    return [node(zone + rack, zone, rack=rack) for zone, rack in sorted(cells)]


@given(some_racks(), st.sampled_from([(1, 1), (1, 2), (2, 1)]), st.integers(3, 7))
def test_replicas_without_a_place_in_domains_that_cross(
    nodes: list[Node], skews: tuple[int, int], replicas: int
) -> None:
    keys = zip((ZONE, "rack"), skews, strict=True)
    written = [spread(topologyKey=key, maxSkew=skew) for key, skew in keys]
    advised = deployed(*written, replicas=replicas)
    found = check_rule("TSC109", advised, audit(nodes))

    most = max(count_placed(advised, nodes, replicas))

    assert bool(found) is (most < replicas)
    for violation in found:
        assert f"more than {most} of {replicas} replicas" in violation.problem
        assert_first_that_fits(violation.instead, advised, 1, nodes, range(skews[1], replicas))


@given(some_nodes(), some_constraints(), st.integers(2, 6))
def test_a_skew_that_can_bind_leaves_every_replica_a_place(
    nodes: list[Node], written: list[Json], replicas: int
) -> None:
    loose = [{**one, "maxSkew": replicas} for one in written]
    advised = deployed(
        *loose,
        replicas=replicas,
        template_spec={"nodeSelector": {"pool": ""}},
        strategy={"type": "Recreate"},
    )

    for index, violation in enumerate(check_rule("TSC112", advised, audit(nodes))):
        if max(count_placed(advised, nodes, replicas)):
            assert_first_that_fits(violation.instead, advised, index, nodes, range(replicas))


def assert_first_that_fits(
    instead: str, advised: Subject, index: int, nodes: list[Node], skews: range
) -> None:
    """Check that a suggested maxSkew is the smallest with which each order places all replicas."""
    replicas, constraint = advised.replicas or 0, advised.constraints[index]

    def fits(max_skew: int) -> bool:
        changed = [*advised.constraints]
        changed[index] = replace(constraint, max_skew=max_skew)
        return count_placed(advised, nodes, replicas, constraints=changed) == {replicas}

    enough = next(filter(fits, skews[1:]), None)
    soft = "whenUnsatisfiable: ScheduleAnyway"
    assert instead == (soft if enough is None else f"maxSkew: {enough}")
