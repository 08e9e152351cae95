"""Work that goes on as long as a test, or a part of it, lasts."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any


@asynccontextmanager
async def working(work: Coroutine[Any, Any, object]) -> AsyncGenerator[None]:
    """Do work as long as the context lasts; an error of the work is raised at its end."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
