"""
Contents of the Secret: the authorities of ``certs.state``, with their certificates and keys.

Entry point: ``Trust``. The Secret has two entries: ``authorities.json``, the state that all
replicas share, and ``ca.crt``, derived from it: the certificates that clients have to trust, for
people and for cert-manager's ``inject-ca-from-secret``. This module does no I/O.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Self

from cryptography import x509

from certs.errors import PairError, StoreError
from certs.issue import AUTHORITY_NAME, BACKDATE
from certs.pem import CertificatePair, fingerprint, name_of, read_certificates, write_certificates
from certs.state import Authority, Revocation, RotationStep, Validity, advance

STATE = "authorities.json"  # the entry that replicas read

CA_BUNDLE = "ca.crt"  # the entry for other clients, under the name that cert-manager expects

_VERSION = 1  # of the schema; a later release may write another one during an upgrade

TrustEntry = tuple[Authority, CertificatePair | x509.Certificate]
"""An authority with its certificate, or with its certificate and key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """
    The authorities that replicas share.

    Attributes:
        authorities: The planner's view, oldest first.
        certificates: The certificate of each authority, by name.
        pairs: The current and the next signing authority, with their keys.
        revocation: The last revocation; None: there was none.
    """

    authorities: tuple[Authority, ...] = ()
    certificates: Mapping[str, x509.Certificate] = field(
        default_factory=dict[str, x509.Certificate]
    )
    pairs: Mapping[str, CertificatePair] = field(default_factory=dict[str, CertificatePair])
    revocation: Revocation | None = None

    @classmethod
    def parse(cls, entries: Mapping[str, bytes], *, where: str) -> Self:
        """
        Parse the decoded entries of the Secret; without any, no authority exists yet.

        Raises:
            PairError: The entries are inconsistent. Do not use any of them.
            StoreError: A later release wrote them. Do not change any of them.
        """
        if not entries.get(STATE, b"").strip():
            return cls()
        try:
            state = json.loads(entries[STATE])
            if state["version"] > _VERSION:
                raise StoreError(where, f"{STATE} was written by a later release; run that one")
            entries_of = [*state["authorities"], *state.get("foreign", ())]
            revocation = _parse_revocation(state.get("revocation"))
            trust = cls.of((_parse_entry(entry, where) for entry in entries_of), revocation)
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError, OverflowError):
            problem = f"{STATE} cannot be understood; a new authority is created"
            raise PairError(where, problem) from None
        if len(trust.certificates) < len(trust.authorities):
            raise PairError(where, f"{STATE} lists an authority twice; a new one is created")
        if not signing(trust.authorities) <= trust.pairs.keys():
            raise PairError(where, f"{STATE} lacks a key; a new authority is created")
        return trust

    @classmethod
    def of(cls, entries: Iterable[TrustEntry], revocation: Revocation | None = None) -> Self:
        """Combine authorities with their certificates, with or without the key."""
        authorities: list[Authority] = []
        certificates: dict[str, x509.Certificate] = {}
        pairs: dict[str, CertificatePair] = {}
        for authority, item in entries:
            authorities.append(authority)
            if isinstance(item, CertificatePair):
                pairs[authority.name] = item
                certificates[authority.name] = item.leaf
            else:
                certificates[authority.name] = item
        return cls(
            authorities=tuple(authorities),
            certificates=certificates,
            pairs=pairs,
            revocation=revocation,
        )

    def render(self) -> dict[str, bytes]:
        """Return the entries of the Secret."""
        # An earlier release ignores the second list, and must find no foreign one in the first.
        state = {
            "version": _VERSION,
            "authorities": [self._entry(a) for a in self.authorities if not a.foreign],
            "foreign": [self._entry(a) for a in self.authorities if a.foreign],
            "revocation": self.revocation
            and {"at": self.revocation.at.isoformat(), "ended": self.revocation.ended},
        }
        return {
            STATE: json.dumps(state, indent=1).encode("ascii"),
            CA_BUNDLE: write_certificates(self.trusted),
        }

    @property
    def trusted(self) -> tuple[x509.Certificate, ...]:
        """The certificates that clients have to trust, oldest first."""
        return tuple(
            self.certificates[authority.name]
            for authority in self.authorities
            if not (authority.leaving or authority.foreign)
        )

    def add(self, pair: CertificatePair) -> Self:
        """Append a new authority to the list; it does not sign yet."""
        authority = Authority(name=fingerprint(pair.leaf), validity=validity(pair.leaf))
        return self.of((*self._entries(self.authorities), (authority, pair)), self.revocation)

    def add_foreign(self, certificates: Iterable[x509.Certificate], now: datetime) -> Self:
        """Append certificates that only a bundle contains, as foreign since now."""
        foreign = ((_foreign(certificate, now), certificate) for certificate in certificates)
        return self.of((*self._entries(self.authorities), *foreign), self.revocation)

    def advance(self, step: RotationStep, now: datetime) -> Self:
        """Apply the planner's decision and drop the keys that no authority needs any more."""
        entries = self._entries(advance(step, self.authorities, now))
        return self.of(entries, step.revocation or self.revocation)

    def _entries(self, authorities: Sequence[Authority]) -> Iterator[TrustEntry]:
        keep = signing(authorities)
        for authority in authorities:
            pair = self.pairs.get(authority.name) if authority.name in keep else None
            yield authority, pair or self.certificates[authority.name]

    def _entry(self, authority: Authority) -> dict[str, Any]:
        pair = self.pairs.get(authority.name)
        certificate = self.certificates[authority.name]
        return {
            "certificate": write_certificates((certificate,)).decode("ascii"),
            "key": None if pair is None else pair.key_pem().decode("ascii"),
            "published": authority.published and authority.published.isoformat(),
            "promoted": authority.promoted and authority.promoted.isoformat(),
            "leaving": authority.leaving,
            **({"since": authority.foreign.isoformat()} if authority.foreign else {}),
        }


def validity(certificate: x509.Certificate) -> Validity:
    """Return the validity of a certificate of this package, which begins after its NotBefore."""
    return Validity(
        start=certificate.not_valid_before_utc + BACKDATE, end=certificate.not_valid_after_utc
    )


def signing(authorities: Sequence[Authority]) -> frozenset[str]:
    """Return the names of authorities that need keys: the newest promoted one and later ones."""
    promoted = [authority.name for authority in authorities if authority.promoted]
    pending = [ca.name for ca in authorities if not (ca.promoted or ca.foreign)]
    return frozenset((*promoted[-1:], *pending))


def _foreign(certificate: x509.Certificate, since: datetime) -> Authority:
    """Describe a foreign certificate; its age counts from its creation only if we created it."""
    ours = name_of(certificate).startswith(f"CN={AUTHORITY_NAME}")
    is_past = certificate.not_valid_before_utc < since  # and so has a time of creation
    return Authority(
        name=fingerprint(certificate),
        validity=Validity(
            start=validity(certificate).start if ours and is_past else since,
            end=certificate.not_valid_after_utc,
        ),
        foreign=since,
    )


def _parse_revocation(entry: Any) -> Revocation | None:
    return entry and Revocation(at=read_time(entry["at"]), ended=entry["ended"] is True)


def _parse_entry(entry: Any, where: str) -> TrustEntry:
    pem = entry["certificate"].encode("ascii")
    certificate = read_certificates(pem, where=where)[0]
    if "since" in entry:
        foreign = _foreign(certificate, read_time(entry["since"]))
        return replace(foreign, leaving=entry["leaving"] is True), certificate
    authority = Authority(
        name=fingerprint(certificate),
        validity=validity(certificate),
        published=None if entry["published"] is None else read_time(entry["published"]),
        promoted=None if entry["promoted"] is None else read_time(entry["promoted"]),
        leaving=entry["leaving"] is True,
    )
    if entry["key"] is None:
        return authority, certificate
    return authority, CertificatePair.parse(pem, entry["key"].encode("ascii"), where=where)


def read_time(text: str) -> datetime:
    """
    Parse an RFC 3339 time.

    Raises:
        ValueError: It is not a time, or has no offset.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(text)
    return moment
