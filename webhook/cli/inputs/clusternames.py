"""
Contexts of a kubeconfig, and namespaces of its cluster, for shells that complete them.

Entry points: ``find_contexts`` and ``find_namespaces``. ``completers`` imports this module only
when it is used, since the client takes 0.2 s.
"""

import asyncio
import os
import signal
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from types import FrameType

import click
import msgspec

from webhook.cluster.client import Api, ApiAccess
from webhook.cluster.client.kubeconfig import find_kubeconfig, list_contexts
from webhook.cluster.protocol import METADATA_LIST, read

LOOKUP_SECONDS = 2.0  # to complete from a cluster, credentials and all; a person waits for it
BLOCKED_SECONDS = 1.0  # after that, for what cannot be cancelled, and for a plugin to be killed
NAMESPACES_A_LIST = 500  # in one list, as kubectl reads them


class _NamespaceMetadata(msgspec.Struct):
    name: str


class _Namespace(msgspec.Struct):
    metadata: _NamespaceMetadata


class _NamespaceList(msgspec.Struct):
    items: list[_Namespace]


def find_contexts(ctx: click.Context) -> Iterable[tuple[str, str]]:
    """List the contexts of the kubeconfig, with their namespaces."""
    files = find_kubeconfig(ctx.params.get("kubeconfig") or "", os.environ)
    return list_contexts(files).items()


def find_namespaces(
    ctx: click.Context, seconds: float = LOOKUP_SECONDS
) -> Iterable[tuple[str, str]]:
    """List the namespaces of the live cluster; if it cannot be reached, those of the kubeconfig."""
    kubeconfig, context = (ctx.params.get(name) or "" for name in ("kubeconfig", "context"))
    access = ApiAccess(kubeconfig=kubeconfig, context=context)
    try:
        with _deadline(seconds + BLOCKED_SECONDS):
            names = asyncio.run(_read_namespaces(access, seconds))
    except Exception:  # noqa: BLE001  # whatever fails, the kubeconfig still names some
        names = [namespace for _, namespace in find_contexts(ctx) if namespace]
    return [(name, "") for name in sorted(set(names))]


async def _read_namespaces(access: ApiAccess, seconds: float) -> list[str]:
    """
    List the namespaces of a live cluster.

    The deadline cancels, which kills and awaits a plugin. The signal of ``_deadline`` cannot do
    that: it may arrive between the start of a plugin and the statement that would kill it.
    """
    query = {"limit": str(NAMESPACES_A_LIST)}
    async with asyncio.timeout(seconds), Api(access, time.monotonic) as api:
        body = await read(api, "/api/v1/namespaces", query, METADATA_LIST)
    listed = msgspec.json.decode(body, type=_NamespaceList)
    return [item.metadata.name for item in listed.items]


@contextmanager
def _deadline(seconds: float) -> Generator[None]:
    """Raise TimeoutError after some seconds, also in a call that blocks."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError

    previous = signal.signal(signal.SIGALRM, stop)
    timer = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, previous)
