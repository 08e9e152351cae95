"""An event loop that is blocked: seen afterwards, survived by the kubelet's patience."""

from functools import partial
from pathlib import Path

import pytest
import yaml

from tests.deploy.manifests import DEPLOY
from tests.e2e.bystander import Bystander
from tests.e2e.health import LivezSampler
from tests.e2e.objects import rounds
from tests.e2e.standalone import BLOCKED_S, Standalone, eventually
from tests.faults.plugin import FaultReport

BLOCKS = rounds(1, 5)
LAGS = "event_loop_lag_seconds"


def liveness() -> dict[str, float]:
    """The liveness probe as shipped."""
    text = (DEPLOY / "kustomize" / "base" / "deployment.yaml").read_text()
    (deployment,) = (o for o in yaml.safe_load_all(text) if o and o["kind"] == "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    probe: dict[str, float] = container["livenessProbe"]
    return probe


def long_lags(server: Standalone) -> float:
    """How often the loop was blocked for over a second, as the alert counts it."""
    return server.metric(f"{LAGS}_count") - server.metric(f"{LAGS}_bucket", le="1.0")


def lags(server: Standalone, times: int) -> bool:
    """Whether the loop was blocked so often."""
    return long_lags(server) >= times


@pytest.mark.fault(26)
async def test_a_blocked_loop_is_measured_and_the_replica_stays(
    tmp_path: Path, fault_report: FaultReport
) -> None:
    folders = tmp_path / "blocked", tmp_path / "other"
    for folder in folders:
        folder.mkdir()
    blocked, other = (Standalone(folder, {}) for folder in folders)
    with blocked, other:
        for server in (blocked, other):
            server.wait()
        with LivezSampler(blocked) as sampler:
            async with Bystander(blocked) as patient, Bystander(other) as elsewhere:
                for number in range(1, BLOCKS + 1):
                    blocked.block()
                    await eventually(partial(lags, blocked, number))
        counted, spared = long_lags(blocked), long_lags(other)

    probe = liveness()
    slowest = max(sample.measured for sample in sampler.samples) / 1000
    assert counted >= BLOCKS
    assert patient.statuses == {200}
    elsewhere.check()
    assert {sample.status for sample in sampler.samples} == {200}
    assert probe["timeoutSeconds"] * probe["failureThreshold"] > BLOCKED_S
    assert slowest < probe["periodSeconds"] * probe["failureThreshold"]
    fault_report.record(
        load=f"blocked for {BLOCKED_S:g} s, times {BLOCKS}",
        calls=len(patient.latencies) + len(elsewhere.latencies),
        failed=0,
        outcome=f"{counted:.0f} measured, {spared:.0f} at the other replica, whose p99 is "
        f"{elsewhere.p99 * 1e3:.0f} ms; /livez at most {slowest:.1f} s",
    )
