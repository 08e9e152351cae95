"""Rounds of measurements, and the output of wrk."""

import pytest

from tests.bench.load import LoadError
from tests.bench.rounds import Round, read_wrk

WRK_OUTPUT = """\
Running 1s test @ https://127.0.0.1:9501/mutate?timeout=10s
  1 threads and 16 connections
  27843 requests in 2.10s, 7.38MB read
Requests/sec:  13258.57
Transfer/sec:      3.51MB
"""


def test_a_round_has_cpu_and_rate() -> None:
    done = Round(calls=10_000, seconds=0.5, running=0.4, waiting=0.05)

    assert done.cpu == pytest.approx(40e-6)
    assert done.rate == pytest.approx(20_000)
    assert done.busy == pytest.approx(0.9)


def test_wrk_reports_calls_and_seconds() -> None:
    assert read_wrk(WRK_OUTPUT) == (27_843, 2.1)


@pytest.mark.parametrize(
    "output", ["", WRK_OUTPUT + "  Non-2xx or 3xx responses: 3\n", "0 requests in 2.00s"]
)
def test_answers_other_than_200_end_the_measurement(output: str) -> None:
    with pytest.raises(LoadError):
        read_wrk(output)
