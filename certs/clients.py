"""
Client certificates that mTLS accepts.

Entry point: ``Clients.admit``. The TLS handshake requires a certificate of the CA. The server must
check the name itself, before it reads from the connection: OpenSSL exposes the certificate only
after the handshake.
"""

from dataclasses import dataclass

from cryptography import x509
from cryptography.x509.oid import NameOID

from certs.errors import PairError
from certs.pem import alternative_names_of, pair_errors, read_der, write_certificates


@dataclass(frozen=True, slots=True, kw_only=True)
class Clients:
    """
    The CA of the callers, and their permitted names.

    Attributes:
        authorities: CAs, one of which must have signed a caller's certificate; never empty.
        names: Common names or DNS names, one of which the certificate must have; empty: any.
    """

    authorities: tuple[x509.Certificate, ...]
    names: frozenset[str] = frozenset()

    def pem(self) -> str:
        """Return the authorities as PEM text for OpenSSL."""
        return write_certificates(self.authorities).decode("ascii")

    def admit(self, certificate: bytes | None) -> bool:
        """
        Return whether the caller is permitted; not if its names cannot be read.

        Args:
            certificate: DER from ``getpeercert(binary_form=True)`` after the handshake; OpenSSL
                has checked signature and dates. None: the caller has no certificate.
        """
        if not certificate:
            return False
        try:
            return not self.names or not self.names.isdisjoint(_names(certificate))
        except PairError:
            return False


def _names(der: bytes) -> set[str]:
    certificate = read_der(der, where="client")
    alternative = alternative_names_of(certificate)
    with pair_errors("client", "its names cannot be read"):
        common = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        hosts = alternative.get_values_for_type(x509.DNSName) if alternative else ()
        return {*(str(attribute.value) for attribute in common), *hosts}
