"""Replicas that rotate certificates in one cluster, in simulated time, and their clients."""

from dataclasses import dataclass, field
from datetime import timedelta

from cryptography import x509

from certs.pem import CertificatePair
from certs.rotate import SelfSource
from certs.serving import LiveContext, shake_hands
from certs.state import Lifetimes
from certs.trust import STATE
from tests.certs.cluster import MUTATING, SECRET, VALIDATING, Cluster
from tests.certs.world import DAY, World

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
KILLED_AT = range(1, 41)  # calls: of a whole rotation, and some more
SHORT = Lifetimes(ca=DAY, leaf=10 * SECOND, overlap=5 * SECOND)


class KilledError(BaseException):
    """SIGKILL, simulated within one process."""


@dataclass
class Fleet:
    """Replicas of one cluster, and clients that trust the published bundles and nothing else."""

    lifetimes: Lifetimes = field(default_factory=Lifetimes)
    world: World = field(default_factory=World)
    replicas: list[SelfSource] = field(default_factory=list)
    connected: set[tuple[x509.Certificate, tuple[x509.Certificate, ...]]] = field(
        default_factory=set
    )

    def __post_init__(self) -> None:
        self.cluster = Cluster(clock=lambda: self.world.now)

    def add(self) -> SelfSource:
        source = SelfSource(
            live=LiveContext(),
            secret=self.cluster.secret,
            hooks=self.cluster.hooks,
            hosts=("web.ns.svc",),
            environment=self.world.environment,
            lifetimes=self.lifetimes,
        )
        self.replicas.append(source)
        return source

    async def settle(self) -> None:
        """Let every replica do what it has to do at this moment."""
        for source in self.replicas:
            for _ in range(20):
                if await source.take_step() > 0:
                    break
            self.check()

    async def live(self, span: timedelta, *, step: timedelta) -> None:
        """Let time pass, with a look of every replica, and of every client, at each step."""
        end = self.world.now + span
        while self.world.now < end:
            self.world.now += step
            await self.settle()

    def check(self) -> None:
        """Connect to every replica that is ready with each of the published bundles."""
        for source in self.replicas:
            for path in self.cluster.objects.keys() & {MUTATING, VALIDATING}:
                if source.status.ready:
                    self.connect(source, self.cluster.bundle(path))

    def connect(self, source: SelfSource, trusted: tuple[x509.Certificate, ...]) -> None:
        """Connect; what went well once is not tried again, it would go the same way."""
        attempt = (served(source).leaf, trusted)
        if attempt not in self.connected:
            shake_hands(source.live.context, served(source), trusted)
            self.connected.add(attempt)


def served(source: SelfSource) -> CertificatePair:
    """The pair that a replica serves."""
    assert source.live.served is not None
    return source.live.served


def kill_at(count: int, moment: int) -> None:
    """Kill the replica if this is the moment."""
    if count == moment:
        raise KilledError


def empty(fleet: Fleet) -> None:
    """Empty the Secret."""
    fleet.cluster.put(SECRET, {"metadata": {}, "data": {}})


def corrupt(fleet: Fleet) -> None:
    """Write a state into the Secret that cannot be read."""
    fleet.cluster.put(SECRET, {"metadata": {}, "data": {STATE: "eyJ2ZXJzaW9uIjogMX0="}})
