"""Two minutes of load and faults; ``make soak`` runs an hour, and CI its own two minutes."""

from pathlib import Path

import pytest

from tests.controlplane.assets import Assets
from tests.e2e.objects import LONG
from tests.faults.plugin import FaultReport
from tests.soak.run import SoakOptions, run_soak

OPTIONS = SoakOptions(seconds=120)


@pytest.mark.fault(30)
@pytest.mark.skipif(not LONG, reason="CI runs two minutes by `make soak`")
def test_faults_of_all_kinds_under_load_lose_no_call_and_leave_nothing_behind(
    control_plane_assets: Assets, tmp_path: Path, fault_report: FaultReport
) -> None:
    report = run_soak(control_plane_assets, tmp_path, OPTIONS, print)

    print(report.as_text())
    faults = sum(report.faults.values())
    fault_report.record(
        load=f"{OPTIONS.rate:.0f} calls a second for {report.seconds:.0f} s, {faults} faults",
        calls=report.calls,
        failed=report.failed,
        outcome="no task, socket or descriptor more",
    )
    assert report.misses == []
