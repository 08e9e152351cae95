import asyncio
from collections.abc import Generator

import pytest

from webhook.cluster.timeslices import TimeSlicer

SLICE = 4  # steps


class Clock:
    """Advances by a step each time that work calls it."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> float:
        return self.now


class Bench:
    """Workers on one event loop; records who worked, and when the event loop saw to others."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.slicer = TimeSlicer(self.clock, slice_s=SLICE)
        self.diary: list[str] = []

    def work(self, name: str, steps: int) -> Generator[None, None, str]:
        for _ in range(steps):
            self.clock.now += 1
            self.diary.append(name)
            yield
        return f"{name} is done"

    async def others(self, rounds: int) -> None:
        for _ in range(rounds):
            self.diary.append("-")
            await asyncio.sleep(0)


async def test_work_gives_its_result() -> None:
    bench = Bench()

    assert await bench.slicer.run(bench.work("a", 10)) == "a is done"
    assert await bench.slicer.run(bench.work("a", 0)) == "a is done"


async def test_the_event_loop_runs_other_tasks_after_every_slice() -> None:
    bench = Bench()

    await asyncio.gather(bench.slicer.run(bench.work("a", 12)), bench.others(3))

    assert "".join(bench.diary) == "aaaa-aaaa-aaaa-"


async def test_several_workers_take_turns_and_one_slice_in_each_round() -> None:
    bench = Bench()

    await asyncio.gather(
        bench.slicer.run(bench.work("a", 8)),
        bench.slicer.run(bench.work("b", 8)),
        bench.slicer.run(bench.work("c", 4)),
    )

    diary = "".join(bench.diary)
    assert diary.count("a") == diary.count("b") == 8
    slices = [diary[i : i + SLICE] for i in range(0, len(diary), SLICE)]
    assert sorted(slices) == ["aaaa", "aaaa", "bbbb", "bbbb", "cccc"]
    assert slices[:3] == ["aaaa", "bbbb", "cccc"]


async def test_other_tasks_never_wait_for_two_slices() -> None:
    bench = Bench()

    await asyncio.gather(
        *(bench.slicer.run(bench.work(name, 40)) for name in "abcdef"), bench.others(200)
    )

    between = "".join(bench.diary).split("-")
    assert max(map(len, between)) <= SLICE


async def test_work_is_done_even_if_no_time_is_left() -> None:
    slicer = TimeSlicer(lambda: 0.0, slice_s=0.0)

    assert await slicer.run(Bench().work("a", 3)) == "a is done"


async def test_an_error_propagates_and_other_work_continues() -> None:
    bench = Bench()

    def fail() -> Generator[None]:
        yield
        raise ValueError("odd")

    with pytest.raises(ValueError, match="odd"):
        await bench.slicer.run(fail())
    assert await bench.slicer.run(bench.work("a", 1)) == "a is done"


async def test_no_work_is_done_while_it_is_suspended() -> None:
    bench = Bench()

    async with bench.slicer.still():
        work = asyncio.create_task(bench.slicer.run(bench.work("a", 1)))
        await bench.others(3)
    await work

    assert "".join(bench.diary) == "---a"
