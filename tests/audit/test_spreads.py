"""Spreads count the running pods of a workload by domain."""

from collections.abc import Mapping

import pytest

from tests.audit import world
from tests.audit.world import audit, audit_options, gather, inventory, pod
from webhook.audit.report import DomainCount, SpreadReport, UncountedPods
from webhook.audit.spreads import MOST_CELLS, measure_spreads
from webhook.policy.model import HOSTNAME, ZONE


def spreads(text: str) -> list[tuple[SpreadReport, ...]]:
    found = inventory(gather(text).snapshot)
    gates = audit_options().policy.gates
    return [measure_spreads(item.subject, found.state, gates) for item in found.audited]


def test_the_pods_of_a_constraint_are_counted() -> None:
    ((spread,),) = spreads(world.NODES + world.DEPLOYMENT + world.REPLICA_SET + world.RUNNING)

    assert (spread.skew, spread.minimum, spread.max_skew, spread.excess) == (3, 0, 1, 2)
    assert [cell.pods for cell in spread.cells] == [3, 1, 0]


def test_a_workload_without_running_pods_has_no_spread() -> None:
    assert spreads(world.NODES + world.DEPLOYMENT) == [()]


def without_constraints(text: str) -> str:
    return text.replace("topologySpreadConstraints", "ignored")


def test_pods_without_a_constraint_are_counted_by_zone() -> None:
    live = world.DEPLOYMENT + world.REPLICA_SET + world.RUNNING

    ((spread,),) = spreads(world.NODES + without_constraints(live))

    assert (spread.topology_key, spread.max_skew) == ("topology.kubernetes.io/zone", None)
    assert spread.cells == (
        DomainCount("zone-a", 1, 3, 3, 1), DomainCount("zone-b", 1, 1, 1, 1),
        DomainCount("zone-c", 1, 0, 0, 1),
    )  # fmt: skip
    assert (spread.minimum, spread.skew, spread.excess) == (0, 3, 0)


def test_pods_without_a_constraint_on_unknown_nodes_have_no_spread() -> None:
    live = world.DEPLOYMENT + world.REPLICA_SET + world.RUNNING

    assert spreads(without_constraints(live)) == [()]


def test_of_many_domains_the_fullest_are_listed() -> None:
    zones = "".join(world.NODES.replace("node-", f"node-{i}-").replace("zone-", f"zone-{i}-")
                    for i in range(MOST_CELLS))  # fmt: skip
    pods = "".join(world.pod(f"web-{i}", f"node-{i}-a") for i in range(MOST_CELLS))

    ((spread,),) = spreads(zones + world.DEPLOYMENT + world.REPLICA_SET + pods)

    assert (spread.domains, len(spread.cells)) == (3 * MOST_CELLS, MOST_CELLS)
    assert spread.left_out == 2 * MOST_CELLS
    assert {cell.pods for cell in spread.cells} == {1}


def own(spread: SpreadReport) -> dict[str, int]:
    return {cell.value: cell.own for cell in spread.cells}


def counts(spread: SpreadReport) -> dict[str, int]:
    return {cell.value: cell.pods for cell in spread.cells}


def test_pods_that_the_constraint_does_not_count_are_where_they_are() -> None:
    ((spread,),) = spreads(world.MISCOUNTED)

    assert own(spread) == {"zone-a": 4, "zone-b": 0, "zone-c": 0}
    assert counts(spread) == {"zone-a": 0, "zone-b": 0, "zone-c": 0}
    assert (spread.own, spread.own_skew, spread.counted, spread.skew) == (4, 4, 0, 0)
    assert spread.uncounted == UncountedPods(unselected=4)
    assert (spread.excess, spread.is_even) == (3, False)


def test_few_pods_that_are_not_counted_are_not_even() -> None:
    pods = "".join(pod(f"web-{zone}", f"node-{zone}", selects="wbe") for zone in "abc")

    ((spread,),) = spreads(world.NODES + world.DEPLOYMENT + world.REPLICA_SET + pods)

    assert (spread.excess, spread.is_even, spread.uncounted.total) == (-1, False, 3)


LOST = "---\n{apiVersion: v1, kind: Node, metadata: {name: node-x}}\n"

WITHOUT_DOMAIN: Mapping[str, tuple[str, str, UncountedPods]] = {
    "Pending": ("", "", UncountedPods(pending=1)),
    "on a node that is gone": ("", "node-gone", UncountedPods(unknown_node=1)),
    "on a node without the key": (LOST, "node-x", UncountedPods(without_key=1)),
}


@pytest.mark.parametrize(
    ("nodes", "node", "uncounted"), WITHOUT_DOMAIN.values(), ids=WITHOUT_DOMAIN
)
def test_pods_without_a_domain_are_counted_apart(
    nodes: str, node: str, uncounted: UncountedPods
) -> None:
    pods = "".join(pod(f"web-{zone}", f"node-{zone}") for zone in "abc") + pod("web-d", node)

    ((spread,),) = spreads(world.NODES + nodes + world.DEPLOYMENT + world.REPLICA_SET + pods)

    assert (spread.own, spread.counted, spread.uncounted) == (4, 3, uncounted)
    assert (spread.excess, spread.is_even) == (-1, False)


def test_pods_on_nodes_that_are_not_eligible_are_in_a_value_that_is_no_domain() -> None:
    selecting = world.DEPLOYMENT.replace(
        "      containers",
        "      nodeSelector: {disk: ssd}\n      containers",
    )
    nodes = world.NODES.replace("kubernetes.io/hostname: node-a", "disk: ssd").replace(
        "kubernetes.io/hostname: node-b", "disk: ssd"
    )
    pods = "".join(pod(f"web-{zone}", f"node-{zone}") for zone in "abc")

    ((spread,),) = spreads(nodes + selecting + world.REPLICA_SET + pods)

    assert spread.cells == (
        DomainCount("zone-a", 1, 1, 1, 1), DomainCount("zone-b", 1, 1, 1, 1),
        DomainCount("zone-c", 0, 0, 1, 1),
    )  # fmt: skip
    assert (spread.domains, spread.uncounted) == (2, UncountedPods(ineligible=1))


def test_pods_of_other_workloads_that_count_do_not_make_a_workload_even() -> None:
    mine = pod("web-0", "node-a") + pod("web-1", "node-a")
    others = "".join(pod(f"old-{zone}{i}", f"node-{zone}", "Fleet/old")
                     for zone in "bc" for i in range(2))  # fmt: skip

    (web,), (fleet,) = spreads(world.NODES + world.DEPLOYMENT + world.REPLICA_SET + mine + others)

    assert (web.skew, web.own_skew, web.others, web.is_even) == (0, 2, 4, False)
    assert (own(web)["zone-a"], counts(web)["zone-b"]) == (2, 2)
    assert (fleet.skew, fleet.own_skew, fleet.others) == (0, 2, 2)


def test_revisions_of_a_rollout_are_measured_apart() -> None:
    new = world.REPLICA_SET.replace("web-1", "web-2").replace("h1", "h2")
    old_pods = "".join(pod(f"web-1-{i}", "node-a") for i in range(3))
    new_pods = "".join(
        pod(f"web-2-{zone}", f"node-{zone}", "ReplicaSet/web-2", revision="h2") for zone in "ab"
    )

    (rows,) = spreads(
        world.NODES + world.DEPLOYMENT + world.REPLICA_SET + new + old_pods + new_pods
    )

    assert [(row.revision, row.own, row.skew, row.own_skew, row.others) for row in rows] == [
        ("pod-template-hash=h1", 3, 3, 3, 0),
        ("pod-template-hash=h2", 2, 1, 1, 0),
    ]
    assert own(rows[0]) == {"zone-a": 3, "zone-b": 0, "zone-c": 0}


def numbered(name: str, number: int) -> str:
    """Write a ReplicaSet with the number of its revision."""
    return world.REPLICA_SET.replace("web-1", name).replace(
        "namespace: shop",
        f'namespace: shop\n  annotations: {{deployment.kubernetes.io/revision: "{number}"}}',
        1,
    )


def test_pods_that_a_rollout_deletes_do_not_make_a_workload_uneven() -> None:
    sets = numbered("web-1", 1) + numbered("web-2", 2).replace("h1", "h2")
    old_pods = "".join(pod(f"web-1-{i}", "node-a") for i in range(3))
    new_pods = "".join(
        pod(f"web-2-{zone}", f"node-{zone}", "ReplicaSet/web-2", revision="h2") for zone in "ab"
    )

    (rows,) = spreads(world.NODES + world.DEPLOYMENT + sets + old_pods + new_pods)

    assert [(row.about, row.own_skew, row.excess, row.is_even) for row in rows] == [
        (f"{ZONE}, pod-template-hash=h1, being replaced", 3, 0, True),
        (f"{ZONE}, pod-template-hash=h2", 1, 0, True),
    ]


# nodes of the old pods, nodes of the new ones, replicas, the spread of the new pods
TOGETHER: dict[str, tuple[str, str, int, tuple[str, int, int]]] = {
    "even without the old pods": ("aaa", "bc", 3, (f"{ZONE}, pod-template-hash=h2", 1, 0)),
    "even with those to come": (
        "b", "aab", 6, (f"{ZONE}, pod-template-hash=h2, being rolled out", 2, 0)
    ),
    "uneven for good": ("bc", "aaa", 3, (f"{ZONE}, pod-template-hash=h2", 3, 2)),
}  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "replicas", "expected"), TOGETHER.values(), ids=TOGETHER.keys()
)
def test_pods_that_a_rollout_deletes_do_not_count_without_match_label_keys(
    old: str, new: str, replicas: int, expected: tuple[str, int, int]
) -> None:
    sets = numbered("web-1", 1) + numbered("web-2", 2).replace("h1", "h2")
    pods = "".join(pod(f"web-1-{i}", f"node-{zone}") for i, zone in enumerate(old))
    pods += "".join(
        pod(f"web-2-{i}", f"node-{zone}", "ReplicaSet/web-2", revision="h2")
        for i, zone in enumerate(new)
    )
    text = world.DEPLOYMENT.replace("replicas: 4", f"replicas: {replicas}") + sets + pods
    text = text.replace("        matchLabelKeys: [pod-template-hash]\n", "")

    report = audit(world.NODES + text.replace(', "matchLabelKeys": ["pod-template-hash"]', ""))

    rows = report.workloads[0].spreads
    kept = [(row.about, row.skew, row.excess) for row in rows if not row.replaced]
    assert (kept, [row.excess for row in rows if row.replaced]) == ([expected], [0])
    assert report.summary.uneven == (expected[2] > 0)
    assert ("TSC114" in {rule for _, rule in world.rules(report)}) == (expected[2] > 0)


def test_a_hostname_is_counted_by_node() -> None:
    live = world.DEPLOYMENT + world.REPLICA_SET + world.RUNNING

    ((spread,),) = spreads(world.NODES + live.replace(ZONE, HOSTNAME))

    assert own(spread) == {"node-a": 3, "node-b": 1, "node-c": 0}
    assert (spread.own_skew, spread.skew) == (3, 3)


def test_pods_without_a_constraint_are_counted_by_the_keys_of_their_defaults() -> None:
    live = without_constraints(world.DEPLOYMENT + world.REPLICA_SET + world.RUNNING)
    found = inventory(gather(world.NODES + live).snapshot)
    gates = audit_options().policy.gates

    rows = measure_spreads(found.audited[0].subject, found.state, gates, [HOSTNAME, ZONE])

    assert [(row.topology_key, own(row)) for row in rows] == [
        (ZONE, {"zone-a": 3, "zone-b": 1, "zone-c": 0}),
        (HOSTNAME, {"node-a": 3, "node-b": 1, "node-c": 0}),
    ]


def test_with_fewer_domains_than_min_domains_the_emptiest_has_no_pod() -> None:
    live = world.DEPLOYMENT + world.REPLICA_SET + "".join(
        pod(f"web-{zone}{i}", f"node-{zone}") for zone in "abc" for i in range(2)
    )  # fmt: skip

    ((spread,),) = spreads(
        world.NODES
        + live.replace("maxSkew: 1", "maxSkew: 1\n        minDomains: 5").replace(
            '"maxSkew":1', '"maxSkew":1,"minDomains":5'
        )
    )

    assert (spread.minimum, spread.skew, spread.own_skew) == (0, 2, 2)


def test_values_without_a_domain_are_among_the_fullest() -> None:
    zones = "".join(world.NODES.replace("node-", f"node-{i}-").replace("zone-", f"zone-{i}-")
                    for i in range(MOST_CELLS))  # fmt: skip
    pods = "".join(pod(f"web-{i}", f"node-{i}-a", selects="wbe") for i in range(2))

    ((spread,),) = spreads(zones + world.DEPLOYMENT + world.REPLICA_SET + pods)

    assert own(spread) == {"zone-0-a": 1, "zone-1-a": 1}
    assert spread.left_out == 3 * MOST_CELLS - 2


def zones_with(*numbers: int) -> str:
    """Pods of web, these numbers of them in zones a, b and c."""
    names = (
        f"{zone}{i}" for zone, number in zip("abc", numbers, strict=True) for i in range(number)
    )
    pods = "".join(pod(f"web-{name}", f"node-{name[0]}") for name in names)
    return world.NODES + world.DEPLOYMENT + world.REPLICA_SET + pods


EVICTIONS = {
    "even": ((2, 2, 1), 1, 0),
    "within maxSkew": ((2, 1, 1), 1, 0),
    "an empty zone": ((5, 2, 0), 1, 2),
    "one is above": ((3, 1, 1), 1, 1),
    "too few domains, and every one above the limit": ((2, 1, 1), 9, None),
    "too few domains, and room in others": ((2, 1, 0), 9, 1),
}


@pytest.mark.parametrize(("numbers", "min_domains", "fewest"), EVICTIONS.values(), ids=EVICTIONS)
def test_the_fewest_evictions(
    numbers: tuple[int, ...], min_domains: int, fewest: int | None
) -> None:
    text = zones_with(*numbers)
    text = text.replace("- maxSkew: 1", f"- maxSkew: 1\n        minDomains: {min_domains}")
    text = text.replace('"maxSkew":1', f'"maxSkew":1,"minDomains":{min_domains}')

    ((spread,),) = spreads(text)

    assert spread.evictions == fewest


def test_without_a_constraint_no_evictions_are_needed() -> None:
    ((spread,),) = spreads(without_constraints(zones_with(3, 0, 0)))

    assert spread.evictions is None
