"""What the benchmark of audits measures, on a cluster of a thousandth of the size."""

import sys
from pathlib import Path
from subprocess import CalledProcessError

import pytest

from tests.bench import fleet
from tests.bench.audits import LargeCluster, used_by
from tests.bench.servers import EVENSPREAD
from webhook.audit.snapshot import load_snapshot

SMALL = fleet.Size(nodes=30, pods=1_500, workloads=60)


def test_a_made_cluster_has_as_many_of_each_as_it_should(tmp_path: Path) -> None:
    fleet.write(SMALL, tmp_path / "fleet.json.gz")

    made = load_snapshot(str(tmp_path / "fleet.json.gz"))

    assert (len(made.nodes), len(made.pods)) == (30, 1_500)
    assert sum(not workload.subject.controlled for workload in made.workloads) == 60


def test_a_cluster_with_too_few_pods_is_refused() -> None:
    with pytest.raises(ValueError, match="leaves no pod"):
        list(fleet.workloads(fleet.Size(nodes=30, pods=100, workloads=60)))


def test_audits_and_placements_are_measured(tmp_path: Path) -> None:
    cluster = LargeCluster(tmp_path, EVENSPREAD, SMALL)

    assert cluster.audit().cpu > cluster.decode().cpu > 0
    assert all(seconds > 0 for seconds in cluster.placements(2))


def test_a_command_that_fails_is_not_measured() -> None:
    with pytest.raises(CalledProcessError):
        used_by(sys.executable, "-c", "raise SystemExit(3)")


def test_memory_is_that_of_the_process_when_it_was_largest() -> None:
    small = used_by(sys.executable, "-c", "pass").largest
    large = used_by(sys.executable, "-c", "x = bytearray(b'1') * 2**26; del x").largest

    assert large - small > 60
