"""Creations beside a real kube-apiserver."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench import filling
from tests.bench.cpu import choose_cores
from tests.bench.creations import admission_policy
from tests.bench.creator import LABELS, Creator, create_alternately, in_force
from tests.bench.live import LiveCluster
from tests.bench.load import LoadError
from tests.bench.servers import EVENSPREAD
from tests.controlplane.api import Json
from tests.controlplane.assets import Assets

ZONES = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}


@pytest.fixture
def live(control_plane_assets: Assets, tmp_path: Path) -> Iterator[LiveCluster]:
    del control_plane_assets  # without them this is skipped
    cores = choose_cores(os.sched_getaffinity(0))
    with LiveCluster(tmp_path, EVENSPREAD, cores, filling.Size(0, 0, 0)) as made:
        yield made


def test_pods_that_are_tried_leave_no_objects(live: LiveCluster) -> None:
    creator = Creator(live, 0.2, services=3, dry_run=True)

    turn = creator.take_turn(os.getpid())

    assert len(turn.took) == 5
    assert min(turn.cpu, turn.webhook, turn.rate) > 0
    assert live.plane.api.items("v1", "Pod") == []
    services = live.plane.api.items("v1", "Service", creator.namespace)
    selecting = [made for made in services if made["spec"]["selector"] == LABELS]
    assert (len(services), len(selecting)) == (3, 1)


def test_without_a_webhook_none_is_measured(live: LiveCluster) -> None:
    creator = Creator(live, 0.1)

    turn = creator.take_turn()

    assert turn.webhook == 0
    assert live.plane.api.items("v1", "Pod", creator.namespace)


def test_creations_alternate_between_namespaces(live: LiveCluster) -> None:
    creators = [Creator(live, 0.1, labels={"number": str(number)}) for number in range(2)]

    took = create_alternately(creators, 0.1)

    assert [len(seconds) for seconds in took] == [3, 2]
    assert len(create_alternately(creators, 0)[1]) == 1
    namespaces = live.plane.api.items("v1", "Namespace", labelSelector="number")
    assert [made["metadata"]["name"] for made in namespaces] == [c.namespace for c in creators]


def test_pods_must_get_the_constraints_that_are_wanted(live: LiveCluster) -> None:
    creator = Creator(live, 0.1)
    wanted: list[Json] = [{**ZONES, "labelSelector": {"matchLabels": LABELS}}]

    with in_force(creator, admission_policy(wanted), wanted):
        assert creator.expect(injected=True) == wanted
    with (
        pytest.raises(LoadError, match="instead of"),
        in_force(creator, admission_policy(wanted), []),
    ):
        pass
