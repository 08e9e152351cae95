"""
Our own authority, shared by all replicas: look, ask the planner, do one step, look again.

This loop decides nothing (``certs.plan`` does) and keeps nothing but the leaf that it serves.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from certs.errors import CertError, ConflictError, PairError
from certs.inject import Hooks, Published
from certs.issue import make_authority, sign_leaf
from certs.pem import Bundle, describe
from certs.plan import Action, Step, next_step
from certs.probe import Probe
from certs.restraint import Restraint
from certs.secret import SecretStore, Stored
from certs.serving import LiveContext
from certs.situation import Leaf, Lifetimes, Situation
from certs.source import Notice, Outside, Status, Subject, unexpected
from certs.trust import Trust, validity

LONGEST_PAUSE_S = 30.0
"""Between two tries while the API server does not answer; it costs one call each."""

_A_FIGHT = 3  # repairs in a row: one is a mishap, and two may be a rollback
_A_REFUSAL = 10  # conflicts in a row: more than replicas that get into each other's way


def nearest(now: datetime, second: datetime | None) -> datetime:
    """Choose the moment of a second that is nearest to ours: a Date header tells no more."""
    return now if second is None else min(max(now, second), second + timedelta(seconds=1))


async def nowhere(_pair: Bundle) -> None:
    """Probe nothing."""


@dataclass(slots=True, kw_only=True)
class SelfSource:
    """
    Certificates of our own authority, as a ``CertificateSource``.

    Attributes:
        live: What is served.
        secret: Where the authorities stand.
        hooks: Where they are published.
        hosts: Names and addresses for the leaf.
        outside: Clock, sleep, report, dice.
        lifetimes: How long things last.
        probe: Tries the listener before anything is published.
    """

    live: LiveContext
    secret: SecretStore
    hooks: Hooks
    hosts: Sequence[str]
    outside: Outside
    lifetimes: Lifetimes = field(default_factory=Lifetimes)
    probe: Probe = nowhere
    _status: Status = field(default_factory=Status, init=False)
    _leaf: Leaf | None = field(default=None, init=False)
    _failures: int = field(default=0, init=False)
    _conflicts: int = field(default=0, init=False)
    _restraint: Restraint = field(default_factory=Restraint, init=False)

    @property
    def status(self) -> Status:
        """How it stands; ready while every webhook configuration that exists trusts the leaf."""
        return self._status

    async def start(self) -> None:
        """Serve a first leaf; waits for the cluster as long as it takes."""
        while self._leaf is None:
            await self.outside.sleep(await self.tend())

    async def run(self) -> None:
        """Do what is to be done, for ever."""
        while True:
            await self.outside.sleep(await self.tend())

    async def tend(self) -> float:
        """
        Look, and take one step.

        Returns:
            Seconds until the next look: none if the step was taken.
        """
        try:
            acted = await self._step()
        except ConflictError as error:
            # Somebody else was faster, most often with the same step; unless this never ends, as
            # with a Secret that was made immutable.
            self._conflicts += 1
            if self._conflicts < _A_REFUSAL:
                return self.outside.jitter() * self._poll_s
            self._complain(Subject.CA, f"{error}; or it refuses the change")
            return self._back_off()
        except CertError as error:
            self._complain(Subject.LEAF if isinstance(error, PairError) else Subject.CA, str(error))
            return self._back_off()
        except Exception as error:  # noqa: BLE001  # what is served is good, whatever this is
            self._complain(Subject.CA, unexpected(error))
            return self._back_off()
        self._failures = self._conflicts = 0
        return 0.0 if acted else self._poll_s

    def _back_off(self) -> float:
        self._failures += 1
        longest = min(self._poll_s * 2.0 ** min(self._failures - 1, 10), LONGEST_PAUSE_S)
        return longest * (0.5 + self.outside.jitter() / 2)

    async def _step(self) -> bool:
        # The bundles first: whoever has changed the Secret since has changed them too, or will.
        published = await self.hooks.read()
        # Our clock before the Secret: no leaf may live longer than a fresh look would allow.
        now = self.outside.clock()
        stored = await self.secret.load()
        situation = self._situate(published, stored, now)
        self._observe(published, stored, situation)
        return await self._act(next_step(situation), situation, published, stored)

    def _situate(self, published: Published, stored: Stored, now: datetime) -> Situation:
        names = {one.name for one in stored.trust.authorities}
        if self._leaf is not None:
            names.add(self._leaf.issuer)
        return Situation(
            authorities=stored.trust.authorities,
            everywhere=published.everywhere(names),
            anywhere=published.anywhere(),
            leaf=self._leaf,
            now=now,
            server_now=nearest(now, stored.server_now),
            ca_asked=stored.asked.get(Subject.CA),
            leaf_asked=stored.asked.get(Subject.LEAF),
            lifetimes=self.lifetimes,
        )

    async def _act(
        self, step: Step, situation: Situation, published: Published, stored: Stored
    ) -> bool:
        """Do it; tell whether there may be more to do at once."""
        match step.action:
            case Action.WAIT:
                self._status = replace(self._status, problem=stored.problem)
                return False
            case Action.DISTRUST:
                off = abs(situation.now - situation.server_now).total_seconds()
                problem = f"our clock and the API server's differ by {off:.0f} s, set them right"
                self._complain(Subject.CA, f"{problem}; nothing is rotated until then")
                return False
            case Action.SIGN_LEAF:
                self._sign(situation, stored.trust)
            case Action.INJECT:
                return await self._inject(situation, published, stored.trust)
            case Action.ADD_CA:
                pair = make_authority(now=situation.now, life=self.lifetimes.ca)
                await self.secret.save(stored.trust.add(pair), instead_of=stored)
                self._report(Subject.CA_BUNDLE, f"made the authority {describe(pair.leaf)}")
            case _:
                trust = stored.trust.advance(step, situation.now)
                await self.secret.save(trust, instead_of=stored)
                self._tell(step, stored.trust)
        return True

    def _sign(self, situation: Situation, trust: Trust) -> None:
        signer = situation.signer
        assert signer is not None
        pair = sign_leaf(
            trust.pairs[signer.name], self.hosts, now=situation.now, life=self.lifetimes.leaf
        )
        self.live.swap(pair, trust.trusted)
        self._leaf = Leaf(issuer=signer.name, validity=validity(pair.leaf))
        self._status = replace(self._status, leaf=pair.leaf)
        self._report(Subject.LEAF, f"serving {describe(pair.leaf)}")

    async def _inject(self, situation: Situation, published: Published, trust: Trust) -> bool:
        wanted = frozenset(one.name for one in trust.authorities)
        if not self._restraint.allows(wanted, situation.now):
            if self._restraint.repairs >= _A_FIGHT:
                problem = "caBundle is put right again and again, and somebody undoes it"
                self._complain(Subject.CA_BUNDLE, f"{problem}; find out who else writes it")
            return False
        assert self.live.served is not None
        await self.probe(self.live.served)
        leaving = [trust.certificates[one.name] for one in trust.authorities if one.leaving]
        alive = [trust.certificates[one.name] for one in situation.alive]
        expired_at = situation.now - self.lifetimes.overlap
        await self.hooks.write(published, alive, leaving, expired_at=expired_at)
        self._restraint.count(wanted, situation.now)
        self._report(Subject.CA_BUNDLE, f"wrote {len(alive)} authorities into caBundle")
        return True

    def _observe(self, published: Published, stored: Stored, situation: Situation) -> None:
        in_sync = None
        if self._leaf is not None and published.bundles:
            in_sync = self._leaf.issuer in situation.everywhere
        self._status = replace(
            self._status,
            authorities=stored.trust.trusted,
            in_sync=in_sync,
            ready=self._leaf is not None and in_sync is not False,
        )
        if stored.problem:
            self._complain(Subject.CA, stored.problem)
        for title in sorted(set(published.absent) - set(self._status.absent)):
            text = f"{title} does not exist, so nobody calls us for it; it is not made again"
            self.outside.report(Notice(subject=Subject.CA_BUNDLE, ok=False, text=text))
        self._status = replace(self._status, absent=published.absent)

    def _tell(self, step: Step, trust: Trust) -> None:
        names = [describe(trust.certificates[name]) for name in sorted(step.names)]
        if step.action is Action.PROMOTE:
            self._report(Subject.CA, f"signing with the authority {', '.join(names)}")
        elif step.action is Action.DROP:
            self._report(Subject.CA_BUNDLE, f"no longer trusting {', '.join(names)}")

    def _report(self, subject: Subject, text: str) -> None:
        self.outside.report(Notice(subject=subject, ok=True, text=text))

    def _complain(self, subject: Subject, problem: str) -> None:
        if problem != self._status.problem:
            self._status = replace(self._status, problem=problem)
            self.outside.report(Notice(subject=subject, ok=False, text=problem))

    @property
    def _poll_s(self) -> float:
        return self.lifetimes.poll.total_seconds()
