"""Pods that are bound before the cache has them."""

import asyncio

from webhook.cluster import latepods
from webhook.cluster.latepods import ABSENT_S, LatePods

PATIENCE = 60.0


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def test_a_pod_that_appears_ends_the_wait() -> None:
    late = LatePods(Clock())
    waits = [late.wait("shop", "web-1", PATIENCE) for _ in range(2)]
    tasks = [asyncio.ensure_future(wait) for wait in waits if wait is not None]
    await asyncio.sleep(0)
    late.announce("shop", "web-2")
    late.announce("else", "web-1")
    assert not any(task.done() for task in tasks)

    late.announce("shop", "web-1")
    await asyncio.gather(*tasks)

    assert len(tasks) == 2
    assert late.may_appear("shop", "web-3")


async def test_a_workload_whose_pod_does_not_appear_is_not_waited_for_again() -> None:
    clock = Clock()
    late = LatePods(clock)
    wait = late.wait("shop", "web-1", 0.0)
    assert wait is not None
    await wait

    assert late.wait("shop", "web-2", PATIENCE) is None
    assert late.may_appear("shop", "api-1")
    assert late.may_appear("else", "web-2")
    clock.now += ABSENT_S
    assert late.may_appear("shop", "web-2")


class Waits:
    """Waits for pods that do not appear."""

    def __init__(self, late: LatePods) -> None:
        self.late = late
        self.tasks: list[asyncio.Future[None]] = []

    async def begin(self, namespace: str, number: int) -> int:
        """Begin so many waits; return how many are admitted."""
        before = len(self.tasks)
        for workload in range(number):
            wait = self.late.wait(namespace, f"w{workload}-1", PATIENCE)
            if wait is not None:
                self.tasks.append(asyncio.ensure_future(wait))
                await asyncio.sleep(0)
        return len(self.tasks) - before


async def test_waits_are_limited_in_each_namespace_and_in_total() -> None:
    waits, most = Waits(LatePods(Clock())), latepods.MOST_WAITS

    assert await waits.begin("shop", most) == latepods.NAMESPACE_WAITS
    assert await waits.begin("else", most) == most - latepods.NAMESPACE_WAITS
    assert await waits.begin("more", most) == 0

    await asyncio.gather(*waits.tasks)
    assert await waits.begin("more", 1) == 1
    await waits.tasks[-1]


async def test_few_workloads_are_remembered() -> None:
    late = LatePods(Clock())
    for number in range(latepods.MOST_ABSENT + 1):
        wait = late.wait("shop", f"w{number}-x", 0.0)
        assert wait is not None
        await wait

    assert late.may_appear("shop", "w0-y")
    assert not late.may_appear("shop", "w1-y")
