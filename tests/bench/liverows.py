"""
What a server beside a real kube-apiserver must reach.

The cluster is filled once: what is observed before and after is in this order, whichever row is
read first.
"""

from collections.abc import Callable
from functools import cached_property, partial
from statistics import median
from typing import NamedTuple, TypeAlias

from tests.bench.creations import CreationTurns, measure_creations
from tests.bench.creator import Turn
from tests.bench.live import LiveCluster
from tests.bench.livebindings import Bindings, bind_in_turns
from tests.bench.observations import Settled, Streamed, decode, settle, stream
from tests.bench.rows import Must, Row, percentile, ratios

MEMORY = Must(192, "MiB")  # of the whole process, with all that it keeps of the large cluster
SMALL_MEMORY = Must(80, "MiB")  # of the whole process; nearly all of it are libraries
AUDIT = Must(0.8, "s")  # what a person waits for the command, most of it for libraries
FIRST_LIST = Must(1.5)  # CPU, as a multiple of json.loads of the same bytes
STREAMING = Must(20, "ms")  # p99 of admission while the objects come in
USUAL = Must(1.1)  # what half of creations take longer, as a multiple of the policy's
SLOWEST = Must(5, "ms")  # what 99 % of creations take longer
APISERVER = Must(1)  # CPU of the API server for a creation, as a multiple of that with the policy
RANKED = Must(2.5, "ms")  # what half of bindings take longer
CREATED = Must(1, at_least=True)  # creations a second, as a multiple of those with the policy


class Small(NamedTuple):
    """What is observed while the cluster is small; ``audited`` in seconds that a person waits."""

    settled: list[Settled]
    audited: list[float]
    creations: CreationTurns
    bindings: Bindings


class Large(NamedTuple):
    """What is observed once it is large; ``decoded`` in CPU seconds."""

    settled: list[Settled]
    decoded: list[float]


class Observed:
    """
    Observations of one cluster; each part is measured at its first use.

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
        audited = [self._live.audit() for _ in range(self._rounds)]
        creations = measure_creations(self._live, self._rounds, self._seconds)
        bindings = bind_in_turns(self._live, self._rounds, self._seconds)
        return Small(settled, audited, creations, bindings)

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
    rows: dict[str, Callable[[str, Observed], Row]] = {
        "memory beside a small cluster": small_memory,
        "audit of a small live cluster": audit,
        "creating a pod, p50": usual,
        "creating a pod, p99": slowest,
        "API server CPU to create a pod": apiserver_cpu,
        "pods created a second": created,
        "binding a ranked pod, p50": binding,
        "p99 while 100,000 objects stream in": streaming,
        "first list of 115,000 objects": first_list,
        "memory with all these": memory,
    }
    return {what: partial(step, what) for what, step in rows.items()}


def small_memory(what: str, observed: Observed) -> Row:
    """What the server holds when it knows a cluster with next to nothing."""
    return Row(what, "", "", [sample.resident for sample in observed.small.settled], SMALL_MEMORY)


def audit(what: str, observed: Observed) -> Row:
    """How long a person waits for the audit of such a cluster."""
    return Row(what, "", "", observed.small.audited, AUDIT)


def usual(what: str, observed: Observed) -> Row:
    """What the webhooks add to half of all creations, compared with the policy."""
    alone, policy, called = _by_turn(
        observed.small.creations, lambda turn: percentile(turn.took, 0.5)
    )
    base = f"alone {_ms(alone)}, policy {_ms(policy)}"
    values = ratios(_added(called, alone), _added(policy, alone))
    return Row(what, base, _ms(called), values, USUAL)


def slowest(what: str, observed: Observed) -> Row:
    """What the webhooks add to the slowest creations."""
    alone, policy, called = _by_turn(
        observed.small.creations, lambda turn: percentile(turn.took, 0.99)
    )
    base = f"alone {_ms(alone)}, policy {_ms(policy)}"
    added = [seconds * 1e3 for seconds in _added(called, alone)]
    return Row(what, base, _ms(called), added, SLOWEST)


def apiserver_cpu(what: str, observed: Observed) -> Row:
    """CPU of the API server for a creation, compared with the policy."""
    alone, policy, called = _by_turn(observed.small.creations, lambda turn: turn.cpu)
    base = f"alone {_ms(alone)}, policy {_ms(policy)}"
    return Row(what, base, _ms(called), ratios(called, policy), APISERVER)


def created(what: str, observed: Observed) -> Row:
    """How many pods a few clients create, compared with the policy."""
    alone, policy, called = _by_turn(observed.small.creations, lambda turn: turn.rate)
    base = f"alone {median(alone):.0f}/s, policy {median(policy):.0f}/s"
    return Row(what, base, f"{median(called):.0f}/s", ratios(called, policy), CREATED)


def binding(what: str, observed: Observed) -> Row:
    """What ranks add to half of all bindings; a webhook that does nothing adds something too."""
    alone, empty, ranked = (
        [percentile(took, 0.5) for took in turns] for turns in observed.small.bindings
    )
    base = f"alone {_ms(alone)}, empty webhook {_ms(empty)}"
    added = [seconds * 1e3 for seconds in _added(ranked, alone)]
    return Row(what, base, _ms(ranked), added, RANKED)


def _by_turn(creations: CreationTurns, figure: Callable[[Turn], float]) -> tuple[list[float], ...]:
    """A figure of each turn: alone, with the policy, with evenspread."""
    return tuple([*map(figure, turns)] for turns in creations)


def _added(more: list[float], less: list[float]) -> list[float]:
    """Differences, round by round."""
    return [value - other for value, other in zip(more, less, strict=True)]


def streaming(what: str, observed: Observed) -> Row:
    """The slowest calls while the cluster changes as fast as it can."""
    idle, meanwhile, disturbed = observed.streamed
    slowest = percentile(meanwhile, 0.99) * 1e3
    return Row(what, f"idle {_ms([percentile(idle, 0.99)])}", "", [slowest], STREAMING, disturbed)


def first_list(what: str, observed: Observed) -> Row:
    """CPU until a server knows the cluster, without what its start takes anyway."""
    start = median(sample.cpu for sample in observed.small.settled)
    listed = [sample.cpu - start for sample in observed.large.settled]
    decoded = observed.large.decoded
    base = f"json.loads {median(decoded):.1f} s"
    return Row(what, base, f"{median(listed):.1f} s", ratios(listed, decoded), FIRST_LIST)


def memory(what: str, observed: Observed) -> Row:
    """What the server holds when it knows the cluster, and when there was next to nothing."""
    small = median(sample.resident for sample in observed.small.settled)
    large = [sample.resident for sample in observed.large.settled]
    return Row(what, f"small cluster {small:.0f} MiB", "", large, MEMORY)


def _ms(seconds: list[float]) -> str:
    return f"{median(seconds) * 1e3:.1f} ms"
