import ipaddress
import shutil
import subprocess
from datetime import timedelta, timezone
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from hypothesis import given
from hypothesis import strategies as st

from certs.issue import BACKDATE, make_authority, service_hosts, sign_leaf
from certs.pem import CertificatePair, issued_by, write_certificates
from certs.serving import LiveContext
from tests.certs.world import NOW, authority, call, leaf, listening, strict_client

CA = authority()
LEAF = leaf(CA, "localhost", "127.0.0.1", "::1")

CRITICAL = {
    "the authority's basic constraints": (CA, x509.BasicConstraints, True),
    "the authority's key usage": (CA, x509.KeyUsage, True),
    "the authority's subject key": (CA, x509.SubjectKeyIdentifier, False),
    "the authority's authority key": (CA, x509.AuthorityKeyIdentifier, False),
    "the leaf's basic constraints": (LEAF, x509.BasicConstraints, True),
    "the leaf's key usage": (LEAF, x509.KeyUsage, True),
    "the leaf's subject key": (LEAF, x509.SubjectKeyIdentifier, False),
    "the leaf's authority key": (LEAF, x509.AuthorityKeyIdentifier, False),
    "the leaf's purpose": (LEAF, x509.ExtendedKeyUsage, False),
    "the leaf's names": (LEAF, x509.SubjectAlternativeName, False),
}


@pytest.mark.parametrize(("pair", "extension", "critical"), CRITICAL.values(), ids=CRITICAL)
def test_an_extension_is_there_and_as_critical_as_it_should_be(
    pair: CertificatePair, extension: type[x509.ExtensionType], critical: bool
) -> None:
    assert pair.leaf.extensions.get_extension_for_class(extension).critical is critical


def test_an_authority_signs_certificates_and_nothing_below_it_does() -> None:
    constraints = CA.leaf.extensions.get_extension_for_class(x509.BasicConstraints).value
    usage = CA.leaf.extensions.get_extension_for_class(x509.KeyUsage).value

    assert (constraints.ca, constraints.path_length) == (True, 0)
    assert (usage.key_cert_sign, usage.crl_sign, usage.digital_signature) == (True, True, False)


def test_a_leaf_is_for_servers_only() -> None:
    purpose = LEAF.leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    usage = LEAF.leaf.extensions.get_extension_for_class(x509.KeyUsage).value

    assert list(purpose) == [ExtendedKeyUsageOID.SERVER_AUTH]
    assert (usage.digital_signature, usage.key_cert_sign) == (True, False)


def test_addresses_are_written_as_addresses() -> None:
    names = LEAF.leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value

    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert names.get_values_for_type(x509.IPAddress) == [
        ipaddress.ip_address("127.0.0.1"),
        ipaddress.ip_address("::1"),
    ]


def test_a_key_is_on_the_curve_p256() -> None:
    assert isinstance(LEAF.key, ec.EllipticCurvePrivateKey)
    assert LEAF.key.curve.name == "secp256r1"


def test_the_names_of_a_service_begin_with_the_one_that_the_api_server_calls() -> None:
    assert service_hosts("web", "ns") == (
        "web.ns.svc",
        "web.ns.svc.cluster.local",
        "web.ns",
        "web",
    )


def test_the_longest_service_name_there_can_be_gets_a_certificate() -> None:
    hosts = service_hosts("s" * 63, "n" * 63)

    common = leaf(CA, *hosts).leaf.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0]

    assert len(common.value) <= 64


def test_generations_differ_in_name_and_serial() -> None:
    many = [authority().leaf for _ in range(50)]

    assert len({one.subject for one in many}) == 50
    assert len({one.serial_number for one in many}) == 50


def test_validity_is_backdated_by_an_hour() -> None:
    assert NOW - LEAF.leaf.not_valid_before_utc == BACKDATE == timedelta(hours=1)
    assert NOW - CA.leaf.not_valid_before_utc == BACKDATE


def test_a_time_in_another_zone_is_the_same_moment() -> None:
    there = NOW.astimezone(timezone(timedelta(hours=9)))

    assert authority(there).leaf.not_valid_before_utc == NOW - BACKDATE


@given(
    microseconds=st.integers(0, 999_999),
    ca_life=st.integers(2, 10_000_000),
    wait=st.integers(0, 10_000_000),
    lifetime=st.integers(1, 10_000_000),
)
def test_a_leaf_never_outlives_its_authority(
    microseconds: int, ca_life: int, wait: int, lifetime: int
) -> None:
    made = NOW + timedelta(microseconds=microseconds)
    signer = make_authority(now=made, lifetime=timedelta(seconds=ca_life))
    now = made + timedelta(seconds=min(wait, ca_life - 1))

    signed = sign_leaf(signer, ["localhost"], now=now, lifetime=timedelta(seconds=lifetime)).leaf

    assert signed.not_valid_after_utc <= signer.leaf.not_valid_after_utc
    assert signed.not_valid_after_utc <= now + timedelta(seconds=lifetime)
    assert issued_by(signed, signer.leaf)


CLIENTS = {
    "by name": "localhost",
    "by IPv4 address": "127.0.0.1",
    "by IPv6 address": "::1",
    "by the service": "web.ns.svc",
}


@pytest.mark.parametrize("name", CLIENTS.values(), ids=CLIENTS)
async def test_the_strictest_python_client_is_satisfied(name: str) -> None:
    live = LiveContext()
    pair = leaf(CA, *service_hosts("web", "ns"), "localhost", "127.0.0.1", "::1")
    live.swap(pair)

    async with listening(live) as port:
        assert await call(port, strict_client(CA.chain), name) == pair.leaf


def test_the_right_one_of_two_authorities_is_found_in_a_bundle() -> None:
    old, new = authority(), authority()
    live = LiveContext()

    live.swap(leaf(new), (old.leaf, new.leaf))

    assert live.served is not None


@pytest.mark.skipif(not shutil.which("openssl"), reason="needs the openssl command")
@pytest.mark.parametrize("purpose", ["sslserver", "any"])
def test_openssl_verify_is_satisfied_strictly(tmp_path: Path, purpose: str) -> None:
    (tmp_path / "ca").write_bytes(write_certificates((authority().leaf, CA.leaf)))
    (tmp_path / "leaf").write_bytes(LEAF.certificate_pem())

    verdict = subprocess.run(
        f"openssl verify -x509_strict -check_ss_sig -purpose {purpose}"
        " -verify_hostname localhost -CAfile ca leaf".split(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert verdict.stdout == "leaf: OK\n", verdict.stderr
