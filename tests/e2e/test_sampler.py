"""What a sample of /livez leaves out."""

import pytest

from tests.e2e.sampler import TICK_S, late_ms

LATE = {
    "an answer at once": ([0.001], 0),
    "an answer after some ticks": ([TICK_S, TICK_S, 0.002], 0),
    "a machine that stands still before the answer": ([TICK_S, TICK_S + 0.2, 0.001], 200),
    "a machine that stands still until after the answer": ([TICK_S + 0.3], 300),
    "a process that wakes up a bit late each time": ([TICK_S + 0.001] * 3, 3),
    "no answer": ([TICK_S] * 12_000, 0),
}
"""How long each wait took, in seconds, and by how many milliseconds the process was late."""


@pytest.mark.parametrize(("waits", "late"), LATE.values(), ids=LATE)
def test_time_in_which_the_machine_stands_still_is_known(waits: list[float], late: float) -> None:
    clock, remaining = 0.0, list(waits)

    def is_ready(_wait: float) -> bool:
        nonlocal clock
        clock += remaining.pop(0)
        return not remaining

    assert late_ms(is_ready, lambda: clock) == pytest.approx(late, abs=1e-6)
