import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.policy.placement.clusters import (
    GPU,
    SELECTS_WEB,
    WEB,
    WEB_POD,
    cluster,
    gates,
    node,
    running,
    spread_over,
)
from webhook.policy.model import HOSTNAME, ZONE, Constraint, LabelSelector, LabelSelectorRequirement
from webhook.policy.placement.census import Census
from webhook.policy.placement.nodes import Demands
from webhook.policy.placement.spreads import resolve_constraints
from webhook.policy.placement.tallies import (
    IncomingPod,
    MinimumReason,
    PodTally,
    tally_pods,
)
from webhook.policy.placement.topology import Topology


def tally(
    constraint: Constraint, topology: Topology, census: Census, pod: IncomingPod = WEB_POD
) -> PodTally:
    (found,) = tally_pods(
        pod, resolve_constraints((constraint,), pod.labels, gates()).hard, topology, census
    )
    return found


# pods by zone, minDomains, minimum, floor
MINIMA = {
    "the emptiest domain": ({"a": 3, "b": 2, "c": 1}, 1, 1, MinimumReason.FEWEST_PODS),
    "an empty domain": ({"a": 1, "b": 1, "c": 0}, 1, 0, MinimumReason.EMPTY_DOMAIN),
    "as many domains as required": ({"a": 2, "b": 2}, 2, 2, MinimumReason.FEWEST_PODS),
    "fewer domains than required": ({"a": 2, "b": 2}, 3, 0, MinimumReason.TOO_FEW_DOMAINS),
    "too few domains, one of them empty": ({"a": 2, "b": 0}, 3, 0, MinimumReason.TOO_FEW_DOMAINS),
    "no domain": ({}, 1, 0, MinimumReason.NO_DOMAIN),
    "no domain, and more required": ({}, 3, 0, MinimumReason.NO_DOMAIN),
}


@pytest.mark.parametrize(
    ("pods", "min_domains", "minimum", "floor"), MINIMA.values(), ids=MINIMA.keys()
)
def test_global_minimum(
    pods: dict[str, int], min_domains: int, minimum: int, floor: MinimumReason
) -> None:
    found = tally(spread_over(min_domains=min_domains), *cluster(pods))

    assert (found.minimum, found.minimum_reason) == (minimum, floor)


def test_a_minimum_has_a_reason_in_words() -> None:
    assert [*MinimumReason] == [
        "no node is eligible",
        "there are fewer domains than minDomains",
        "a domain has no pod",
        "every domain has pods",
    ]


def test_fewer_domains_have_a_minimum_of_their_own() -> None:
    topology, census = cluster({"a": 3, "b": 2, "c": 0})
    closed = Topology(counted for counted in topology.nodes if counted.name != "c")
    found = tally(spread_over(), topology, census)

    fewer = found.within(closed.domains(ZONE, (ZONE,), Demands()))

    assert (found.minimum, found.minimum_reason) == (0, MinimumReason.EMPTY_DOMAIN)
    assert (fewer.minimum, fewer.minimum_reason) == (2, MinimumReason.FEWEST_PODS)
    assert fewer.pods == {"a": 3, "b": 2}
    assert fewer.domains.sizes.keys() == {"a", "b"}


def test_the_largest_skew_is_that_of_the_fullest_domain() -> None:
    assert tally(spread_over(), *cluster({"a": 5, "b": 2, "c": 3})).largest_skew == 3
    assert tally(spread_over(), *cluster({})).largest_skew == 0


def test_within_no_domain_there_is_no_pod() -> None:
    found = tally(spread_over(), *cluster({"a": 3}))

    none = found.within(Topology(()).domains(ZONE, (ZONE,), Demands()))

    assert (none.pods, none.minimum, none.minimum_reason) == ({}, 0, MinimumReason.NO_DOMAIN)


OTHER = LabelSelector(match_labels={"app": "db"})
NOT_DB = LabelSelector(
    match_expressions=(LabelSelectorRequirement(key="app", operator="NotIn", values=("db",)),)
)

# selector, pods in the zone, whether the incoming pod joins
JOINS = {
    "it selects the pod": (SELECTS_WEB, 2, True),
    "it selects others": (OTHER, 0, False),
    "it excludes others": (NOT_DB, 2, True),
    "an empty one counts nothing and selects the pod": (LabelSelector(), 0, True),
    "none counts nothing and selects nothing": (None, 0, False),
}


@pytest.mark.parametrize(("selector", "pods", "joins"), JOINS.values(), ids=JOINS.keys())
def test_whether_the_incoming_pod_counts(
    selector: LabelSelector | None, pods: int, joins: bool
) -> None:
    found = tally(spread_over(label_selector=selector), *cluster({"a": 2}))

    assert (found.pods.get("a", 0), found.matches_pod) == (pods, joins)


def test_pods_on_nodes_that_are_not_eligible_count_in_no_domain() -> None:
    topology = Topology([node("n1", "a"), node("n2", "a", taints=[GPU]), node("n3")])
    census = running({"n1": 1, "n2": 2, "n3": 4, "gone": 8})

    found = tally(spread_over(node_taints_policy="Honor"), topology, census)

    assert found.pods == {"a": 1}
    assert found.by_node == {"n1": 1, "n2": 2, "n3": 4, "gone": 8}


def test_pods_of_other_namespaces_do_not_count() -> None:
    topology, census = cluster({"a": 1})
    census.add("bank", WEB, "a", 5)

    assert tally(spread_over(), topology, census).pods == {"a": 1}


def test_a_node_must_carry_the_keys_of_all_constraints() -> None:
    topology = Topology([node("n1", "a", rack="r1"), node("n2", "b")])
    spreads = resolve_constraints((spread_over(), spread_over("rack")), WEB, gates()).hard

    found = tally_pods(WEB_POD, spreads, topology, running({"n1": 1, "n2": 1}))

    assert [counted.pods for counted in found] == [{"a": 1}, {"r1": 1}]


def test_without_required_keys_a_missing_value_is_a_domain() -> None:
    topology = Topology([node("n1", "a"), node("n2")])
    spreads = resolve_constraints((spread_over(),), WEB, gates()).hard

    (found,) = tally_pods(
        WEB_POD, spreads, topology, running({"n1": 1, "n2": 2}), requires_keys=False
    )

    assert found.pods == {"a": 1, "": 2}


def test_ineligible_nodes_are_counted_by_their_value() -> None:
    topology = Topology(
        [node("n1", "a"), node("n2", "a", taints=[GPU]), node("n3", "b", taints=[GPU]), node("n4")]
    )

    found = tally(spread_over(node_taints_policy="Honor"), topology, running({"n1": 1, "n3": 3}))

    assert found.count_ineligible(topology) == {"a": 1, "b": 1}
    assert (found.pods, found.domains.sizes) == ({"a": 1}, {"a": 1})


def test_affinity_is_honored_unless_it_is_ignored() -> None:
    topology, census = cluster({"a": 1, "b": 1})
    pod = IncomingPod("shop", WEB, Demands(pairs=((ZONE, "a"),)))

    honored = tally(spread_over(), topology, census, pod)
    ignored = tally(spread_over(node_affinity_policy="Ignore"), topology, census, pod)

    assert (honored.pods, ignored.pods) == ({"a": 1}, {"a": 1, "b": 1})


pods_by_zone = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 9))


@given(pods_by_zone, st.integers(1, 5), st.booleans())
def test_the_skew_of_a_domain_is_never_negative(
    pods: dict[str, int], min_domains: int, joins: bool
) -> None:
    topology, census = cluster(pods)
    constraint = spread_over(label_selector=SELECTS_WEB if joins else NOT_DB)

    found = tally(
        constraint, topology, census, IncomingPod("shop", WEB if joins else {"app": "db"})
    )

    assert all(found.skew(value) >= 0 for value in found.domains.sizes)


@given(pods_by_zone, st.integers(0, 9))
def test_pods_that_all_domains_share_change_no_skew(pods: dict[str, int], more: int) -> None:
    raised = {zone: number + more for zone, number in pods.items()}
    before, after = tally(spread_over(), *cluster(pods)), tally(spread_over(), *cluster(raised))

    assert all(before.skew(zone) == after.skew(zone) for zone in pods)


@given(pods_by_zone.filter(bool), st.data())
def test_a_pod_more_makes_its_domain_fuller_and_no_other(
    pods: dict[str, int], data: st.DataObject
) -> None:
    chosen = data.draw(st.sampled_from(sorted(pods)))
    fuller = {**pods, chosen: pods[chosen] + 1}
    before, after = tally(spread_over(), *cluster(pods)), tally(spread_over(), *cluster(fuller))

    assert after.skew(chosen) >= before.skew(chosen)
    assert all(after.skew(zone) <= before.skew(zone) for zone in pods.keys() - {chosen})


@given(pods_by_zone, st.integers(1, 5))
def test_asking_for_more_domains_never_lets_a_pod_in(pods: dict[str, int], fewest: int) -> None:
    topology, census = cluster(pods)
    lax = tally(spread_over(min_domains=fewest), topology, census)
    strict = tally(spread_over(min_domains=fewest + 1), topology, census)

    assert all(lax.fits(zone) for zone in pods if strict.fits(zone))


@given(pods_by_zone)
def test_the_hostname_is_a_key_like_others(pods: dict[str, int]) -> None:
    topology, census = cluster(pods)
    by_zone = tally(spread_over(), topology, census)
    by_host = tally(spread_over(HOSTNAME), topology, census)

    assert (by_zone.pods, by_zone.minimum) == (by_host.pods, by_host.minimum)


def test_a_pod_fits_up_to_the_maximal_skew() -> None:
    found = tally(spread_over(max_skew=2), *cluster({"a": 1, "b": 2, "c": 1}))

    assert found.fits("a") is True
    assert found.fits("b") is True
    assert tally(spread_over(max_skew=1), *cluster({"a": 1, "b": 2, "c": 1})).fits("b") is False
