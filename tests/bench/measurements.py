"""
What is measured, and what it must reach.

Every row is a ratio of figures from this run, except times that a person waits, and memory.
"""

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import cached_property, partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, Self, TypeAlias

from tests.bench import cpu, filling, fleet, peer, reviews, servers
from tests.bench.audits import LargeCluster, Used
from tests.bench.bindings import BindingBench, binding_steps
from tests.bench.dumps import DumpStep, PodDumps, dump_steps
from tests.bench.explanations import measure_explanation
from tests.bench.live import LiveCluster
from tests.bench.liverows import LiveStep, Observed, live_steps
from tests.bench.load import REFUSED, Load, LoadError, ask
from tests.bench.rebalances import plan_row
from tests.bench.reviews import Request
from tests.bench.rounds import QUIET, Meter, Subject, own_load, seconds_of
from tests.bench.rows import Must, Row, percentile, ratios
from tests.bench.servers import Server

MANY = 5_000  # Services in one namespace, by default; few clusters have as many in all

AGAINST_FLOOR = {
    "mutate: two defaults injected": (reviews.injected(), Must(1.5)),
    "mutate: each of another ReplicaSet": (reviews.churning(), Must(1.8)),
    "validate: three constraints": (reviews.validated(), Must(1.6)),
    "validate: three with every field": (reviews.validated_in_full(), Must(1.6)),
    "nothing to do: its own constraints": (reviews.own(), Must(1.5)),
    "nothing to do: exempt namespace": (reviews.exempt(), Must(1.5)),
    "nothing to do: no profile fits": (reviews.without_profile(), Must(1.5)),
}
"""CPU a call, as a multiple of what aiohttp alone spends on reading the same body."""

REFUSAL = Must(0.2)  # CPU of a refused call, as a multiple of that of an answered one
GROWTH = Must(1.1)  # CPU a call with many Services, as a multiple of that with one
FASTER_THAN_PEER = Must(9, at_least=True)  # calls a second, each on one core
TAIL = Must(5)  # p99 as a multiple of p50
MEMORY = Must(80, "MiB")  # nearly all of it are libraries
READY = Must(0.8, "s")  # from nothing: the certificate is made, too
HELP = Must(0.25, "s")
AUDIT = Must(3)  # CPU of an audit, as a multiple of that of decoding its snapshot
AUDIT_MEMORY = Must(1_536, "MiB")
PLACEMENT = Must(100, "ms")  # KEP-3022 grants the plugin as much at the 90th percentile

LIVE_ROUNDS = 3  # at most: each lists a whole cluster anew
LIVE_TURN = 10  # rounds long: creations are 50 a second, and the slowest of 100 counts
HALF = 0.5  # of capacity; more is no way to run a server that others wait for
PYTHON_ALONE = (sys.executable, "-c", "pass")


class Options(NamedTuple):
    """
    How to measure.

    Attributes:
        rounds: Turns of each two that are compared; starts of each command.
        seconds: Length of a round.
        program: The evenspread to measure.
        cores: Where servers and load run.
        services: How many are many Services.
        size: Of the large cluster beside a control plane.
    """

    rounds: int
    seconds: float
    program: Path
    cores: cpu.Cores
    services: int = MANY
    size: filling.Size = filling.Size()


class Bench:
    """The servers of one run, each started when it is first needed; they end with the ``with``."""

    def __init__(self, options: Options, meter: Meter) -> None:
        self.options = options
        self.meter = meter
        self._open = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @cached_property
    def floor(self) -> Server:
        """The aiohttp floor."""
        return self._kept(servers.start_floor(self.folder(), self.options.cores.server))

    @cached_property
    def product(self) -> Server:
        """Evenspread, with one Service."""
        facts = servers.cluster(revisions=reviews.revisions())
        return self._kept(self.start_product(facts))

    @cached_property
    def overloaded(self) -> Server:
        """Evenspread, as it is under overload."""
        core = self.options.cores.server
        return self._kept(servers.start_impatient(self.folder(), core, servers.cluster()))

    @cached_property
    def large(self) -> Server:
        """Evenspread, with many Services."""
        return self._kept(self.start_product(servers.cluster(self.options.services)))

    @cached_property
    def large_cluster(self) -> LargeCluster:
        """The snapshot of a cluster of 5 000 nodes, 10 000 workloads and 150 000 pods."""
        return LargeCluster(self.folder(), self.options.program, fleet.Size())

    @cached_property
    def pod_dumps(self) -> PodDumps:
        """Dumps of pods in JSON and YAML."""
        return PodDumps(self.folder(), self.options.program)

    @cached_property
    def peer(self) -> Server:
        """The peer in Go, with one Service."""
        program = peer.ensure_built()
        return self._kept(servers.start_peer(program, self.folder(), self.options.cores.server, 1))

    @cached_property
    def observed(self) -> Observed:
        """What is observed beside a real kube-apiserver."""
        options = self.options
        live = LiveCluster(self.folder(), options.program, options.cores, options.size)
        rounds, seconds = min(options.rounds, LIVE_ROUNDS), options.seconds * LIVE_TURN
        return Observed(self._open.enter_context(live), rounds, seconds)

    def start_product(self, facts: Mapping[str, Any]) -> Server:
        """Start another evenspread, which the caller has to stop."""
        options = self.options
        return servers.start_product(self.folder(), options.cores.server, facts, options.program)

    def folder(self) -> Path:
        """Make a folder that is removed at the end."""
        made = Path(tempfile.mkdtemp(prefix="evenspread-bench-"))
        self._open.callback(shutil.rmtree, made, ignore_errors=True)
        return made

    def _kept(self, server: Server) -> Server:
        self._open.callback(server.stop)
        return server


Step: TypeAlias = Callable[[Bench], Row]


def all_steps(*, with_peer: bool, with_plane: bool) -> dict[str, Step]:
    """List the rows in the order of the table, each with what measures it."""
    cpu_rows: dict[str, Step] = {
        what: partial(against_floor, what, request, must)
        for what, (request, must) in AGAINST_FLOOR.items()
    }
    peers = {"calls a second, as against Go": against_peer} if with_peer else {}
    others = {
        "growth with Services": growth,
        "refused under overload": refusal,
        **peers,
        "p99 at half of capacity": tail,
        "memory when ready": memory,
        "start to ready": start_to_ready,
        "evenspread --help": help_shown,
        "audit of 150,000 pods": audit,
        "placing one of 150,000 pods": placement,
        "explaining one of 150,000 pods": lambda what, bench: measure_explanation(
            what, bench.options.rounds
        ),
        "memory of that audit": audit_memory,
        "evictions of 500 pods on 300 nodes": rebalance,
    }
    alone = cpu_rows | {what: partial(step, what) for what, step in others.items()}
    alone |= {what: partial(_dumped, step) for what, step in dump_steps().items()}
    alone |= {what: partial(_bound, partial(step, what)) for what, step in binding_steps().items()}
    if not with_plane:
        return alone
    return alone | {what: partial(_observed, step) for what, step in live_steps().items()}


def _observed(step: LiveStep, bench: Bench) -> Row:
    return step(bench.observed)


def _bound(step: Callable[[BindingBench], Row], bench: Bench) -> Row:
    core, program = bench.options.cores.server, bench.options.program
    return step(BindingBench(bench.folder, core, program, bench.meter, bench.options.rounds))


def _dumped(step: DumpStep, bench: Bench) -> Row:
    return step(bench.pod_dumps, bench.options.rounds)


def against_floor(what: str, request: Request, must: Must, bench: Bench) -> Row:
    """CPU of a call, compared with the floor."""
    subject = _checked(bench.product, request)
    floor, ours = bench.meter.take_turns(
        Subject(bench.floor, request), subject, bench.options.rounds
    )
    base, measured = [sample.cpu for sample in floor], [sample.cpu for sample in ours]
    return Row(what, f"floor {_us(base)}", _us(measured), ratios(measured, base), must)


def growth(what: str, bench: Bench) -> Row:
    """CPU of a call with many Services, compared with one."""
    request = reviews.injected()
    few, many = bench.meter.take_turns(
        _checked(bench.product, request), _checked(bench.large, request), bench.options.rounds
    )
    base, measured = [sample.cpu for sample in few], [sample.cpu for sample in many]
    few_and_many = f"{what}, 1 to {bench.options.services:,}"
    return Row(few_and_many, f"one {_us(base)}", _us(measured), ratios(measured, base), GROWTH)


def refusal(what: str, bench: Bench) -> Row:
    """CPU of a call that is refused under overload, compared with an answer."""
    request = reviews.injected()
    answering = _checked(bench.product, request)
    refusing = Subject(bench.overloaded, request)
    meter = Meter(partial(own_load, statuses=REFUSED), bench.options.seconds)
    base, measured = list[float](), list[float]()
    for _ in range(bench.options.rounds):
        base.append(bench.meter.measure(answering).cpu)
        measured.append(meter.measure(refusing).cpu)
    return Row(what, f"answer {_us(base)}", _us(measured), ratios(measured, base), REFUSAL)


def against_peer(what: str, bench: Bench) -> Row:
    """Calls a second of a core, compared with the peer's."""
    request = reviews.injected()
    theirs, ours = bench.meter.take_turns(
        _checked(bench.peer, request), _checked(bench.product, request), bench.options.rounds
    )
    base, measured = [sample.capacity for sample in theirs], [sample.capacity for sample in ours]
    return Row(
        what,
        f"controller-runtime {median(base):,.0f}/s",
        f"{median(measured):,.0f}/s",
        ratios(measured, base),
        FASTER_THAN_PEER,
    )


class _Tail(NamedTuple):
    """Latencies at half of what saturates a server, in seconds, and for how long it had no core."""

    usual: float
    slowest: float
    waited: float


def tail(what: str, bench: Bench) -> Row:
    """The slowest calls, compared with the usual ones; those of the floor show the machine."""
    subject = _checked(bench.product, reviews.injected())
    floor = Subject(bench.floor, subject.request)
    pairs = [(_pace(floor, bench), _pace(subject, bench)) for _ in range(bench.options.rounds)]
    floors, ours = zip(*pairs, strict=True)
    most = QUIET * bench.options.rounds * bench.options.seconds
    usual, slowest = [one.usual for one in ours], [one.slowest for one in ours]
    alone = median(one.slowest / one.usual for one in floors)
    base, disturbed = (
        f"p50 {_us(usual)}, floor {alone:.0f} x",
        sum(one.waited for one in ours) > most,
    )
    return Row(what, base, _us(slowest), ratios(slowest, usual), TAIL, disturbed)


def _pace(subject: Subject, bench: Bench) -> _Tail:
    """Call a server at half of what saturates it."""
    server, request = subject
    rate = bench.meter.measure(subject).rate * HALF
    with Load(server.port, request.path, request.bodies) as load:
        before = cpu.spent(server.pid)
        latencies = load.pace(bench.options.seconds, rate)
        waited = cpu.spent(server.pid).since(before).waiting
    return _Tail(percentile(latencies, 0.5), percentile(latencies, 0.99), waited)


def memory(what: str, bench: Bench) -> Row:
    """What a server of one Service holds once it is ready; beside it, what the busy one does."""
    held: list[float] = []
    for _ in range(bench.options.rounds):
        server = bench.start_product(servers.cluster())
        held.append(cpu.resident_mib(server.pid))
        server.stop()
    measured = f"{cpu.resident_mib(bench.product.pid):.0f} MiB under load"
    return Row(what, "", measured, held, MEMORY)


def start_to_ready(what: str, bench: Bench) -> Row:
    """From nothing to a green /readyz, on one core."""

    def start() -> float:
        begun = time.perf_counter()
        server = bench.start_product(servers.cluster())
        took = time.perf_counter() - begun
        server.stop()
        return took

    return _timed(what, bench, start, READY)


def help_shown(what: str, bench: Bench) -> Row:
    """How long the help takes, which imports no more than it needs."""
    command = (str(bench.options.program), "--help")
    return _timed(what, bench, partial(seconds_of, command), HELP)


def audit(what: str, bench: Bench) -> Row:
    """CPU of a whole audit, compared with reading and decoding its snapshot."""
    decoded, audited = _audits(bench)
    base, measured = [sample.cpu for sample in decoded], [sample.cpu for sample in audited]
    shown = f"decoding {median(base):.2f} s"
    return Row(what, shown, f"{median(measured):.2f} s", ratios(measured, base), AUDIT)


def audit_memory(what: str, bench: Bench) -> Row:
    """What an audit holds at most; decoding its snapshot alone takes most of it."""
    decoded, audited = _audits(bench)
    base = f"decoding {median(sample.largest for sample in decoded):.0f} MiB"
    return Row(what, base, "", [sample.largest for sample in audited], AUDIT_MEMORY)


def placement(what: str, bench: Bench) -> Row:
    """CPU of placing one pod with nothing remembered."""
    took = bench.large_cluster.placements(bench.options.rounds)
    return Row(what, "", "", [seconds * 1e3 for seconds in took], PLACEMENT)


def rebalance(what: str, bench: Bench) -> Row:
    """CPU of a plan of evictions."""
    return plan_row(what, bench.options.rounds)


def _audits(bench: Bench) -> tuple[list[Used], list[Used]]:
    """Decode and audit in turn; each as often as there are rounds."""
    cluster = bench.large_cluster
    pairs = [(cluster.decode(), cluster.audit()) for _ in range(bench.options.rounds)]
    return [decoded for decoded, _ in pairs], [audited for _, audited in pairs]


def _timed(what: str, bench: Bench, measure: Callable[[], float], must: Must) -> Row:
    alone, took = [], []
    for _ in range(bench.options.rounds):
        alone.append(seconds_of(PYTHON_ALONE))
        took.append(measure())
    return Row(what, f"python -c pass {median(alone):.3f} s", "", took, must)


def _checked(server: Server, request: Request) -> Subject:
    """Make sure that the server does what is to be measured."""
    answer = ask(server.port, request.path, request.bodies[-1])
    if not request.is_answered_by(answer):
        raise LoadError(f"{server.process.name} answered {request.path} with {answer}")
    return Subject(server, request)


def _us(seconds: list[float]) -> str:
    return f"{median(seconds) * 1e6:.0f} us"
