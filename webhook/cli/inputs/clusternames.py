"""
Contexts of a kubeconfig, and names of objects of its cluster, for shells that complete them.

Entry points: ``find_contexts``, ``find_namespaces`` and ``find_policies``. ``completers`` imports
this module only when it is used, since the client takes 0.2 s.
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
from webhook.config.spreadpolicies import POLICY_API_VERSION

LOOKUP_SECONDS = 2.0  # to complete from a cluster, credentials and all; a person waits for it
BLOCKED_SECONDS = 1.0  # after that, for what cannot be cancelled, and for a plugin to be killed
NAMES_A_LIST = 500  # in one list, as kubectl reads them

_NAMESPACES = "/api/v1/namespaces"
_POLICIES = f"/apis/{POLICY_API_VERSION}/spreadpolicies"


class _NamedMetadata(msgspec.Struct):
    name: str


class _Named(msgspec.Struct):
    metadata: _NamedMetadata


class _NameList(msgspec.Struct):
    items: list[_Named]


def find_contexts(ctx: click.Context) -> Iterable[tuple[str, str]]:
    """List the contexts of the kubeconfig, with their namespaces."""
    files = find_kubeconfig(ctx.params.get("kubeconfig") or "", os.environ)
    return list_contexts(files).items()


def find_namespaces(
    ctx: click.Context, seconds: float = LOOKUP_SECONDS
) -> Iterable[tuple[str, str]]:
    """List the namespaces of the live cluster; if it cannot be reached, those of the kubeconfig."""
    try:
        names = _list_names(ctx, _NAMESPACES, seconds)
    except Exception:  # noqa: BLE001  # whatever fails, the kubeconfig still names some
        names = [namespace for _, namespace in find_contexts(ctx) if namespace]
    return [(name, "") for name in sorted(set(names))]


def find_policies(ctx: click.Context, seconds: float = LOOKUP_SECONDS) -> Iterable[tuple[str, str]]:
    """
    List the SpreadPolicies of the live cluster.

    Raises:
        Exception: The cluster cannot be reached, or has none; ``completer`` handles all of them.
    """
    return [(name, "") for name in sorted(_list_names(ctx, _POLICIES, seconds))]


def _list_names(ctx: click.Context, path: str, seconds: float) -> list[str]:
    kubeconfig, context = (ctx.params.get(name) or "" for name in ("kubeconfig", "context"))
    access = ApiAccess(kubeconfig=kubeconfig, context=context)
    with _deadline(seconds + BLOCKED_SECONDS):
        return asyncio.run(_read_names(access, path, seconds))


async def _read_names(access: ApiAccess, path: str, seconds: float) -> list[str]:
    """
    List the names of the objects at a path of a live cluster.

    The deadline cancels, which kills and awaits a plugin. The signal of ``_deadline`` cannot do
    that: it may arrive between the start of a plugin and the statement that would kill it.
    """
    query = {"limit": str(NAMES_A_LIST)}
    async with asyncio.timeout(seconds), Api(access, time.monotonic) as api:
        body = await read(api, path, query, METADATA_LIST)
    listed = msgspec.json.decode(body, type=_NameList)
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
