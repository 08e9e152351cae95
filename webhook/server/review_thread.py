"""
One thread for long reviews, so that the event loop answers other callers meanwhile.

There is one thread, because several would share one interpreter lock. A running review cannot be
stopped: if its caller gives up, it runs to its end, and the next one waits for that. Work that has
waited too long is refused: its caller would have given up before it ends.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from threading import stack_size
from typing import TypeAlias, TypeVar

from webhook.errors import OverloadError

STACK_BYTES = 16 * 1024 * 1024
"""
The stack of the thread; unused pages take no memory. Python 3.13 decodes 9 998 levels of nesting,
at 400 bytes each, whatever the stack's size, and glibc gives threads only 2 MiB where the stack of
the process is unlimited.
"""

Result = TypeVar("Result")

Freeze: TypeAlias = Callable[[], AbstractAsyncContextManager[object]]
"""Creates a context in which the event loop changes nothing that the work reads."""


class ReviewThread:
    """Runs one long review at a time, in the order of arrival."""

    def __init__(self) -> None:
        """Start no thread yet."""
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="review")
        self._turn = asyncio.Lock()
        stack_size(STACK_BYTES)  # of all threads that the process starts from now on

    async def run(
        self, work: Callable[[], Result], freeze: Freeze, longest: float | None = None
    ) -> Result:
        """
        Run work and return its result, or raise its exception.

        If the caller is cancelled, it goes on at once, but the work runs to its end.

        Args:
            freeze: Entered before the work begins, and left after it has ended.
            longest: Seconds to wait for other work; None waits for all of it.

        Raises:
            OverloadError: Other work took longer; this work has not begun.
        """
        task = asyncio.create_task(self._run(work, freeze, longest), name="long review")
        try:
            await asyncio.wait((task,))
            return task.result()
        finally:
            task.cancel()
            del task  # else its error, whose traceback has this frame, keeps the body until the gc

    async def _run(
        self, work: Callable[[], Result], freeze: Freeze, longest: float | None
    ) -> Result:
        async with self._my_turn(longest), freeze():
            running = asyncio.get_running_loop().run_in_executor(self._pool, work)
            try:
                return await asyncio.shield(running)
            except asyncio.CancelledError:
                await asyncio.wait((running,))  # it still reads what ``freeze`` protects
                raise
            finally:
                del running  # as above

    @asynccontextmanager
    async def _my_turn(self, longest: float | None) -> AsyncGenerator[None]:
        try:
            async with asyncio.timeout(longest):
                await self._turn.acquire()
        except TimeoutError:
            raise OverloadError("queued") from None
        try:
            yield
        finally:
            self._turn.release()

    def close(self) -> None:
        """Start no further work."""
        self._pool.shutdown(wait=False, cancel_futures=True)
