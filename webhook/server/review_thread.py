"""
A thread for reviews that take long, so that the event loop answers others meanwhile.

One thread, as more would only share one interpreter. What it runs cannot be stopped: when the
caller gives up, the work is finished unseen, and the next one waits for that.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from threading import stack_size
from typing import TypeAlias, TypeVar

STACK_BYTES = 16 * 1024 * 1024
"""
Of the thread; only what is used takes memory. Python 3.13 decodes 9 998 levels whatever the stack,
at 400 bytes each, and glibc gives threads 2 MiB where the stack of a process is unlimited.
"""

Result = TypeVar("Result")

Freeze: TypeAlias = Callable[[], AbstractAsyncContextManager[object]]
"""Makes a context within which nothing that the work reads is changed by the event loop."""


class ReviewThread:
    """Runs one long piece of work at a time, in the order in which they came."""

    def __init__(self) -> None:
        """Start no thread yet."""
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="review")
        self._turn = asyncio.Lock()
        stack_size(STACK_BYTES)  # for all threads of the process from here on

    async def run(self, work: Callable[[], Result], freeze: Freeze, seconds: float) -> Result:
        """
        Run work and give its result; what it raises comes through.

        Args:
            still: Entered before the work begins, and left when it has ended.
            seconds: How long the caller waits.

        Raises:
            TimeoutError: It takes longer.
        """
        task = asyncio.create_task(self._run(work, freeze), name="long review")
        try:
            await asyncio.wait((task,), timeout=seconds)
            if not task.done():
                raise TimeoutError
            return task.result()
        finally:
            task.cancel()

    async def _run(self, work: Callable[[], Result], freeze: Freeze) -> Result:
        async with self._turn, freeze():
            running = asyncio.get_running_loop().run_in_executor(self._pool, work)
            try:
                return await asyncio.shield(running)
            except asyncio.CancelledError:
                await asyncio.wait((running,))  # it still reads what ``freeze`` protects
                raise

    def close(self) -> None:
        """Begin nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)
