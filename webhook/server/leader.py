"""
The work of the one replica that holds the Lease: audits, and corrections of ranks.

``build_leader`` is the entry point. One Lease serves both, so that they never load a cluster from
two replicas.
"""

import asyncio
import secrets
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NoReturn

from webhook.cluster.caches import Start
from webhook.cluster.pods import PodStore
from webhook.policy.scaledown.binding import BindingResult
from webhook.server.context import ServerContext
from webhook.server.election import Candidate, Clocks, Election, Work
from webhook.server.events import EventRecorder, TaskObservers
from webhook.server.rankwriter import RankWriter
from webhook.server.repair import RankRepair

UNIQUE = 4  # random bytes, unlike those of earlier replicas of a name; client-go takes a UUID


def build_leader(
    context: ServerContext,
    audits: Work | None,
    find_ranks: Callable[[], PodStore | BindingResult],
    events: EventRecorder | None,
    repairs: Callable[[], bool],
) -> Start | None:
    """
    Build the task that stands for election, and does the work while this replica holds the Lease.

    Args:
        audits: The work of audits; None without audits.
        find_ranks: Returns the store of ranked pods, or why there is none.
        repairs: Whether the configuration in force wants ranks to be corrected.

    Returns:
        None without a cluster, or without a namespace for the Lease.
    """
    api, namespace = context.api, context.namespace
    if api is None or not namespace:
        return None

    def find_pods() -> PodStore | None:
        found = find_ranks() if repairs() else None
        return found if isinstance(found, PodStore) else None

    clocks = Clocks(time.monotonic, context.now, asyncio.sleep)
    writer = RankWriter(api, TaskObservers(context.metrics, context.log, events))
    repair = RankRepair(writer, find_pods, clocks, context.log)
    works = [work for work in (audits, repair.work) if work is not None]
    election = Election(
        api, _build_candidate(context), clocks, context.log, lambda: audits is not None or repairs()
    )
    return partial(election.run, partial(_run_together, works))


def _build_candidate(context: ServerContext) -> Candidate:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{context.namespace}/leases"
    identity = f"{context.replica}_{secrets.token_hex(UNIQUE)}"
    return Candidate(identity, f"{path}/{context.settings.name}-audit", context.limits.audit_lease)


async def _run_together(works: Sequence[Work]) -> NoReturn:
    """Do several kinds of work at once; a bug in one of them ends all."""
    *others, last = works
    async with asyncio.TaskGroup() as group:
        for work in others:
            group.create_task(work())
        await last()
