"""The slope of memory, and the counts of a process."""

import random

import pytest

from tests.soak.footprint import Footprint, Lifetime, fit_slope

MIB = 1024 * 1024


def footprint(at: float, memory: float = 130 * MIB) -> Footprint:
    return Footprint(at, pid=1, memory=int(memory), tasks=26, sockets=20, descriptors=33)


@pytest.mark.parametrize("grown", [-2.0, 0.0, 0.5, 3.0], ids="{:g} MiB/h".format)
def test_a_slope_is_found_through_noise(grown: float) -> None:
    noise = random.Random(1)
    samples = [
        footprint(at, MIB * (130 + grown * at / 3600 + noise.uniform(-0.5, 0.5)))
        for at in range(0, 2700, 10)
    ]

    assert fit_slope(samples) / MIB == pytest.approx(grown, abs=0.3)


@pytest.mark.parametrize("count", [0, 1])
def test_one_sample_has_no_slope(count: int) -> None:
    assert fit_slope([footprint(1)] * count) == 0


def test_the_warm_up_is_no_part_of_the_fit() -> None:
    warming = [footprint(at, (100 + at) * MIB) for at in range(10)]
    lifetime = Lifetime("replica-0", [*warming, *map(footprint, range(20, 30))])

    assert (lifetime.settled, lifetime.fitted_s) == ([], 0)
    lifetime.base = footprint(15)
    assert (len(lifetime.settled), lifetime.fitted_s) == (10, 9)
    assert lifetime.slope == pytest.approx(0)
