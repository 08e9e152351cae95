"""The bounds of a soak, and what a reader sees of them."""

import json
from dataclasses import replace

import pytest

from tests.soak.footprint import Footprint, Lifetime
from tests.soak.outages import SERVICE_UNKNOWN
from tests.soak.report import MIB, ReplicaFigures, SoakReport, summarize

STEADY = ReplicaFigures(
    replica="replica-0",
    seconds=3600,
    reviews=120_000,
    leaves=90,
    first=130.0,
    last=130.4,
    slope=0.4,
    base=(26, 20, 33),
    end=(26, 19, 33),
)
YOUNG = replace(STEADY, first=None, slope=None, base=None, end=(26, 20, 33))
GOOD = SoakReport(
    seconds=3600,
    share=0.99,
    calls=350_000,
    writes=175_000,
    failed=0,
    failures=(),
    excused={"etcd paused": 12},
    rejections=0,
    longest=0.4,
    faults={"CA rotated": 7},
    load=(1.0, 9.5, 2),
    troubles=(),
    replicas=(STEADY, YOUNG),
)


def test_a_good_soak_misses_nothing() -> None:
    assert GOOD.misses == []
    assert GOOD.as_text().endswith("every bound holds")
    assert "12 writes failed while the control plane was down: etcd paused" in GOOD.as_text()
    assert json.loads(GOOD.as_json())["misses"] == []


@pytest.mark.parametrize(
    ("report", "miss"),
    [
        (replace(GOOD, failed=1, failures=("create /pods: 500",)), "1 calls failed, first: create"),
        (replace(GOOD, troubles=["replica-1 ended by itself: exit -11"]), "replica-1 ended by"),
        (
            replace(GOOD, rejections=2, excused={SERVICE_UNKNOWN: 1}),
            "API servers counted 2 failed calls of webhooks, 1 of them their own fault",
        ),
        (replace(GOOD, rejections=2), "API servers counted 2 failed calls"),
        (replace(GOOD, share=0.5), "only 50% of the writes were tried"),
        (replace(GOOD, replicas=[replace(STEADY, slope=1.0)]), "grows by 1.00 MiB an hour"),
        (
            replace(GOOD, replicas=[replace(STEADY, end=(27, 20, 33)), YOUNG]),
            "replica-0 has 27 tasks at the end, not at most 26",
        ),
        (
            replace(GOOD, replicas=[STEADY, replace(YOUNG, end=(27, 20, 33))]),
            "replica-0 has 27 tasks at the end, not at most 26",
        ),
        (
            replace(GOOD, replicas=[STEADY, replace(YOUNG, end=(26, 25, 37))]),
            "replica-0 has 25 sockets at the end, not at most 24",
        ),
        (
            replace(GOOD, replicas=[replace(STEADY, end=(26, 20, 38))]),
            "replica-0 has 38 descriptors at the end, not at most 37",
        ),
    ],
)
def test_each_bound_that_is_missed_is_named(report: SoakReport, miss: str) -> None:
    (message,) = report.misses
    assert message.startswith(miss) or miss in message
    assert f"MISSED: {message}" in report.as_text()


@pytest.mark.parametrize("process", [STEADY, YOUNG], ids=["steady", "restarted"])
def test_an_idle_process_may_keep_more_or_fewer_connections(process: ReplicaFigures) -> None:
    idle = replace(process, end=(26, 24, 37))

    assert replace(GOOD, replicas=[STEADY, idle]).misses == []


def test_a_short_soak_may_be_slow() -> None:
    assert replace(GOOD, seconds=120, share=0.5).misses == []


@pytest.mark.parametrize(("seconds", "is_judged"), [(600, False), (1200, True)])
def test_a_process_that_lived_too_short_has_no_slope(seconds: int, is_judged: bool) -> None:
    base = Footprint(0, pid=1, memory=130 * MIB, tasks=26, sockets=20, descriptors=33)
    samples = [replace(base, at=at) for at in range(1, seconds + 2, 10)]

    figures = summarize(Lifetime("replica-0", [base, *samples], base=base))

    assert (figures.slope is not None) == is_judged
    assert (figures.first, figures.last, figures.end) == (130.0, 130.0, None)
