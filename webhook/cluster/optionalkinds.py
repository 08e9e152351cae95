"""
Kinds that the server can do without if it may not list them.

``OptionalKind`` is the entry point. A start waits for the objects of such a kind, and goes on
without them if the API server refuses the right to list them; the kind is still followed, and its
objects count once the right is granted.
"""

import asyncio
from dataclasses import replace

from webhook.cluster.discovery import Resource
from webhook.cluster.protocol import FailureReason
from webhook.cluster.reflector import Reflector, ReflectorEnvironment

MOST_REFUSALS = 5
"""
Refusals in a row after which a right is missing; 5 to 10 seconds, by the pauses between them.

An API server that has just started may refuse rights that it has not read yet.
"""


class OptionalKind:
    """
    A kind that may be forbidden.

    Attributes:
        reflector: Keeps its store current.
    """

    def __init__(self, resource: Resource, environment: ReflectorEnvironment) -> None:
        """Start without objects."""
        self._report = environment.report_restart
        self._refusals = 0
        self._refused = asyncio.Event()
        environment = replace(environment, report_restart=self._count)
        self.reflector = Reflector(resource, environment)

    def _count(self, kind: str, reason: str, message: str) -> None:
        self._report(kind, reason, message)
        self._refusals = self._refusals + 1 if reason == FailureReason.FORBIDDEN else 0
        if self._refusals >= MOST_REFUSALS:
            self._refused.set()

    async def list(self) -> bool:
        """Follow the kind until its objects are listed, or refused; False if they are refused."""
        listing = asyncio.create_task(self.reflector.run_until_synced())
        refused = asyncio.create_task(self._refused.wait())
        try:
            await asyncio.wait((listing, refused), return_when=asyncio.FIRST_COMPLETED)
            if listing.done():
                listing.result()  # a bug
        finally:
            for task in (listing, refused):
                task.cancel()
            await asyncio.gather(listing, refused, return_exceptions=True)
        return self.reflector.synced.is_set()
