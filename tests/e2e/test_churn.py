"""Random churn on a real control plane: the skew after scale-downs, with ranks and without."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.api import Json
from tests.controlplane.assets import Assets
from tests.controlplane.fixtures import run_plane
from tests.controlplane.plane import ControlPlane
from tests.e2e.churn import Churn, ScaleDown, ranking_fleet, skew
from tests.e2e.objects import LONG, rounds
from tests.e2e.ranks import join_zones, zone_of_nodes

ZONES = {"a": 8, "b": 3, "c": 1}
"""The Nodes of each zone."""

MAX_SKEW = 1
SECONDS = 300 if LONG else 0
SCALE_DOWNS = rounds(2, 100)  # at least; two cores make 128 in the time
MEASURED_SCALE_DOWNS = 20  # at least, if one of them is uneven: fewer have no share of 5 %
REPAIRED_SCALE_DOWNS = 10  # at least; each waits for the ranks to be corrected
EVEN_SHARE = 0.95  # of scale-downs, after which the skew is at most one more than the maximum
KILL_EVERY, BURST_EVERY = 4, 10  # rounds
UNCHANGED_S = 10  # after which ranks are corrected

REPAIRS = "scaleDownRepair: true\n"
LEASE: Json = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"name": "evenspread-audit", "namespace": "default"},
}


@pytest.fixture(scope="module")
def plane(control_plane_assets: Assets, request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """Start one control plane for all these tests; its Nodes belong to them."""
    with run_plane(ControlPlane(control_plane_assets), request.config) as started:
        join_zones(started, **ZONES)
        yield started


def failed_bindings(plane: ControlPlane) -> float:
    name, binding = "apiserver_request_total", {"resource": "pods", "subresource": "binding"}
    succeeded = plane.apiserver.metric(name, code="201", **binding)
    assert succeeded, "the metric exists"
    return plane.apiserver.metric(name, **binding) - succeeded


def is_even(down: ScaleDown) -> bool:
    """Whether ranks kept the skew that a scale-down leaves at most one above the maximum."""
    return skew(down.ranked) <= MAX_SKEW + 1


def test_ranks_at_least_halve_the_skew_that_scale_downs_leave_under_churn(
    plane: ControlPlane, tmp_path: Path
) -> None:
    downs: list[ScaleDown] = []
    with ranking_fleet(plane, tmp_path) as fleet:
        churn = Churn(plane, fleet, zone_of_nodes(ZONES), seed=1, stock=True)
        end = time.monotonic() + SECONDS
        while (
            len(downs) < SCALE_DOWNS
            or time.monotonic() < end
            or (len(downs) < MEASURED_SCALE_DOWNS and not all(map(is_even, downs)))
        ):
            number = len(downs) // 2
            churn.disturb()
            churn.scale_up(burst=number % BURST_EVERY == 3, kill=number % KILL_EVERY == 0)
            downs += [churn.scale_down(), churn.scale_down()]
        churn.close()

    ranked, stock = [skew(down.ranked) for down in downs], [skew(down.stock) for down in downs]
    print(f"{len(downs)} scale-downs, skew {ranked} with ranks, {stock} without")
    assert len(ranked) == len(stock) >= SCALE_DOWNS
    assert sum(map(is_even, downs)) >= EVEN_SHARE * len(downs)
    if LONG:  # two scale-downs of stock may be even by chance
        assert sum(ranked) <= sum(stock) / 2
    assert failed_bindings(plane) == 0


@pytest.mark.skipif(not LONG, reason="its short form is in test_repair.py")
def test_scale_downs_after_repairs_leave_at_most_the_maximum_skew(
    plane: ControlPlane, tmp_path: Path
) -> None:
    downs: list[ScaleDown] = []
    waits_s: dict[bool, list[float]] = {False: [], True: []}  # by whether a replica was killed
    plane.api.create(LEASE)
    with ranking_fleet(plane, tmp_path, REPAIRS, namespace="default") as fleet:
        churn = Churn(plane, fleet, zone_of_nodes(ZONES), seed=2, stock=False)
        end = time.monotonic() + SECONDS
        while len(downs) < REPAIRED_SCALE_DOWNS or time.monotonic() < end:
            churn.disturb()
            kill = len(downs) % KILL_EVERY == 1
            churn.scale_up(kill=kill)
            waits_s[kill].append(churn.wait_for_ranks())
            churn.wait_without_change()
            downs.append(churn.scale_down())
        churn.close()

    chosen = [down for down in downs if not down.unlabelled and skew(down.before) <= MAX_SKEW]
    ranked = [skew(down.ranked) for down in chosen]
    print(f"{len(downs)} scale-downs, skew of {len(ranked)}: {ranked} with repair; and of others:")
    for down in downs:
        if down not in chosen or skew(down.ranked) > MAX_SKEW:
            print(*down)
    for killed, waits in waits_s.items():
        print(f"{killed=}: ranks corrected after", *(f"{s:.1f}" for s in waits), "s")
    assert len(ranked) >= REPAIRED_SCALE_DOWNS
    assert max(ranked) <= MAX_SKEW
    # The other replica takes over the Lease of a killed one when it has expired, after 10 s.
    assert max(waits_s[False]) <= UNCHANGED_S
    assert failed_bindings(plane) == 0
