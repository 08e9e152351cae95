"""Certificates that were found, what each is for, and which served ones lead to what is trusted."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeAlias

from cryptography import x509

from certs.pem import issued_by, name_of
from webhook.cli.terminal import Style, Terminal

HEADINGS = ("WHERE", "WHAT", "SUBJECT", "ISSUER", "SERIAL", "FROM", "UNTIL", "DAYS LEFT")
DAY = timedelta(days=1)

Certificates: TypeAlias = tuple[x509.Certificate, ...]


class Bundle(NamedTuple):
    """What clients are told to trust, in one place."""

    place: str
    certificates: Certificates


class Served(NamedTuple):
    """
    What is served in one place.

    Attributes:
        chain: The leaf, and what is known of the rest of its chain.
        trusted_by: Tells whether it leads to one of these certificates, whatever their dates.
    """

    place: str
    chain: Certificates
    trusted_by: Callable[[Certificates], bool]


class Chain(NamedTuple):
    """Whether what is served in one place leads to what is trusted in another one."""

    leaf: str
    bundle: str
    trusted: bool


@dataclass(kw_only=True)
class Survey:
    """
    All that was found.

    Attributes:
        authorities: Those of the Secret, which sign or will.
        notes: What was not found, in sentences.
    """

    served: list[Served] = field(default_factory=list[Served])
    authorities: list[Bundle] = field(default_factory=list[Bundle])
    bundles: list[Bundle] = field(default_factory=list[Bundle])
    notes: list[str] = field(default_factory=list[str])

    @property
    def chains(self) -> list[Chain]:
        """Each served leaf against each bundle."""
        return [
            Chain(leaf.place, bundle.place, leaf.trusted_by(bundle.certificates))
            for leaf in self.served
            for bundle in self.bundles
        ]

    def found(self) -> Iterator[tuple[str, str, x509.Certificate]]:
        """List place, purpose and certificate."""
        for leaf in self.served:
            yield leaf.place, "leaf", leaf.chain[0]
        for purpose, held in (("authority", self.authorities), ("bundle", self.bundles)):
            for bundle in held:
                for each in bundle.certificates:
                    yield bundle.place, purpose, each


def leads_to(chain: Certificates, trusted: Certificates) -> bool:
    """Tell whether the last certificate of a chain is of an authority that is trusted."""
    return any(one in chain or issued_by(chain[-1], one) for one in trusted)


def as_document(survey: Survey, chains: list[Chain], now: datetime) -> dict[str, Any]:
    """Write it for programs."""
    return {
        "certificates": [
            {
                "where": place,
                "what": purpose,
                "subject": name_of(each),
                "issuer": each.issuer.rfc4514_string(),
                "serial": f"{each.serial_number:x}",
                "notBefore": f"{each.not_valid_before_utc:%FT%TZ}",
                "notAfter": f"{each.not_valid_after_utc:%FT%TZ}",
                "daysLeft": (each.not_valid_after_utc - now) // DAY,
            }
            for place, purpose, each in survey.found()
        ],
        "chains": [chain._asdict() for chain in chains],
        "notes": survey.notes,
    }


def show(survey: Survey, chains: list[Chain], now: datetime, terminal: Terminal) -> None:
    """Write it for people."""
    rows = [tuple(map(str, each.values())) for each in as_document(survey, [], now)["certificates"]]
    terminal.table(HEADINGS, rows)
    for leaf, bundle, trusted in chains:
        said = ("leads to", Style.GOOD) if trusted else ("does NOT lead to", Style.BAD)
        terminal.line(f"{leaf} ", said, f" {bundle}")
    for note in survey.notes:
        terminal.line((note, Style.HINT))
