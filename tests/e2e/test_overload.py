"""Four times the capacity: calls are answered in time or refused at once; then all is as before."""

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.bench import cpu
from tests.bench.rows import percentile
from tests.e2e.flood import Flood, FloodCall
from tests.e2e.health import peak
from tests.e2e.objects import LONG, rounds
from tests.e2e.siege import MOST_MEMORY
from tests.e2e.standalone import Standalone
from tests.faults.plugin import FaultReport
from tests.server.serving import call, review

CONNECTIONS = 400
FEW = 4  # connections, which are enough to keep a server busy
FLOOD_S = rounds(3, 60)
AROUND_S = rounds(1, 5)  # of usual load before and afterwards
USUAL = 0.25  # of the capacity
OVERLOAD = 4.0  # times the capacity
TIMEOUT_S = 3.0  # of a call, as the webhooks are registered
RECOVERED_S = 5.0
LEAST_SERVED = 0.3  # of the capacity
MOST_REFUSED_CPU = 0.2  # of the CPU time of an answer
CALIBRATION = 400  # calls

CONSTRAINTS = 120  # in a pod of 27 kB that takes about a millisecond


class Load(NamedTuple):
    """
    What a server has done.

    Attributes:
        cpu: Seconds of CPU time.
    """

    calls: list[FloodCall]
    cpu: float

    def latencies(self, status: int) -> list[float]:
        return [call.seconds for call in self.calls if call.status == status]


def pod() -> bytes:
    """A review that is expensive for its size."""
    constraints = [
        {
            "maxSkew": 1,
            "topologyKey": f"example.com/key-{number}",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {
                "matchLabels": {"app": f"app-{number}"},
                "matchExpressions": [{"key": "tier", "operator": "In", "values": ["a", "b"]}],
            },
        }
        for number in range(CONSTRAINTS)
    ]
    spec = {"topologySpreadConstraints": constraints}
    return review(object={"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": spec})


def load(server: Standalone, flood: Flood, seconds: float, rate: float) -> Load:
    before = cpu.spent(server.process.pid).running
    calls = flood.run(seconds, rate)
    return Load(calls, cpu.spent(server.process.pid).running - before)


@pytest.mark.fault(25)
def test_overload_is_refused_at_once_and_over_when_the_load_is(
    tmp_path: Path, fault_report: FaultReport
) -> None:
    request = call(pod(), f"/mutate?timeout={TIMEOUT_S:g}s")
    with (
        Standalone(tmp_path, {}).started() as server,
        Flood(server.port, request, CONNECTIONS) as flood,
        Flood(server.port, request, FEW) as few,
    ):
        few.run(0.05, CALIBRATION / 0.05)
        alone = load(server, few, 0.05, CALIBRATION / 0.05)
        capacity = CALIBRATION / max(call.due + call.seconds for call in alone.calls)
        before = load(server, few, AROUND_S, capacity * USUAL)
        during = load(server, flood, FLOOD_S, capacity * OVERLOAD)
        after = load(server, few, RECOVERED_S + AROUND_S, capacity * USUAL)
        most, ready = peak(server.process.pid), server.ready

    answered, refused = during.latencies(200), during.latencies(503)
    answer_cpu = alone.cpu / CALIBRATION
    refused_cpu = max(0.0, during.cpu - len(answered) * answer_cpu) / max(1, len(refused))
    recovered = [call for call in after.calls if call.due >= RECOVERED_S]
    usual, later = percentile(before.latencies(200), 0.5), [call.seconds for call in recovered]
    assert len(answered) + len(refused) == len(during.calls)
    assert all(call.again for call in during.calls if call.status == 503)
    assert {200} <= {call.status for call in recovered} <= {200, 503}
    if LONG:  # the short form has no core of its own
        assert max(answered) < TIMEOUT_S
        assert max(refused) < TIMEOUT_S / 2
        assert len(answered) >= LEAST_SERVED * capacity * FLOOD_S
        assert refused_cpu <= MOST_REFUSED_CPU * answer_cpu
        assert {call.status for call in recovered} == {200}
        assert percentile(later, 0.5) <= 3 * usual + 0.05
    assert ready
    assert most < MOST_MEMORY
    fault_report.record(
        load=f"{capacity * OVERLOAD:.0f} calls/s for {FLOOD_S} s, capacity {capacity:.0f}/s",
        calls=len(during.calls),
        failed=0,
        outcome=f"{len(answered)} answered, p99 {percentile(answered, 0.99):.2f} s; "
        f"{len(refused)} refused, p99 {percentile(refused or [0.0], 0.99):.2f} s, "
        f"CPU {refused_cpu / answer_cpu:.2f} of an answer",
    )
