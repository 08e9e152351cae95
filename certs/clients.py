"""
Who may call: the client certificates that mTLS accepts.

The TLS handshake asks for a certificate of the CA; the name is asked for here, by whoever has
the connection, before it reads from it. OpenSSL shows the certificate to nobody earlier.
"""

from dataclasses import dataclass
from typing import Self

from cryptography import x509
from cryptography.x509.oid import NameOID

from certs.errors import PairError
from certs.pem import (
    alternative_names_of,
    pair_errors,
    read_certificates,
    read_der,
    write_certificates,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clients:
    """
    The CA of the callers, and their names.

    Attributes:
        authorities: CAs, one of which must have signed a caller's certificate; never empty.
        names: Common names or DNS names, one of which the certificate must have; empty: any.
    """

    authorities: tuple[x509.Certificate, ...]
    names: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, pem: bytes, names: frozenset[str] = frozenset(), *, where: str) -> Self:
        """
        Read the file of ``--client-ca``.

        Raises:
            PairError: It holds no readable certificate.
        """
        return cls(authorities=read_certificates(pem, where=where), names=names)

    def pem(self) -> str:
        """Write the authorities as OpenSSL takes them."""
        return write_certificates(self.authorities).decode("ascii")

    def admit(self, certificate: bytes | None) -> bool:
        """
        Tell whether this caller may call.

        Args:
            certificate: DER, of a finished handshake, whose signature and dates OpenSSL has
                checked; what ``getpeercert(binary_form=True)`` returns. None is nobody.

        Returns:
            False also for names that cannot be read: OpenSSL lets pass what X.509 forbids.
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
        return {*(str(one.value) for one in common), *hosts}
