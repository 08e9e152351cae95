"""
Correction of the ranks of pods after they are bound, by the one replica that holds the Lease.

``RankRepair.work`` is the entry point. ``policy.scaledown.corrections`` plans, ``rankwriter``
writes; here is decided when. A correction is worth little, so that any doubt ends it. A change of
the workload starts another, and so does time after a failed request.

No pod and no workload may delay the others for long: see ``CorrectionTurns``. Only an API server
that is busy or does not respond pauses all corrections.
"""

import asyncio
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import NamedTuple, NoReturn

from webhook.cluster.pods import PodStore
from webhook.cluster.protocol import FailureReason
from webhook.cluster.rankledger import Controller
from webhook.errors import ApiError
from webhook.policy.scaledown.corrections import Correction, plan_corrections
from webhook.server.election import Clocks
from webhook.server.rankwriter import RankWriter
from webhook.server.turns import CorrectionTurns, Turn
from webhook.telemetry.logs import Log

ROUND_S = 1.0  # between two looks at what has changed
SETTLED_S = 5.0  # without a change: pods that were deleted have been replaced, and got free ranks
REFUSED_S = 60.0  # after a missing right, a refusal by a policy, or a second failure
TURN_S = 0.1  # between two corrections: ten a second are a hundredth of what an API server takes

_BUSY = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}
_NO_RESPONSE = {FailureReason.UNREACHABLE, FailureReason.SILENT, FailureReason.CREDENTIALS}


class _Failure(NamedTuple):
    """The last failed correction of a workload: its reason, and the name of the pod."""

    reason: str
    pod: str


class RankRepair:
    """Corrects ranks, a pod at a time, once a workload has not changed for ``SETTLED_S``."""

    def __init__(
        self,
        writer: RankWriter,
        find_pods: Callable[[], PodStore | None],
        clocks: Clocks,
        log: Log,
    ) -> None:
        """
        Write nothing yet.

        Args:
            find_pods: Returns the store of ranked pods; None while there is nothing to correct.
        """
        self._writer = writer
        self._find_pods = find_pods
        self._clocks = clocks
        self._log = log
        self._settled_at: dict[Controller, float] = {}
        self._turns = CorrectionTurns()
        self._failing: dict[Controller, _Failure] = {}
        self._paused_until = 0.0

    async def work(self) -> NoReturn:
        """Correct ranks until cancelled."""
        self._writer.forget_written()
        self._settled_at |= dict.fromkeys(self._turns.clear(), self._clocks.now())
        while True:
            end = self._clocks.now() + ROUND_S
            store = self._find_pods()
            if store is not None and self._clocks.now() >= self._paused_until:
                await self._plan_settled(store)
                await self._take_turns(end)
            await self._clocks.sleep(max(0.0, end - self._clocks.now()))

    async def _plan_settled(self, store: PodStore) -> None:
        """Plan the ranks of the workloads that have not changed for long enough."""
        now = self._clocks.now()
        self._settled_at.update(dict.fromkeys(store.take_changed(), now + SETTLED_S))
        due = [controller for controller, at in self._settled_at.items() if at <= now]
        for controller in due:
            pods = store.pods_of(controller)
            contested = self._writer.find_contested(controller.namespace, pods)
            # In a thread, because a workload may have as many pods as the cluster.
            planned = await asyncio.to_thread(plan_corrections, pods, store.domain, contested)
            failure = self._failing.get(controller)
            self._turns.replace(controller, _start_after(failure, planned))
            del self._settled_at[controller]
            if not planned:
                self._failing.pop(controller, None)

    async def _take_turns(self, end: float) -> None:
        """Write corrections until a time, or until the API server is busy."""
        while (turn := self._turns.next_turn()) is not None:
            if not self._paused_until <= self._clocks.now() < end:
                return
            try:
                written = await self._writer.write(turn.controller.namespace, turn.correction)
            except ApiError as error:
                self._postpone(turn, error)
            else:
                if not written:
                    again = self._clocks.now() + SETTLED_S
                    self._settled_at.setdefault(turn.controller, again)
                if self._turns.advance():
                    self._failing.pop(turn.controller, None)
            await self._clocks.sleep(TURN_S)

    def _postpone(self, turn: Turn, error: ApiError) -> None:
        """Try a workload again later, after the others; leave a busy API server alone."""
        controller, now = turn.controller, self._clocks.now()
        is_busy = error.status in _BUSY or error.reason in _NO_RESPONSE
        is_refused = HTTPStatus.BAD_REQUEST <= error.status < HTTPStatus.INTERNAL_SERVER_ERROR
        if is_busy:
            self._paused_until = now + max(SETTLED_S, error.retry_after)
        lasts = controller in self._failing or (is_refused and not is_busy)
        self._settled_at[controller] = now + max(
            REFUSED_S if lasts else SETTLED_S, error.retry_after
        )
        self._turns.replace(controller, ())
        if all(failure.reason != error.reason for failure in self._failing.values()):
            self._log.warning("ranks", message=f"ranks cannot be corrected: {error}")
        self._failing[controller] = _Failure(error.reason, turn.correction.name)


def _start_after(failure: _Failure | None, planned: Sequence[Correction]) -> Sequence[Correction]:
    """Put a pod whose correction failed last, so that it does not delay those of the others."""
    names = [correction.name for correction in planned]
    if failure is None or failure.pod not in names:
        return planned
    start = names.index(failure.pod) + 1
    return [*planned[start:], *planned[:start]]
