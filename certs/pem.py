"""
PEM bytes, and the checked pair of certificate chain and private key that they encode.

Entry point: ``CertificatePair.parse``. This module reads no file and no clock: it takes bytes, and
the time as an argument. Any input yields a value or a ``PairError``.
"""

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa

from certs.errors import PairError

PrivateKey = (
    ec.EllipticCurvePrivateKey
    | rsa.RSAPrivateKey
    | ed25519.Ed25519PrivateKey
    | ed448.Ed448PrivateKey
)
"""The supported key types of a TLS server."""


@contextmanager
def pair_errors(where: str, problem: str) -> Generator[None]:
    """
    Convert every exception in the context to a ``PairError``; do not await in the context.

    For unreadable bytes ``cryptography`` raises a dozen exception types, and sometimes a panic of
    its Rust code, a ``BaseException`` that cannot be imported. Their messages are dropped, since
    they may contain the unreadable bytes.
    """
    try:
        yield
    except (PairError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001
        raise PairError(where, problem) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificatePair:
    """
    A certificate chain and the private key of its first certificate.

    The constructor refuses parts that do not belong together.

    Attributes:
        chain: The leaf first, then the certificates that lead to an authority; never empty.
        key: The private key of the leaf; it appears in no repr and no error.

    Raises:
        PairError: The key does not match the leaf.
    """

    chain: tuple[x509.Certificate, ...]
    key: PrivateKey = field(repr=False, compare=False)  # the chain identifies it

    def __post_init__(self) -> None:
        """Refuse a key that does not match the leaf."""
        name = name_of(self.leaf)
        with pair_errors(name, "the public key is broken, or of a kind that no TLS server has"):
            belongs = self.leaf.public_key() == self.key.public_key()
        if not belongs:
            problem = "the private key does not belong to the certificate; write both files anew"
            raise PairError(name, problem)

    @classmethod
    def parse(cls, certificates: bytes, key: bytes, *, where: str = "certificate") -> Self:
        """
        Parse a pair from the PEM of a Secret or of two files; the leaf comes first.

        Raises:
            PairError: A part is empty or broken, or the parts do not match.
        """
        chain = read_certificates(certificates, where=where)
        private_key = read_key(key, where=where)
        try:
            return cls(chain=chain, key=private_key)
        except PairError as error:
            raise PairError(where, error.problem) from None

    @property
    def leaf(self) -> x509.Certificate:
        """The certificate of the key."""
        return self.chain[0]

    def certificate_pem(self) -> bytes:
        """Return the chain as PEM, the leaf first."""
        return write_certificates(self.chain)

    def key_pem(self) -> bytes:
        """Return the key as PKCS#8 without a passphrase; the caller must protect it."""
        return self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )

    def check_time(self, now: datetime, *, where: str) -> None:
        """
        Refuse a pair that clients would reject at this time.

        Raises:
            PairError: The leaf has expired, or is not valid yet.
        """
        if now >= self.leaf.not_valid_after_utc:
            raise PairError(where, f"expired at {self.leaf.not_valid_after_utc:%FT%TZ}; renew it")
        if now < self.leaf.not_valid_before_utc:
            start = f"{self.leaf.not_valid_before_utc:%FT%TZ}"
            raise PairError(where, f"is valid only from {start} on; check the clock")


def read_certificates(pem: bytes, *, where: str = "certificate") -> tuple[x509.Certificate, ...]:
    """
    Parse one or more PEM certificates, in order.

    The names, serial number and dates are readable; public key and extensions may be broken.

    Raises:
        PairError: There is no certificate, or one is broken.
    """
    with pair_errors(where, "holds no readable PEM certificate"):
        return tuple(map(_checked, x509.load_pem_x509_certificates(pem)))


def read_der(der: bytes, *, where: str) -> x509.Certificate:
    """
    Parse a DER certificate, as in a handshake, with the checks of ``read_certificates``.

    Raises:
        PairError: The certificate is broken.
    """
    with pair_errors(where, "is no readable certificate"):
        return _checked(x509.load_der_x509_certificate(der))


def alternative_names_of(certificate: x509.Certificate) -> x509.SubjectAlternativeName | None:
    """
    Return the subject alternative name extension; None if there is none.

    Raises:
        PairError: An extension is broken.
    """
    with pair_errors(name_of(certificate), "its extensions cannot be read"):
        try:
            found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        except x509.ExtensionNotFound:
            return None
        return found.value


def write_certificates(certificates: Iterable[x509.Certificate]) -> bytes:
    """Return certificates as concatenated PEM."""
    return b"".join(cert.public_bytes(serialization.Encoding.PEM) for cert in certificates)


def read_key(pem: bytes, *, where: str = "key") -> PrivateKey:
    """
    Parse a private key.

    Raises:
        PairError: The key is broken, has a passphrase, or has a type that TLS does not support.
    """
    with pair_errors(where, "holds no readable PEM private key"):
        try:
            key = serialization.load_pem_private_key(pem, password=None)
        except TypeError:
            problem = "the private key has a passphrase; store it without one"
            raise PairError(where, problem) from None
    if not isinstance(key, PrivateKey):
        raise PairError(where, "a TLS server needs an ECDSA, RSA or EdDSA key")
    return key


def fingerprint(certificate: x509.Certificate) -> str:
    """Return the SHA-256 of the certificate's DER, 64 lower-case hex digits."""
    return certificate.fingerprint(hashes.SHA256()).hex()


def name_of(certificate: x509.Certificate) -> str:
    """Return the subject in the usual notation, such as ``CN=evenspread``."""
    return certificate.subject.rfc4514_string() or "certificate without a subject"


def describe_certificate(certificate: x509.Certificate) -> str:
    """Return subject, fingerprint and end of validity for an operator."""
    return (
        f"{name_of(certificate)}, serial {certificate.serial_number:x}, "
        f"valid until {certificate.not_valid_after_utc:%FT%TZ}"
    )


def issued_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    """Return whether ``authority`` signed ``certificate``; checks name and signature, not dates."""
    try:
        with pair_errors("signature", "is not the authority's, or cannot be checked"):
            certificate.verify_directly_issued_by(authority)
    except PairError:
        return False
    return True


def _checked(certificate: x509.Certificate) -> x509.Certificate:
    """Read the parts that are parsed lazily, so that no later use of them can fail."""
    describe_certificate(certificate)
    certificate.issuer.rfc4514_string()
    format(certificate.not_valid_before_utc, "%FT%TZ")
    certificate.public_bytes(serialization.Encoding.DER)
    return certificate
