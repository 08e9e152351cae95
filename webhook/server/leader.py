"""
The work of the one replica that holds the Lease: audits, ranks, and the status of SpreadPolicies.

``build_leader`` is the entry point. One Lease serves all, so that they never load a cluster from
two replicas.
"""

import asyncio
import secrets
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, NoReturn

from webhook.cluster.caches import Start
from webhook.cluster.pods import PodStore
from webhook.policy.scaledown.binding import BindingResult
from webhook.server.context import ServerContext
from webhook.server.election import Candidate, Clocks, Election, Work
from webhook.server.events import EventRecorder, TaskObservers
from webhook.server.rankwriter import RankWriter
from webhook.server.repair import RankRepair

UNIQUE = 4  # random bytes, unlike those of earlier replicas of a name; client-go takes a UUID


class LeaderWork(NamedTuple):
    """
    Work of the replica that holds the Lease.

    Attributes:
        work: Does it, and goes on until it is cancelled.
        is_needed: Whether there is any; called again and again.
    """

    work: Work
    is_needed: Callable[[], bool]


def build_leader(
    context: ServerContext,
    others: Sequence[LeaderWork],
    find_ranks: Callable[[], PodStore | BindingResult],
    events: EventRecorder | None,
    repairs: Callable[[], bool],
) -> Start | None:
    """
    Build the task that stands for election, and does the work while this replica holds the Lease.

    Args:
        others: The work besides the correction of ranks.
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
    works = [*others, LeaderWork(repair.work, repairs)]

    def is_needed() -> bool:
        return any(one.is_needed() for one in works)

    election = Election(api, _build_candidate(context), clocks, context.log, is_needed)
    return partial(election.run, partial(_run_together, [one.work for one in works]))


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
