import asyncio
import gc
import threading
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext, suppress

import pytest

from webhook.errors import OverloadError
from webhook.server.review_thread import ReviewThread

PATIENCE = 60.0  # seconds; nothing here takes one


@pytest.fixture
async def thread() -> AsyncIterator[ReviewThread]:
    made = ReviewThread()
    yield made
    made.close()


async def test_work_is_done_beside_the_event_loop(thread: ReviewThread) -> None:
    gate = threading.Event()
    work = asyncio.create_task(thread.run(lambda: gate.wait(PATIENCE), nullcontext))

    await asyncio.sleep(0)
    gate.set()  # only reached if the loop goes on

    assert await work is True


async def test_what_work_raises_comes_through(thread: ReviewThread) -> None:
    with pytest.raises(ZeroDivisionError):
        await thread.run(lambda: 1 // 0, nullcontext)


async def test_a_caller_that_gives_up_leaves_the_facts_still_until_the_work_is_done(
    thread: ReviewThread,
) -> None:
    gate, begun, events = threading.Event(), threading.Event(), list[str]()

    @asynccontextmanager
    async def freeze() -> AsyncIterator[None]:
        events.append("still")
        try:
            yield
        finally:
            events.append("moving")

    def work() -> None:
        begun.set()
        gate.wait(PATIENCE)
        events.append("done")

    caller = asyncio.create_task(thread.run(work, freeze))
    assert await asyncio.to_thread(begun.wait, PATIENCE)
    caller.cancel()
    await asyncio.wait((caller,))
    gate.set()
    await thread.run(lambda: events.append("next"), nullcontext)

    assert events == ["still", "done", "moving", "next"]


async def test_work_of_a_caller_that_has_gone_is_not_begun(thread: ReviewThread) -> None:
    gate, done = threading.Event(), list[int]()
    first = asyncio.create_task(thread.run(lambda: gate.wait(PATIENCE), nullcontext))
    await asyncio.sleep(0)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await thread.run(lambda: done.append(1), nullcontext)
    gate.set()
    await first
    await thread.run(lambda: done.append(2), nullcontext)

    assert done == [2]


async def test_work_that_waits_too_long_for_other_work_is_refused(thread: ReviewThread) -> None:
    gate, begun, done = threading.Event(), threading.Event(), list[str]()

    def block() -> None:
        begun.set()
        gate.wait(PATIENCE)

    first = asyncio.create_task(thread.run(block, nullcontext))
    await asyncio.to_thread(begun.wait, PATIENCE)
    with pytest.raises(OverloadError, match="queued"):
        await thread.run(lambda: done.append("late"), nullcontext, 0.0)
    patient = asyncio.create_task(thread.run(lambda: done.append("patient"), nullcontext))
    gate.set()
    await asyncio.gather(first, patient)

    assert done == ["patient"]


async def test_an_error_keeps_nothing_that_the_work_held(thread: ReviewThread) -> None:
    held = list["weakref.ref[Body]"]()

    def fail() -> None:
        body = Body()
        held.append(weakref.ref(body))
        raise LookupError

    gc.disable()
    try:
        with suppress(LookupError):
            await thread.run(fail, nullcontext)
        async with asyncio.timeout(PATIENCE):
            while held[0]() is not None:  # noqa: ASYNC110  # the loop still drops its callbacks
                await asyncio.sleep(0)
    finally:
        gc.enable()


class Body:
    """Anything large."""
