"""Spreads count the running pods of a workload by domain."""

from tests.audit import world
from tests.audit.world import audit_options, gather, inventory
from webhook.audit.report import DomainCount, SpreadReport
from webhook.audit.spreads import MOST_CELLS, measure_spreads


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
        DomainCount("zone-a", 1, 3), DomainCount("zone-b", 1, 1), DomainCount("zone-c", 1, 0),
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
