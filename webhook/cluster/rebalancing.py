"""
Carry out a plan of evictions in waves: ``Rebalancing``.

After each wave it waits for the replacements, and plans again. Clocks and the cluster are passed
in; what to evict is decided by ``webhook.rebalance``.
"""

from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from http import HTTPStatus
from typing import NamedTuple, Protocol

import msgspec

from webhook.errors import ApiError
from webhook.rebalance.budgets import PodDisruptionBudget
from webhook.rebalance.plan import RebalancePlan
from webhook.rebalance.pods import EvictionObstacle, WorkloadPod
from webhook.rebalance.waves import choose_wave, find_rolling

POLL_S = 1.0  # between two looks at the pods of a namespace, or two tries of an eviction
REFUSAL_S = 15.0
"""
How long an eviction is tried again that a PodDisruptionBudget refuses: its status follows some time
after a replacement is ready, and only the planned evictions count on it.
"""
MOST_ELSEWHERE = 2  # replacements on other nodes than planned


class StopReason(StrEnum):
    """Why a rebalancing ends before all constraints hold that can be restored."""

    REFUSED = "an eviction is refused"
    NOT_READY = "a replacement is not ready in time"
    ELSEWHERE = "two replacements are on nodes that were not planned"
    EXCEEDED = "more evictions would be necessary than were planned"
    ROLLOUT = "a rollout is running"


class PlannedScope(NamedTuple):
    """A plan of the cluster at one moment, with the pods and budgets that it is for."""

    plan: RebalancePlan
    pods: Sequence[WorkloadPod]
    budgets: Sequence[PodDisruptionBudget]


class RebalancingCluster(Protocol):
    """The cluster to change."""

    async def plan(self) -> PlannedScope:
        """Read the cluster, and plan."""
        ...

    async def read_pods(self, namespace: str) -> Sequence[WorkloadPod]:
        """Read the pods of a namespace, as they are now."""
        ...

    async def evict(self, one: WorkloadPod) -> bool:
        """
        Evict a pod; return False if it has gone.

        Raises:
            ApiError: The API server refuses it.
        """
        ...


class RebalancingLimits(msgspec.Struct, frozen=True):
    """
    The limits of a rebalancing.

    Attributes:
        evictions: Number of evictions at most, as planned; a replacement on a node that was not
            planned allows one more.
        wave: Number of evictions at the same time at most, at least 1.
        ready_s: Seconds until a replacement must be ready.
    """

    evictions: int
    wave: int
    ready_s: float


class AppliedEviction(msgspec.Struct, frozen=True, rename="camel"):
    """
    An evicted pod and its replacement.

    Attributes:
        planned: Whether the replacement is on one of the planned nodes.
    """

    namespace: str
    pod: str
    workload: str
    node: str
    replacement: str
    target: str
    planned: bool


class RebalancingEnd(NamedTuple):
    """
    The end of a rebalancing.

    Attributes:
        plan: The last plan; without steps if all is done.
        stop: Why it ended before; None if all is done.
        detail: The pod, or the message of the API server.
    """

    plan: RebalancePlan
    stop: StopReason | None = None
    detail: str = ""


class _NotReadyError(Exception):
    """A replacement is not ready in time; the message names it."""


class Rebalancing:
    """
    A run of evictions.

    Attributes:
        evicted: The evictions whose replacements are ready.
        tried: Number of evictions that were requested.
    """

    def __init__(
        self,
        cluster: RebalancingCluster,
        limits: RebalancingLimits,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[object]],
        report: Callable[[AppliedEviction], None] = lambda _eviction: None,
    ) -> None:
        """
        Prepare a run.

        Args:
            clock: Monotonic, in seconds.
            report: Called with each eviction when its replacement is ready.
        """
        self.evicted: list[AppliedEviction] = []
        self.tried = 0
        self._cluster, self._limits = cluster, limits
        self._clock, self._sleep, self._report = clock, sleep, report

    async def run(self) -> RebalancingEnd:
        """
        Evict pods in waves until no plan has a step, or something stops it.

        Raises:
            ApiError: The cluster cannot be read.
        """
        while True:
            planned = await self._cluster.plan()
            if not planned.plan.steps:
                return RebalancingEnd(planned.plan)
            end = end_for_rollout(planned)
            if end is not None:
                return end
            left = self._limits.evictions + self._elsewhere - self.tried
            if left <= 0:
                return RebalancingEnd(planned.plan, StopReason.EXCEEDED)
            stop = await self._apply_wave(planned, min(left, self._limits.wave))
            if stop is not None:
                return stop

    @property
    def _elsewhere(self) -> int:
        return sum(not eviction.planned for eviction in self.evicted)

    async def _apply_wave(self, planned: PlannedScope, most: int) -> RebalancingEnd | None:
        """Evict the pods of a wave, and wait for their replacements, also after a refusal."""
        plan, evicted, refusal = planned.plan, list[WorkloadPod](), ""
        for one in choose_wave(plan, planned.pods, planned.budgets, most):
            self.tried += 1
            try:
                if await self._evict(one):
                    evicted.append(one)
            except ApiError as error:
                refusal = f"{_name(one)}: {error}"
                break
        try:
            for one in evicted:
                await self._follow(one, planned)
        except _NotReadyError as error:
            return RebalancingEnd(plan, StopReason.NOT_READY, str(error))
        if refusal:
            return RebalancingEnd(plan, StopReason.REFUSED, refusal)
        if self._elsewhere >= MOST_ELSEWHERE:
            places = [f"{e.replacement} on {e.target}" for e in self.evicted if not e.planned]
            return RebalancingEnd(plan, StopReason.ELSEWHERE, ", ".join(places))
        return None

    async def _evict(self, one: WorkloadPod) -> bool:
        end = self._clock() + REFUSAL_S
        while True:
            try:
                return await self._cluster.evict(one)
            except ApiError as error:
                if error.status != HTTPStatus.TOO_MANY_REQUESTS or self._clock() >= end:
                    raise
                await self._sleep(max(POLL_S, error.retry_after))

    async def _follow(self, one: WorkloadPod, planned: PlannedScope) -> None:
        """Wait until the replacement of a pod is ready."""
        fresh = await self._wait(one, frozenset(other.pod.uid for other in planned.pods))
        name = (one.pod.namespace, one.pod.name)
        steps = (step for step in planned.plan.wave if (step.namespace, step.pod) == name)
        target = fresh.pod.node_name
        eviction = AppliedEviction(
            *name,
            one.workload,
            one.pod.node_name,
            fresh.pod.name,
            target,
            target in next(steps).candidates,
        )
        self.evicted.append(eviction)
        self._report(eviction)

    async def _wait(self, one: WorkloadPod, known: frozenset[str]) -> WorkloadPod:
        """Wait until all new pods of a workload are ready, at least one; return the first."""
        end = self._clock() + self._limits.ready_s
        while True:
            fresh = [
                other
                for other in await self._cluster.read_pods(one.pod.namespace)
                if other.workload == one.workload
                and other.pod.uid not in known
                and other.obstacle is not EvictionObstacle.TERMINATING
            ]
            waiting = [other for other in fresh if not (other.is_ready and other.pod.node_name)]
            if fresh and not waiting:
                return fresh[0]
            if self._clock() >= end:
                raise _NotReadyError(_describe_wait(one, waiting))
            await self._sleep(POLL_S)


def end_for_rollout(planned: PlannedScope) -> RebalancingEnd | None:
    """Return the end of a rebalancing that would disturb a rollout; None if it would not."""
    step = find_rolling(planned.plan, planned.pods)
    if step is None:
        return None
    kind, _, name = step.workload.partition("/")
    status = f"kubectl rollout status {kind.lower()}/{name} -n {step.namespace}"
    detail = f"{step.workload} in {step.namespace}: wait for it: {status}"
    return RebalancingEnd(planned.plan, StopReason.ROLLOUT, detail)


def _describe_wait(one: WorkloadPod, waiting: Sequence[WorkloadPod]) -> str:
    if not waiting:
        return f"{_name(one)} has no replacement"
    state = "is not ready" if waiting[0].pod.node_name else "has no node"
    return f"{_name(waiting[0])}, which replaces {one.pod.name}, {state}"


def _name(one: WorkloadPod) -> str:
    return f"{one.pod.namespace}/{one.pod.name}"
