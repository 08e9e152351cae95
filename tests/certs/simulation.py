"""
Replicas, one Secret and two webhook configurations, as a history to examine afterwards.

Time is counted in ticks. Nothing here decides: each replica reads, gets a step from the planner,
and does it, one phase at a time, so that anything may happen between two phases.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from certs.state import (
    Authority,
    Leaf,
    Lifetimes,
    Revocation,
    RotationAction,
    RotationState,
    RotationStep,
    Validity,
    advance,
)

TICK = timedelta(seconds=5)
START = datetime(2030, 1, 1, tzinfo=UTC)
OVERLAP = 8  # ticks; so long is a revoked authority trusted, too
CLIENT_LAG = OVERLAP // 2  # the planner promises to all that lag less
REVOCATION_LAG = OVERLAP // 4  # as long as a revocation goes on
SKEW = OVERLAP // 4  # what it tolerates
SECRET_LAG = OVERLAP // 4  # how old a read of the Secret may be
ROUNDS = 10  # of a loop that finds something to do each time

Decide = Callable[[RotationState], RotationStep]


def at(tick: int) -> datetime:
    return START + tick * TICK


class Fate(StrEnum):
    """What happens to a replica in one event."""

    ACT = "goes round its loop until there is nothing to do"
    STALL = "does one phase and stops, to go on another time"
    CRASH = "is killed, and its successor knows nothing"
    JUMP = "gets a clock that is far off"
    MEND = "gets a clock that is nearly right"


@dataclass
class Replica:
    """One process: what it serves, and how far it has come in its loop."""

    skew: int = 0
    leaf: Leaf | None = None
    phase: int = 0
    bundles: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
    bundles_version: int = 0
    authorities: tuple[Authority, ...] = ()
    revocation: Revocation | None = None
    version: int = 0
    now: datetime = START
    server_now: datetime = START


@dataclass
class Cluster:
    """
    The world that the replicas share.

    ``broken`` collects each meeting of a client, lagging less than ``client_lag``, with a leaf
    whose issuer it does not know.
    """

    lifetimes: Lifetimes
    decide: Decide
    replicas: list[Replica]
    tick: int = 0
    secrets: list[tuple[int, tuple[Authority, ...], Revocation | None]] = field(
        default_factory=lambda: [(0, (), None)]
    )
    bundles: list[tuple[int, tuple[frozenset[str], frozenset[str]]]] = field(
        default_factory=lambda: [(0, (frozenset(), frozenset()))]
    )
    created: list[Authority] = field(default_factory=list)
    revoked: int | None = None
    client_lag: int = CLIENT_LAG
    in_need: set[str] = field(default_factory=set)
    steps: list[RotationAction] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    def wait(self, ticks: int) -> None:
        for _ in range(ticks):
            self.tick += 1
            self.look_at_clients()

    def happen(self, number: int, fate: Fate, amount: int) -> None:
        replica = self.replicas[number]
        match fate:
            case Fate.CRASH:
                self.replicas[number] = Replica(skew=replica.skew)
            case Fate.JUMP:
                replica.skew = amount * 50
            case Fate.MEND:
                replica.skew = max(-SKEW, min(SKEW, amount))
            case Fate.STALL:
                self.go_on(replica, lag=abs(amount) % (SECRET_LAG + 1))
            case Fate.ACT:
                self.go_round(replica)
        self.look_at_clients()

    def go_round(self, replica: Replica) -> None:
        for _ in range(ROUNDS):
            self.go_on(replica, lag=0)
            while replica.phase:
                self.go_on(replica, lag=0)
            if self.steps[-1] in {RotationAction.WAIT, RotationAction.DISTRUST}:
                return
            self.look_at_clients()

    def go_on(self, replica: Replica, *, lag: int) -> None:
        phases = (self.read_bundles, self.read_secret, self.act)
        phases[replica.phase](replica, lag)
        replica.phase = (replica.phase + 1) % 3

    def read_bundles(self, replica: Replica, _lag: int) -> None:
        replica.bundles_version = len(self.bundles)
        replica.bundles = self.bundles[-1][1]

    def read_secret(self, replica: Replica, lag: int) -> None:
        seen = [n for n, (since, _, _) in enumerate(self.secrets, 1) if since <= self.tick - lag]
        replica.version = max(seen, default=1)
        _, replica.authorities, replica.revocation = self.secrets[replica.version - 1]
        replica.server_now = at(self.tick)
        replica.now = at(self.tick + replica.skew)

    def act(self, replica: Replica, _lag: int) -> None:
        situation = RotationState(
            authorities=replica.authorities,
            everywhere=replica.bundles[0] & replica.bundles[1],
            anywhere=replica.bundles[0] | replica.bundles[1],
            leaf=replica.leaf,
            now=replica.now,
            server_now=replica.server_now,
            revoke_requested=None if self.revoked is None else at(self.revoked),
            recorded=replica.revocation,
            lifetimes=self.lifetimes,
        )
        step = self.decide(situation)
        self.steps.append(step.action)
        match step.action:
            case RotationAction.SIGN_LEAF:
                self.sign(replica, situation)
            case RotationAction.INJECT:
                self.inject(replica, situation)
            case RotationAction.ADD_CA:
                self.write(replica, (*replica.authorities, self.new_authority(situation)))
            case RotationAction.ADD_FOREIGN:
                found = [one for one in self.created if one.name in step.names]
                foreign = (replace(one, foreign=replica.server_now) for one in found)
                self.write(replica, (*replica.authorities, *foreign))
            case RotationAction.WAIT | RotationAction.DISTRUST:
                pass
            case _:
                if step.action is RotationAction.PROMOTE and situation.signer is None:
                    self.in_need |= step.names
                replica.revocation = step.revocation or replica.revocation
                self.write(replica, advance(step, replica.authorities, replica.server_now))

    def sign(self, replica: Replica, situation: RotationState) -> None:
        signer = situation.signer
        assert signer is not None
        end = min(situation.now + self.lifetimes.leaf, signer.validity.end)
        validity = Validity(start=situation.now, end=end)
        replica.leaf = Leaf(issuer=signer.name, validity=validity)

    def inject(self, replica: Replica, situation: RotationState) -> None:
        if replica.bundles_version != len(self.bundles):
            return  # the test of the patch fails
        leaving = {one.name for one in replica.authorities if one.leaving}
        alive = {one.name for one in situation.alive}
        for which in (0, 1):  # one configuration after the other: clients see each in between
            merged = list(self.bundles[-1][1])
            merged[which] = (merged[which] | alive) - leaving
            self.bundles.append((self.tick, (merged[0], merged[1])))

    def new_authority(self, situation: RotationState) -> Authority:
        start = situation.server_now
        validity = Validity(start=start, end=start + self.lifetimes.ca)
        self.created.append(Authority(name=f"ca-{len(self.created) + 1}", validity=validity))
        return self.created[-1]

    def write(self, replica: Replica, authorities: tuple[Authority, ...]) -> None:
        if replica.version == len(self.secrets):  # otherwise another replica wrote first
            self.secrets.append((self.tick, authorities, replica.revocation))

    def revoke(self) -> None:
        self.revoked, self.client_lag = self.tick, REVOCATION_LAG

    def lose_secret(self) -> None:
        self.secrets.append((self.tick, (), None))

    def restore_secret(self, age: int) -> None:
        """Put back what the Secret held so many writes ago."""
        self.secrets.append((self.tick, *self.secrets[max(0, len(self.secrets) - 1 - age)][1:]))

    def look_at_clients(self) -> None:
        for replica in self.replicas:
            if replica.leaf is not None and at(self.tick) < replica.leaf.validity.end:
                self.meet(replica.leaf.issuer)

    def meet(self, issuer: str) -> None:
        """Let every client that there may be meet this issuer."""
        # Clients could not know an authority that signed at once, since no other was alive.
        first = self.published(issuer) if issuer in self.in_need else 0
        for number, (since, bundles) in reversed(list(enumerate(self.bundles))):
            replaced = self.bundles[number + 1][0] if number + 1 < len(self.bundles) else self.tick
            if replaced <= self.tick - self.client_lag or number < first:
                return
            if not all(issuer in bundle for bundle in bundles):
                self.broken.append(f"tick {self.tick}: {issuer} met {bundles} of tick {since}")

    def published(self, name: str) -> int:
        """Find the first state in which every bundle holds this authority."""
        states = (
            number
            for number, (_, bundles) in enumerate(self.bundles)
            if all(name in bundle for bundle in bundles)
        )
        return next(states, len(self.bundles))
