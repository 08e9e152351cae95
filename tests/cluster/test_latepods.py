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


async def test_few_workloads_are_remembered() -> None:
    late = LatePods(Clock())
    for number in range(latepods.MOST_ABSENT + 1):
        wait = late.wait("shop", f"w{number}-x", 0.0)
        assert wait is not None
        await wait

    assert late.may_appear("shop", "w0-y")
    assert not late.may_appear("shop", "w1-y")
