"""
Wait for pods that are bound before the watch shows them; use ``LatePods``.

A scheduler learns of a new pod by a watch too, and may bind it a few milliseconds before the cache
has it. A Binding does not distinguish such a pod from one without the label, which never appears.
So the first unknown pod of a workload is waited for. If it does not appear, no other pod of the
workload is waited for during ``ABSENT_S``. Any client may name pods that do not exist: beyond
``MOST_WAITS`` a Binding does not wait.
"""

from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

LATE_S = 0.1  # a watch that is later than this is not merely slower than the scheduler's
ABSENT_S = 60.0  # between two waits for the pods of a workload without the label
MOST_ABSENT = 4096  # workloads; about 1 MB
MOST_WAITS = 64  # at a time; a scheduler binds 300 pods a second, and a watch is late by some 10 ms
NAMESPACE_WAITS = 32  # of them in one namespace, which leaves as many to all others

Key = tuple[str, str]
"""Namespace and name."""


class LatePods:
    """The pods that are waited for, and the workloads whose pods are not."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Start with none; ``clock`` is monotonic, in seconds."""
        self._clock = clock
        self._arrivals: dict[Key, asyncio.Event] = {}
        self._waits = Counter[str]()  # by namespace
        self._absent: OrderedDict[Key, float] = OrderedDict()  # namespace, workload -> time

    def announce(self, namespace: str, name: str) -> None:
        """End the waits for a pod: it is in the store now."""
        if self._arrivals and (arrival := self._arrivals.pop((namespace, name), None)):
            arrival.set()

    def wait(self, namespace: str, name: str, seconds: float) -> Awaitable[None] | None:
        """
        Wait until a pod is announced, or for some seconds at most.

        Returns:
            None if the pods of its workload are not waited for, or too many others are.
        """
        if not (self.may_appear(namespace, name) and self._has_capacity(namespace)):
            return None
        return self._wait((namespace, name), min(seconds, LATE_S))

    def may_appear(self, namespace: str, name: str) -> bool:
        """Whether an unknown pod may still appear, as far as is known of its workload."""
        absent_since = self._absent.get(_workload(namespace, name))
        return absent_since is None or self._clock() - absent_since >= ABSENT_S

    def _has_capacity(self, namespace: str) -> bool:
        return self._waits.total() < MOST_WAITS and self._waits[namespace] < NAMESPACE_WAITS

    async def _wait(self, pod: Key, seconds: float) -> None:
        import asyncio  # noqa: PLC0415  # no command waits, and it takes 20 ms to import

        arrival = self._arrivals.setdefault(pod, asyncio.Event())
        self._waits[pod[0]] += 1
        try:
            async with asyncio.timeout(seconds):
                await arrival.wait()
        except TimeoutError:
            self._record_absence(_workload(*pod))
        finally:
            self._arrivals.pop(pod, None)
            self._waits -= Counter({pod[0]: 1})  # drops a namespace without a wait

    def _record_absence(self, workload: Key) -> None:
        self._absent[workload] = self._clock()
        self._absent.move_to_end(workload)
        if len(self._absent) > MOST_ABSENT:
            self._absent.popitem(last=False)


def _workload(namespace: str, name: str) -> Key:
    """Name the workload of a pod: controllers append a hyphen and random characters."""
    return namespace, name.rpartition("-")[0]
