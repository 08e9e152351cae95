"""
The API server that ``--kubeconfig`` and ``--context`` name, for commands that ask it and end.

What asks it is imported when that is wanted, and not before: it takes 0.6 s and 55 MiB.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from webhook.cluster.client import Api

Found = TypeVar("Found")


def client(kubeconfig: str, context: str) -> "Api":
    """
    Make a client, which connects when it is first asked; whoever has it closes it.

    Args:
        kubeconfig: File; empty: as kubectl finds it.
        context: Of the kubeconfig; empty: its current one.
    """
    from webhook.cluster.client import Access, Api  # noqa: PLC0415  # see above

    return Api(Access(kubeconfig=kubeconfig, context=context), time.monotonic)


def ask(kubeconfig: str, context: str, question: Callable[["Api"], Awaitable[Found]]) -> Found:
    """
    Ask the API server, and close the client.

    Args:
        kubeconfig: As for client().
        context: As for client().
        question: What to ask; its answer is returned, and its error raised.
    """

    async def asked() -> Found:
        async with client(kubeconfig, context) as api:
            return await question(api)

    return asyncio.run(asked())
