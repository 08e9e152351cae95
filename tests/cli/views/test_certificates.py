from functools import partial

import pytest

from tests.certs.world import DAY, NOW, authority, leaf
from webhook.cli.terminal import Terminal
from webhook.cli.views.certificates import (
    CertificateReport,
    Certificates,
    ServedChain,
    TrustBundle,
    as_document,
    leads_to,
    show,
)

CA, STRANGER = authority(), authority()
PAIR = leaf(CA)
CHAIN = (PAIR.leaf,)
REPORT = CertificateReport(
    served=[ServedChain("tls.crt", CHAIN, partial(leads_to, CHAIN))],
    authorities=[TrustBundle("Secret ns/web-ca", (CA.leaf,))],
    bundles=[TrustBundle("ca.crt", (CA.leaf,)), TrustBundle("other.crt", (STRANGER.leaf,))],
    notes=["the Secret was not read"],
)

TRUSTED: dict[str, tuple[Certificates, bool]] = {
    "the issuer": ((STRANGER.leaf, CA.leaf), True),
    "a certificate of the chain": (CHAIN, True),
    "another authority": ((STRANGER.leaf,), False),
    "no certificate": ((), False),
}


@pytest.mark.parametrize(("trusted", "leads"), TRUSTED.values(), ids=TRUSTED.keys())
def test_a_chain_leads_to_an_issuer_or_to_its_own_certificates(
    trusted: Certificates, leads: bool
) -> None:
    assert leads_to(CHAIN, trusted) is leads


def test_the_document_describes_every_certificate_and_check() -> None:
    document = as_document(REPORT, REPORT.chains, NOW + DAY)

    assert [(row["where"], row["what"], row["daysLeft"]) for row in document["certificates"]] == [
        ("tls.crt", "leaf", 6),
        ("Secret ns/web-ca", "authority", 364),
        ("ca.crt", "bundle", 364),
        ("other.crt", "bundle", 364),
    ]
    assert document["certificates"][0]["serial"] == f"{PAIR.leaf.serial_number:x}"
    assert document["chains"] == [
        {"leaf": "tls.crt", "bundle": "ca.crt", "trusted": True},
        {"leaf": "tls.crt", "bundle": "other.crt", "trusted": False},
    ]
    assert document["notes"] == REPORT.notes


def test_the_table_is_followed_by_checks_and_notes(capsys: pytest.CaptureFixture[str]) -> None:
    show(REPORT, REPORT.chains, NOW, Terminal())

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("  WHERE             WHAT ")
    assert lines[1].startswith("  tls.crt           leaf ")
    assert lines[5:] == [
        "tls.crt leads to ca.crt",
        "tls.crt does NOT lead to other.crt",
        "the Secret was not read",
    ]
