"""
Client for the API server that ``--kubeconfig`` and ``--context`` name, for one-shot commands.

The client is imported only when it is needed, because that takes 0.6 s and 55 MiB.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from webhook.cluster.client import Api

T = TypeVar("T")


def client(kubeconfig: str, context: str) -> "Api":
    """
    Create a client, which connects with its first request; the caller must close it.

    Empty texts mean the kubeconfig that kubectl would find, and its current context.
    """
    from webhook.cluster.client import Api, ApiAccess  # noqa: PLC0415  # see above

    return Api(ApiAccess(kubeconfig=kubeconfig, context=context), time.monotonic)


def call(kubeconfig: str, context: str, action: Callable[["Api"], Awaitable[T]]) -> T:
    """Run an action with a client in a new event loop, close the client, return the result."""

    async def run() -> T:
        async with client(kubeconfig, context) as api:
            return await action(api)

    return asyncio.run(run())
