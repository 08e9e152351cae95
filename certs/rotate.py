"""
Rotate certificates of our own authority, which all replicas share through a Secret.

``SelfSource`` is the entry point: a loop that reads the cluster, gets the next step from
``certs.plan`` and carries it out. It decides nothing itself and keeps no state but the leaf that it
serves.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

from certs.errors import CertError, ConflictError, PairError
from certs.inject import Hooks, Published, merge_bundle
from certs.issue import make_authority, sign_leaf
from certs.pem import describe_certificate
from certs.plan import next_step
from certs.ratelimit import RepairLimit
from certs.secret import RotationRequest, SecretStore, StoredTrust
from certs.serving import LiveContext
from certs.source import CertificateStatus, NoticeSubject, SourceEnvironment, describe_bug
from certs.state import Leaf, Lifetimes, RotationAction, RotationState, RotationStep
from certs.trust import Trust, validity

MAX_PAUSE_S = 30.0  # longest pause between two attempts while the API server does not answer

_DISPUTED_REPAIRS = 3  # in a row, from which on another client is blamed; two may be a rollback
_REFUSED_WRITES = 10  # in a row, from which on the object is blamed; replicas cause fewer conflicts


def nearest_time(now: datetime, second: datetime | None) -> datetime:
    """Return the time within a whole second that is nearest to ours; a Date header has seconds."""
    return now if second is None else min(max(now, second), second + timedelta(seconds=1))


@dataclass(slots=True, kw_only=True)
class SelfSource:
    """
    Certificate source with our own authority; implements ``CertificateSource``.

    Attributes:
        status: Ready while every existing webhook configuration trusts the leaf.
        live: TLS context that serves the leaf.
        secret: Holds the authorities.
        hooks: Webhook configurations that publish them.
        hosts: Names and addresses of the leaf.
    """

    live: LiveContext
    secret: SecretStore
    hooks: Hooks
    hosts: Sequence[str]
    environment: SourceEnvironment
    lifetimes: Lifetimes = field(default_factory=Lifetimes)
    status: CertificateStatus = field(default_factory=CertificateStatus, init=False)
    _leaf: Leaf | None = field(default=None, init=False)
    _failures: int = field(default=0, init=False)
    _conflicts: int = field(default=0, init=False)
    _repair_limit: RepairLimit = field(default_factory=RepairLimit, init=False)

    async def start(self) -> None:
        """Serve a first leaf; waits for the cluster without a limit."""
        while self._leaf is None:
            await self.environment.sleep(await self.take_step())

    async def run(self) -> None:
        """Rotate until cancelled."""
        while True:
            await self.environment.sleep(await self.take_step())

    async def take_step(self) -> float:
        """
        Read the cluster and take one step.

        Returns:
            Seconds to wait; 0 after a step, because another may follow.
        """
        try:
            acted = await self._read_and_act()
        except ConflictError as error:
            # Another replica was faster, usually with the same step. Endless conflicts mean that
            # the object refuses every change, such as an immutable Secret.
            self._conflicts += 1
            if self._conflicts < _REFUSED_WRITES:
                return self.environment.jitter() * self._poll_s
            self._report_problem(NoticeSubject.CA, f"{error}; or it refuses the change")
        except PairError as error:
            self._report_problem(NoticeSubject.LEAF, str(error))
        except CertError as error:
            self._report_problem(NoticeSubject.CA, str(error))
        except Exception as error:  # noqa: BLE001  # the served leaf stays valid
            self._report_problem(NoticeSubject.CA, describe_bug(error))
        else:
            self._failures = self._conflicts = 0
            return 0.0 if acted else self._poll_s
        return self._back_off()

    def _back_off(self) -> float:
        self._failures += 1
        longest = min(self._poll_s * 2.0 ** min(self._failures - 1, 10), MAX_PAUSE_S)
        return longest * (0.5 + self.environment.jitter() / 2)

    async def _read_and_act(self) -> bool:
        # Read the bundles before the Secret: a replica that changes the Secret in between writes
        # the bundles too, so that our write of stale bundles fails.
        published = await self.hooks.read()
        # Read our clock before the Secret: a leaf must not outlast what a newer read would allow.
        now = self.environment.clock()
        stored = await self.secret.load()
        state = self._build_state(published, stored, now)
        self._update_status(published, stored, state)
        return await self._act(next_step(state), state, published, stored)

    def _build_state(
        self, published: Published, stored: StoredTrust, now: datetime
    ) -> RotationState:
        names = {authority.name for authority in stored.trust.authorities}
        if self._leaf is not None:
            names.add(self._leaf.issuer)
        return RotationState(
            authorities=stored.trust.authorities,
            everywhere=published.everywhere(names),
            anywhere=frozenset(published.anywhere()),
            leaf=self._leaf,
            now=now,
            server_now=nearest_time(now, stored.server_now),
            ca_requested=stored.requested.get(RotationRequest.CA),
            leaf_requested=stored.requested.get(RotationRequest.LEAF),
            revoke_requested=stored.requested.get(RotationRequest.REVOKE),
            recorded=stored.trust.revocation,
            lifetimes=self.lifetimes,
        )

    async def _act(
        self, step: RotationStep, state: RotationState, published: Published, stored: StoredTrust
    ) -> bool:
        """Carry out a step; returns whether another one may follow at once."""
        match step.action:
            case RotationAction.WAIT:
                self.status = replace(self.status, problem=stored.problem)
                return False
            case RotationAction.DISTRUST:
                off = abs(state.now - state.server_now).total_seconds()
                problem = f"our clock and the API server's differ by {off:.0f} s, set them right"
                self._report_problem(NoticeSubject.CA, f"{problem}; nothing is rotated until then")
                return False
            case RotationAction.SIGN_LEAF:
                self._sign(state, stored.trust)
            case RotationAction.INJECT:
                return await self._inject(state, published, stored.trust)
            case RotationAction.ADD_CA:
                await self._add_authority(state, stored)
            case RotationAction.ADD_FOREIGN:
                found = published.anywhere()
                foreign = [found[name] for name in sorted(step.names)]
                trust = stored.trust.add_foreign(foreign, state.server_now)
                await self.secret.save(trust, instead_of=stored)
                self._report_step(step, trust)
            case _:
                trust = stored.trust.advance(step, state.server_now)
                await self.secret.save(trust, instead_of=stored)
                self._report_step(step, stored.trust)
        return True

    async def _add_authority(self, state: RotationState, stored: StoredTrust) -> None:
        # Requests and revocations have the API server's time; by ours it may seem to be older.
        pair = make_authority(now=state.server_now, lifetime=self.lifetimes.ca)
        await self.secret.save(stored.trust.add(pair), instead_of=stored)
        text = f"created the authority {describe_certificate(pair.leaf)}"
        self.environment.report_success(NoticeSubject.CA_BUNDLE, text)

    def _sign(self, state: RotationState, trust: Trust) -> None:
        signer = state.signer
        assert signer is not None
        pair = sign_leaf(
            trust.pairs[signer.name], self.hosts, now=state.now, lifetime=self.lifetimes.leaf
        )
        self.live.swap(pair, trust.trusted)
        self._leaf = Leaf(issuer=signer.name, validity=validity(pair.leaf))
        self.status = replace(self.status, leaf=pair.leaf)
        text = f"serving {describe_certificate(pair.leaf)}"
        self.environment.report_success(NoticeSubject.LEAF, text)

    async def _inject(self, state: RotationState, published: Published, trust: Trust) -> bool:
        wanted = frozenset(authority.name for authority in trust.authorities)
        if not self._repair_limit.allows(wanted, state.now):
            if self._repair_limit.repairs >= _DISPUTED_REPAIRS:
                problem = "caBundle is repaired again and again, and another client undoes it"
                remedy = "find out which client writes it"
                self._report_problem(NoticeSubject.CA_BUNDLE, f"{problem}; {remedy}")
            return False
        self.live.check()
        merge = partial(
            merge_bundle,
            trusted=[trust.certificates[authority.name] for authority in state.alive],
            leaving=[trust.certificates[a.name] for a in trust.authorities if a.leaving],
            expired_at=state.now - self.lifetimes.overlap,
        )
        await self.hooks.write(published, merge)
        self._repair_limit.count(wanted, state.now)
        text = f"wrote {len(state.alive)} authorities into caBundle"
        self.environment.report_success(NoticeSubject.CA_BUNDLE, text)
        return True

    def _update_status(
        self, published: Published, stored: StoredTrust, state: RotationState
    ) -> None:
        in_sync = None
        if self._leaf is not None and published.bundles:
            in_sync = self._leaf.issuer in state.everywhere
        if stored.problem:
            self._report_problem(NoticeSubject.CA, stored.problem)
        for title in sorted(set(published.absent) - set(self.status.absent)):
            text = f"{title} does not exist, so that no API server calls for it; it stays absent"
            self.environment.report_problem(NoticeSubject.CA_BUNDLE, text)
        self.status = replace(
            self.status,
            authorities=stored.trust.trusted,
            in_sync=in_sync,
            ready=self._leaf is not None and in_sync is not False,
            absent=published.absent,
        )

    def _report_step(self, step: RotationStep, trust: Trust) -> None:
        names = [describe_certificate(trust.certificates[name]) for name in sorted(step.names)]
        if step.action is RotationAction.PROMOTE:
            text = f"signing with the authority {', '.join(names)}"
            self.environment.report_success(NoticeSubject.CA, text)
        elif step.action is RotationAction.UNPUBLISH:
            text = f"caBundle lost {', '.join(names)}, another client has changed it"
            self.environment.report_problem(NoticeSubject.CA_BUNDLE, f"{text}; it is repaired")
        elif step.action is RotationAction.DROP:
            text = f"no longer trusting {', '.join(names)}"
            self.environment.report_success(NoticeSubject.CA_BUNDLE, text)
        elif step.action is RotationAction.ADD_FOREIGN:
            end = self.environment.clock() + self.lifetimes.leaf + self.lifetimes.overlap
            text = f"caBundle contains {', '.join(names)}, which the Secret does not"
            self.environment.report_success(
                NoticeSubject.CA_BUNDLE, f"{text}; trusted until {end:%FT%TZ}"
            )

    def _report_problem(self, subject: NoticeSubject, problem: str) -> None:
        if problem != self.status.problem:
            self.status = replace(self.status, problem=problem)
            self.environment.report_problem(subject, problem)

    @property
    def _poll_s(self) -> float:
        return self.lifetimes.poll.total_seconds()
