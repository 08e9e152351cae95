"""What is observed beside a real kube-apiserver, on a cluster of a thousandth of the size."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench import filling
from tests.bench.cpu import choose_cores
from tests.bench.live import LiveCluster
from tests.bench.liverows import Observed, live_steps
from tests.bench.servers import EVENSPREAD
from tests.controlplane.assets import Assets

SMALL = filling.Size(replica_sets=100, services=10, nodes=5)


@pytest.fixture
def live(control_plane_assets: Assets, tmp_path: Path) -> Iterator[LiveCluster]:
    del control_plane_assets  # without them this is skipped
    with LiveCluster(tmp_path, EVENSPREAD, choose_cores(os.sched_getaffinity(0)), SMALL) as made:
        yield made


@pytest.mark.alone
def test_every_row_is_measured_and_the_objects_are_there_then(live: LiveCluster) -> None:
    observed = Observed(live, rounds=1, seconds=0.2)

    rows = [step(observed) for step in live_steps().values()]

    assert [row.what for row in rows] == list(live_steps())
    assert all(row.values for row in rows)
    assert len(observed.streamed.idle) == 40
    assert len(live.plane.api.items("v1", "Node")) == SMALL.nodes
    assert len(live.plane.api.items("apps/v1", "ReplicaSet")) == SMALL.replica_sets + 1


def test_replica_sets_are_as_long_as_real_ones_and_none_is_like_another() -> None:
    made = dict(filling.replica_sets(SMALL.replica_sets))

    assert len(made) == SMALL.replica_sets
    assert all("managedFields" in obj["metadata"] for obj in made.values())
