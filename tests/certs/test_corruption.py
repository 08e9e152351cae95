"""Damaged certificate files: each gives a pair that serves, or an error with the reason."""

import base64
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed448, ed25519, rsa, x448, x25519
from cryptography.hazmat.primitives.asymmetric.types import (
    CertificatePublicKeyTypes,
    PrivateKeyTypes,
)
from hypothesis import given
from hypothesis import strategies as st

from certs.clients import Clients
from certs.errors import CertError, PairError
from certs.files import read_pair
from certs.issue import alternative_names, common_name
from certs.pem import (
    CertificatePair,
    describe_certificate,
    issued_by,
    read_certificates,
    write_certificates,
)
from certs.serving import LiveContext
from certs.standalone import ensure_pair, hosts_for
from certs.trust import STATE, Trust
from tests.certs.world import DAY, NOW, authority, leaf

pytestmark = pytest.mark.filterwarnings("ignore")  # of what cryptography reads, but dislikes

SigningKey: TypeAlias = (
    ec.EllipticCurvePrivateKey
    | rsa.RSAPrivateKey
    | ed25519.Ed25519PrivateKey
    | ed448.Ed448PrivateKey
    | dsa.DSAPrivateKey
)
DH_KEY = b"""\
-----BEGIN PRIVATE KEY-----
MIIBPwIBADCCARcGCSqGSIb3DQEDATCCAQgCggEBAP//////////rfhUWKK7Spqv
3FYgJz088di5xYPOLTaVqeE2QRRkM/vMk53OJJs++X0v42NjDHXY9oGyAq7EYXrT
3x7V1f1lYSQz9R9fBm7QhWNlVT3tGvO1VxNef1fJNZhPDHDg5ot34qaJ2vPv6HId
8VihNq3nNTCsyk9IOnl6vAqxgrMk+2HRCKlLssjj+7lq2rdg1/RoHU9Co945TfSu
Vu3nY3K7GQsHp8juCm1wngL84c334uzANATNKDQvYZFy/pzphYP/jk8SMu7ygYPD
/jsbTG+tczu1/LwuwiAFxY7xg30Wg7LG80omwbLv+ohrQjhhKFyX//////////8C
AQIEHwIdAJVuUX/Vmji9nkfKL63qzb6rii3nG71mE6EclzE=
-----END PRIVATE KEY-----
"""
CA = authority()
LEAF = leaf(CA)


def certificate_of(public: CertificatePublicKeyTypes, signer: SigningKey) -> x509.Certificate:
    hashed = isinstance(signer, ed25519.Ed25519PrivateKey | ed448.Ed448PrivateKey)
    return (
        x509.CertificateBuilder()
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .subject_name(common_name("test"))
        .issuer_name(common_name("test"))
        .not_valid_before(NOW - DAY)
        .not_valid_after(NOW + DAY)
        .add_extension(alternative_names(["localhost"]), critical=False)
        .sign(signer, None if hashed else hashes.SHA256())
    )


def pem_of(key: PrivateKeyTypes) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def pems(key: SigningKey) -> tuple[bytes, bytes]:
    return write_certificates([certificate_of(key.public_key(), key)]), pem_of(key)


PAIRS = {
    "EC": (LEAF.certificate_pem(), LEAF.key_pem()),
    "a chain": (write_certificates((LEAF.leaf, CA.leaf)), LEAF.key_pem()),
    "RSA": pems(rsa.generate_private_key(65537, 2048)),
    "Ed25519": pems(ed25519.Ed25519PrivateKey.generate()),
}


def serve(certificates: bytes, key: bytes) -> LiveContext:
    """Do with a pair all that a source does."""
    live = LiveContext()
    pair = CertificatePair.parse(certificates, key, where="/tls")
    pair.check_time(NOW, where="/tls")
    live.swap(pair)
    assert describe_certificate(pair.leaf)
    assert issued_by(pair.chain[-1], CA.leaf) in (True, False)
    return live


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_the_pairs_serve_before_they_are_corrupted(pair: tuple[bytes, bytes]) -> None:
    assert serve(*pair).served


Changes: TypeAlias = list[tuple[int, int]]
changes = st.lists(st.tuples(st.integers(0, 10_000), st.integers(1, 255)), min_size=1, max_size=3)


def corrupt(content: bytes, changed: Changes) -> bytes:
    found = bytearray(content)
    for place, difference in changed:
        found[place % len(found)] ^= difference
    return bytes(found)


def corrupt_der(pem: bytes, changed: Changes) -> bytes:
    """Corrupt the bytes that PEM stands for, of the first block alone."""
    text = pem.decode()
    block = re.search("-----BEGIN (.*?)-----(.*?)-----END", text, re.DOTALL)
    assert block is not None
    der = corrupt(base64.b64decode(block[2]), changed)
    body = base64.encodebytes(der).decode()
    return f"{text[: block.start(2)]}\n{body}{text[block.end(2) :]}".encode()


@given(
    name=st.sampled_from(sorted(PAIRS)),
    part=st.sampled_from(["certificate", "key"]),
    encoded=st.booleans(),
    changed=changes,
)
def test_a_corrupted_pair_serves_or_is_refused(
    name: str, part: str, changed: Changes, *, encoded: bool
) -> None:
    certificates, key = PAIRS[name]
    spoil = corrupt if encoded else corrupt_der
    if part == "key":
        key = spoil(key, changed)
    else:
        certificates = spoil(certificates, changed)

    try:
        assert serve(certificates, key).served
    except PairError as error:
        message = str(error)
    else:
        message = ""
    assert not any(line in message for line in key.decode("latin-1").split("\n") if len(line) > 9)


@given(changed=changes, encoded=st.booleans())
def test_a_corrupted_authority_of_callers_is_used_or_refused(
    changed: Changes, *, encoded: bool
) -> None:
    spoil = corrupt if encoded else corrupt_der
    try:
        authorities = read_certificates(spoil(CA.certificate_pem(), changed))
        clients = Clients(authorities=authorities)
        LiveContext(clients)
    except PairError:
        return
    assert clients.authorities


@given(changed=changes, names=st.sampled_from([frozenset[str](), frozenset({"localhost"})]))
def test_a_corrupted_certificate_of_a_caller_is_admitted_or_not(
    changed: Changes, names: frozenset[str]
) -> None:
    der = corrupt(LEAF.leaf.public_bytes(serialization.Encoding.DER), changed)

    assert Clients(authorities=CA.chain, names=names).admit(der) in (True, False)


@given(changed=changes, part=st.sampled_from(["certificate", "key"]))
def test_a_corrupted_secret_is_read_or_refused(changed: Changes, part: str) -> None:
    state = Trust().add(CA).render()[STATE].decode()
    pem = CA.certificate_pem() if part == "certificate" else CA.key_pem()
    spoilt = corrupt_der(pem, changed).decode().rstrip("\n").replace("\n", "\\n")
    whole = pem.decode().rstrip("\n").replace("\n", "\\n")
    assert whole in state

    try:
        trust = Trust.parse({STATE: state.replace(whole, spoilt).encode()}, where="Secret")
    except PairError:
        return
    for certificate in trust.certificates.values():
        assert describe_certificate(certificate)


@given(changed=changes, file=st.sampled_from(["tls.crt", "tls.key", "ca.crt"]))
def test_a_corrupted_state_folder_is_used_or_made_anew(
    tmp_path_factory: pytest.TempPathFactory, changed: Changes, file: str
) -> None:
    folder = tmp_path_factory.mktemp("state")
    ensure_pair(folder, hosts_for("127.0.0.1"), now=NOW)
    (folder / file).write_bytes(corrupt_der((folder / file).read_bytes(), changed))

    try:
        found = ensure_pair(folder, hosts_for("127.0.0.1"), now=NOW)
        LiveContext().swap(found.pair)
    except CertError:
        assert file != "tls.key"


def foreign_pairs() -> Iterator[tuple[str, bytes, bytes]]:
    """Keys that are no TLS server's, beside a certificate of ours and beside their own."""
    signer = ec.generate_private_key(ec.SECP256R1())
    dsa_key = dsa.generate_private_key(2048)
    keys = (dsa_key, x25519.X25519PrivateKey.generate(), x448.X448PrivateKey.generate())
    for key in keys:
        name = type(key).__name__
        yield f"{name}, beside ours", LEAF.certificate_pem(), pem_of(key)
        own = write_certificates([certificate_of(key.public_key(), signer)])
        yield f"{name}, beside its own", own, pem_of(key)
        yield f"a certificate of {name}", own, LEAF.key_pem()
    yield "DH, beside ours", LEAF.certificate_pem(), DH_KEY
    yield "NUL bytes", b"\0" * 100, b"\0" * 100
    yield "NUL bytes in PEM", LEAF.certificate_pem().replace(b"M", b"\0"), LEAF.key_pem()


FOREIGN = {name: (certificate, key) for name, certificate, key in foreign_pairs()}


@pytest.mark.parametrize(("certificate", "key"), FOREIGN.values(), ids=FOREIGN)
def test_keys_that_no_tls_server_has_are_refused(certificate: bytes, key: bytes) -> None:
    with pytest.raises(PairError):
        serve(certificate, key)


def test_a_certificate_of_another_kind_may_stand_in_a_bundle() -> None:
    own = certificate_of(dsa.generate_private_key(2048).public_key(), LEAF_KEY)

    assert read_certificates(write_certificates([CA.leaf, own])) == (CA.leaf, own)
    assert not issued_by(LEAF.leaf, own)


LEAF_KEY = ec.generate_private_key(ec.SECP256R1())


def test_a_pair_in_files_is_read(tmp_path: Path) -> None:
    (tmp_path / "tls.crt").write_bytes(LEAF.certificate_pem())
    (tmp_path / "tls.key").write_bytes(LEAF.key_pem())

    assert read_pair(tmp_path) == LEAF
