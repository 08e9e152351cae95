from datetime import datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, x25519

from certs.errors import PairError
from certs.pem import (
    CertificatePair,
    PrivateKey,
    alternative_names_of,
    describe_certificate,
    fingerprint,
    issued_by,
    name_of,
    read_certificates,
    read_der,
    write_certificates,
)
from tests.certs.world import DAY, NOW, authority, leaf

CA = authority()
LEAF = leaf(CA)
OTHER = leaf(CA)


def pem_of(key: PrivateKey | x25519.X25519PrivateKey, passphrase: bytes = b"") -> bytes:
    lock: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if passphrase:
        lock = serialization.BestAvailableEncryption(passphrase)
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, lock)


def test_a_written_pair_is_read_back_the_same() -> None:
    assert CertificatePair.parse(LEAF.certificate_pem(), LEAF.key_pem()) == LEAF


def test_a_chain_keeps_its_order() -> None:
    chain = write_certificates((LEAF.leaf, CA.leaf))

    assert CertificatePair.parse(chain, LEAF.key_pem()).chain == (LEAF.leaf, CA.leaf)


REFUSED = {
    "a key of another certificate": (LEAF.certificate_pem(), OTHER.key_pem(), "does not belong"),
    "no certificate": (b"", LEAF.key_pem(), "no readable PEM certificate"),
    "a torn certificate": (LEAF.certificate_pem()[:99], LEAF.key_pem(), "no readable PEM cert"),
    "a key where the certificate should be": (LEAF.key_pem(), LEAF.key_pem(), "PEM certificate"),
    "no key": (LEAF.certificate_pem(), b"", "no readable PEM private key"),
    "a torn key": (LEAF.certificate_pem(), LEAF.key_pem()[:99], "no readable PEM private key"),
    "a key with a passphrase": (
        LEAF.certificate_pem(),
        pem_of(ec.generate_private_key(ec.SECP256R1()), b"secret"),
        "has a passphrase",
    ),
    "a key that cannot sign": (
        LEAF.certificate_pem(),
        pem_of(x25519.X25519PrivateKey.generate()),
        "needs an ECDSA, RSA or EdDSA key",
    ),
    "a key of another kind": (
        LEAF.certificate_pem(),
        pem_of(ed25519.Ed25519PrivateKey.generate()),
        "does not belong",
    ),
}


@pytest.mark.parametrize(("certificates", "key", "problem"), REFUSED.values(), ids=REFUSED)
def test_an_unusable_pair_is_refused_with_its_place(
    certificates: bytes, key: bytes, problem: str
) -> None:
    with pytest.raises(PairError, match=problem) as caught:
        CertificatePair.parse(certificates, key, where="/tls")

    assert str(caught.value).startswith("/tls: ")


@pytest.mark.parametrize(("certificates", "key", "problem"), REFUSED.values(), ids=REFUSED)
def test_no_error_repeats_what_it_could_not_read(
    certificates: bytes, key: bytes, problem: str
) -> None:
    with pytest.raises(PairError) as caught:
        CertificatePair.parse(certificates, key)

    shown = f"{caught.value!r}{caught.value.__cause__!r}"
    assert not any(line and line in shown for line in (key + certificates).decode().split("\n"))


def test_no_repr_shows_the_key() -> None:
    assert "key" not in repr(LEAF)


TIMES = {
    "an hour too early": (NOW - DAY / 24 - DAY / 86_400, "valid only from"),
    "at the very end": (NOW + 7 * DAY, "expired at"),
    "long after": (NOW + 70 * DAY, "expired at"),
}


@pytest.mark.parametrize(("now", "problem"), TIMES.values(), ids=TIMES)
def test_a_pair_out_of_its_time_is_refused(now: datetime, problem: str) -> None:
    with pytest.raises(PairError, match=problem):
        LEAF.check_time(now, where="/tls")


@pytest.mark.parametrize("now", [NOW - DAY / 24, NOW, NOW + 7 * DAY - DAY / 86_400])
def test_a_pair_within_its_time_is_taken(now: datetime) -> None:
    LEAF.check_time(now, where="/tls")


def test_only_the_issuer_verifies_a_certificate() -> None:
    assert issued_by(LEAF.leaf, CA.leaf)
    assert not issued_by(LEAF.leaf, authority().leaf)
    assert not issued_by(CA.leaf, LEAF.leaf)


def test_a_description_names_subject_serial_number_and_end() -> None:
    assert describe_certificate(LEAF.leaf) == (
        f"CN=evenspread, serial {LEAF.leaf.serial_number:x}, "
        f"valid until {NOW + 7 * DAY:%Y-%m-%dT%H:%M:%SZ}"
    )
    assert name_of(CA.leaf).startswith("CN=evenspread-ca-")


def test_a_fingerprint_names_one_certificate() -> None:
    assert fingerprint(LEAF.leaf) == fingerprint(read_certificates(LEAF.certificate_pem())[0])
    assert fingerprint(LEAF.leaf) != fingerprint(OTHER.leaf)


def test_a_certificate_of_a_handshake_is_read() -> None:
    assert read_der(LEAF.leaf.public_bytes(serialization.Encoding.DER), where="client") == LEAF.leaf
    with pytest.raises(PairError, match="client: is no readable certificate"):
        read_der(b"nothing", where="client")


def test_alternative_names_are_those_of_the_leaf() -> None:
    names = alternative_names_of(LEAF.leaf)

    assert names is not None
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert alternative_names_of(CA.leaf) is None
