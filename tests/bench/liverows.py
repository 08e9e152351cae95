"""
What a server beside a real kube-apiserver must reach.

The cluster is filled once: what is observed before and after is in this order, whichever row is
asked for first.
"""

from collections.abc import Callable
from functools import cached_property, partial
from statistics import median
from typing import NamedTuple, TypeAlias

from tests.bench.live import LiveCluster
from tests.bench.observations import Felt, Settled, Streamed, decode, feel, settle, stream
from tests.bench.rows import Must, Row, percentile, ratios

MEMORY = Must(192, "MiB")  # of the whole process, with all that it keeps of the large cluster
FIRST_LIST = Must(1.5)  # CPU, as a multiple of json.loads of the same bytes
STREAMING = Must(20, "ms")  # p99 of admission while the objects come in
FELT = {"p50": (0.5, Must(1.5, "ms")), "p99": (0.99, Must(5, "ms"))}  # what a creation takes longer


class Small(NamedTuple):
    """What is observed while the cluster is small."""

    settled: list[Settled]
    felt: Felt


class Large(NamedTuple):
    """What is observed once it is large; ``decoded`` in CPU seconds."""

    settled: list[Settled]
    decoded: list[float]


class Observed:
    """
    Everything that is observed of one cluster, each part when it is first asked for.

    Args:
        live: The cluster, small as yet.
        rounds: How often each is observed.
        seconds: Of creations in a turn, and of calls while nothing changes.
    """

    def __init__(self, live: LiveCluster, rounds: int, seconds: float) -> None:
        self._live, self._rounds, self._seconds = live, rounds, seconds

    @cached_property
    def small(self) -> Small:
        """Before the cluster is filled."""
        settled = [settle(self._live) for _ in range(self._rounds)]
        return Small(settled, feel(self._live, self._rounds, self._seconds))

    @cached_property
    def streamed(self) -> Streamed:
        """While it is."""
        _ = self.small
        return stream(self._live, self._seconds)

    @cached_property
    def large(self) -> Large:
        """Afterwards."""
        _ = self.streamed
        settled = [settle(self._live) for _ in range(self._rounds)]
        return Large(settled, [decode(self._live.plane.api) for _ in range(self._rounds)])


LiveStep: TypeAlias = Callable[[Observed], Row]


def live_steps() -> dict[str, LiveStep]:
    """List the rows in the order of the table, each with what makes it."""
    steps: dict[str, LiveStep] = {
        f"creating a pod, {name}": partial(felt, f"creating a pod, {name}", share, must)
        for name, (share, must) in FELT.items()
    }
    others = {
        "p99 while 100,000 objects stream in": streaming,
        "first list of 115,000 objects": first_list,
        "memory with all these": memory,
    }
    return steps | {what: partial(step, what) for what, step in others.items()}


def felt(what: str, share: float, must: Must, observed: Observed) -> Row:
    """What the webhooks add to a creation through kube-apiserver."""
    alone = [percentile(turn, share) for turn in observed.small.felt.alone]
    called = [percentile(turn, share) for turn in observed.small.felt.called]
    added = [(more - less) * 1e3 for more, less in zip(called, alone, strict=True)]
    return Row(what, f"API server alone {_ms(alone)}", _ms(called), added, must)


def streaming(what: str, observed: Observed) -> Row:
    """The slowest calls while the cluster changes as fast as it can."""
    idle, meanwhile, disturbed = observed.streamed
    slowest = percentile(meanwhile, 0.99) * 1e3
    return Row(what, f"idle {_ms([percentile(idle, 0.99)])}", "", [slowest], STREAMING, disturbed)


def first_list(what: str, observed: Observed) -> Row:
    """CPU until a server knows the cluster, without what its start takes anyway."""
    start = median(each.cpu for each in observed.small.settled)
    listed = [each.cpu - start for each in observed.large.settled]
    decoded = observed.large.decoded
    base = f"json.loads {median(decoded):.1f} s"
    return Row(what, base, f"{median(listed):.1f} s", ratios(listed, decoded), FIRST_LIST)


def memory(what: str, observed: Observed) -> Row:
    """What the server holds when it knows the cluster, and when there was next to nothing."""
    small = median(each.resident for each in observed.small.settled)
    large = [each.resident for each in observed.large.settled]
    return Row(what, f"small cluster {small:.0f} MiB", "", large, MEMORY)


def _ms(seconds: list[float]) -> str:
    return f"{median(seconds) * 1e3:.1f} ms"
