"""Certificates found by ``certs``, and whether each served one leads to each trust bundle."""

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


@dataclass(frozen=True)
class TrustBundle:
    """Certificates that clients trust, from one place, such as a caBundle."""

    place: str
    certificates: Certificates


@dataclass(frozen=True)
class ServedChain:
    """
    Certificates served in one place, which is an address or a file.

    Attributes:
        chain: The leaf, and the rest of its chain if known.
        trusted_by: Checks whether the chain leads to one of the given certificates, ignoring dates.
    """

    place: str
    chain: Certificates
    trusted_by: Callable[[Certificates], bool]


class Chain(NamedTuple):
    """Whether a served leaf leads to a certificate of a bundle."""

    leaf: str
    bundle: str
    trusted: bool


@dataclass(kw_only=True)
class CertificateReport:
    """
    All certificates that were found.

    Attributes:
        served: Certificates that listeners or folders serve.
        authorities: Certificate authorities of the Secret, which sign now or next.
        bundles: The caBundles of the webhook configurations, or of folders.
        notes: Sentences about what was not found.
    """

    served: list[ServedChain] = field(default_factory=list[ServedChain])
    authorities: list[TrustBundle] = field(default_factory=list[TrustBundle])
    bundles: list[TrustBundle] = field(default_factory=list[TrustBundle])
    notes: list[str] = field(default_factory=list[str])

    @property
    def chains(self) -> list[Chain]:
        """The check of every served leaf against every bundle."""
        return [
            Chain(leaf.place, bundle.place, leaf.trusted_by(bundle.certificates))
            for leaf in self.served
            for bundle in self.bundles
        ]

    def certificates(self) -> Iterator[tuple[str, str, x509.Certificate]]:
        """Yield place, purpose and certificate."""
        for leaf in self.served:
            yield leaf.place, "leaf", leaf.chain[0]
        for purpose, held in (("authority", self.authorities), ("bundle", self.bundles)):
            for bundle in held:
                for certificate in bundle.certificates:
                    yield bundle.place, purpose, certificate


def leads_to(chain: Certificates, trusted: Certificates) -> bool:
    """Whether a trusted authority is in the chain or issued its last certificate."""
    return any(issuer in chain or issued_by(chain[-1], issuer) for issuer in trusted)


def as_document(report: CertificateReport, chains: list[Chain], now: datetime) -> dict[str, Any]:
    """Convert the report to a document for JSON or YAML."""
    return {
        "certificates": [
            {
                "where": place,
                "what": purpose,
                "subject": name_of(certificate),
                "issuer": certificate.issuer.rfc4514_string(),
                "serial": f"{certificate.serial_number:x}",
                "notBefore": f"{certificate.not_valid_before_utc:%FT%TZ}",
                "notAfter": f"{certificate.not_valid_after_utc:%FT%TZ}",
                "daysLeft": (certificate.not_valid_after_utc - now) // DAY,
            }
            for place, purpose, certificate in report.certificates()
        ],
        "chains": [chain._asdict() for chain in chains],
        "notes": report.notes,
    }


def show(report: CertificateReport, chains: list[Chain], now: datetime, terminal: Terminal) -> None:
    """Write the report as a table, followed by the checks and the notes."""
    certificates = as_document(report, [], now)["certificates"]
    rows = [tuple(map(str, row.values())) for row in certificates]
    terminal.table(HEADINGS, rows)
    for leaf, bundle, trusted in chains:
        result = ("leads to", Style.GOOD) if trusted else ("does NOT lead to", Style.BAD)
        terminal.line(f"{leaf} ", result, f" {bundle}")
    for note in report.notes:
        terminal.line((note, Style.HINT))
