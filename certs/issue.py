"""
Create a certificate authority, and sign server certificates with it.

Entry points: ``make_authority`` and ``sign_leaf``. Every certificate passes strict verification:
OpenSSL's ``-x509_strict``, Python's ``VERIFY_X509_STRICT`` (the default from 3.13 on) and Go's
verifier. The caller supplies the time; keys and serial numbers come from the operating system.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certs.pem import CertificatePair

BACKDATE = timedelta(hours=1)
"""Interval from NotBefore to creation; a client's clock may be that far behind."""

_PURPOSES = (
    "digital_signature", "content_commitment", "key_encipherment", "data_encipherment",
    "key_agreement", "key_cert_sign", "crl_sign", "encipher_only", "decipher_only",
)  # fmt: skip

AUTHORITY_NAME = "evenspread-ca-"  # beginning of the common name of every authority of ours

_SERVER_NAME = "evenspread"  # a subject is required; clients check the alternative names only


def make_authority(*, now: datetime, lifetime: timedelta) -> CertificatePair:
    """
    Create a self-signed authority with an ECDSA P-256 key.

    Its name ends in eight hex digits of its serial number, so that no two generations share a
    name: with equal names OpenSSL may try the wrong one and report a bad signature.

    Source: RFC 5280, 4.2.1.9 (basic constraints), 4.2.1.3 (key usage).
    """
    key = ec.generate_private_key(ec.SECP256R1())
    serial = x509.random_serial_number()
    name = common_name(f"{AUTHORITY_NAME}{serial & 0xFFFFFFFF:08x}")
    certificate = (
        _builder(key, now)
        .serial_number(serial)
        .subject_name(name)
        .issuer_name(name)
        .not_valid_after(_whole_seconds(now) + lifetime)
        # Path length 0: a stolen leaf cannot sign certificates.
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage("key_cert_sign", "crl_sign"), critical=True)
        .add_extension(_authority_key(key), critical=False)
        .sign(key, hashes.SHA256())
    )
    return CertificatePair(chain=(certificate,), key=key)


def sign_leaf(
    authority: CertificatePair, hosts: Sequence[str], *, now: datetime, lifetime: timedelta
) -> CertificatePair:
    """
    Generate a key and sign a server certificate for it with ``authority``.

    The chain lacks the authority, which clients must already trust.

    Args:
        hosts: DNS names and IP addresses that clients connect to; at least one.
        lifetime: Validity from now on, at most until the authority ends.

    Source: RFC 5280, 4.2.1.6 (alternative names), 4.2.1.12 (extended key usage); RFC 9525, 4.1:
        clients ignore the subject's common name.
    """
    key, signer = ec.generate_private_key(ec.SECP256R1()), authority.leaf
    assert isinstance(authority.key, ec.EllipticCurvePrivateKey)
    certificate = (
        _builder(key, now)
        .serial_number(x509.random_serial_number())
        .subject_name(common_name(_SERVER_NAME))
        .issuer_name(signer.subject)
        .not_valid_after(min(_whole_seconds(now) + lifetime, signer.not_valid_after_utc))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage("digital_signature"), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(alternative_names(hosts), critical=False)
        .add_extension(_authority_key(authority.key), critical=False)
        .sign(authority.key, hashes.SHA256())
    )
    return CertificatePair(chain=(certificate,), key=key)


def service_hosts(service: str, namespace: str) -> tuple[str, ...]:
    """
    List the DNS names of a Service; kube-apiserver uses the first.

    Source: k8s.io/apiserver/pkg/util/webhook, ``ClientManager.HookClient``.
    """
    return (
        f"{service}.{namespace}.svc",
        f"{service}.{namespace}.svc.cluster.local",
        f"{service}.{namespace}",
        service,
    )


def alternative_names(hosts: Iterable[str]) -> x509.SubjectAlternativeName:
    """Return the extension; IP addresses as such, since clients do not match them as names."""
    return x509.SubjectAlternativeName([_general_name(host) for host in dict.fromkeys(hosts)])


def common_name(text: str) -> x509.Name:
    """Return a name with only a common name, 1 to 64 characters (RFC 5280, A.1)."""
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _whole_seconds(moment: datetime) -> datetime:
    return moment.replace(microsecond=0)  # RFC 5280, 4.1.2.5.1


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _builder(key: ec.EllipticCurvePrivateKey, now: datetime) -> x509.CertificateBuilder:
    subject_key = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    return (
        x509.CertificateBuilder()
        .public_key(key.public_key())
        .not_valid_before(_whole_seconds(now) - BACKDATE)
        .add_extension(subject_key, critical=False)
    )


def _authority_key(key: ec.EllipticCurvePrivateKey) -> x509.AuthorityKeyIdentifier:
    return x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key())


def _key_usage(*purposes: str) -> x509.KeyUsage:
    return x509.KeyUsage(**{purpose: purpose in purposes for purpose in _PURPOSES})
