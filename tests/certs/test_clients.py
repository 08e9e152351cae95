import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from certs.clients import Clients
from certs.pem import read_certificates
from tests.certs.world import authority, leaf

CA = authority()
DER = leaf(CA, "kube-apiserver.internal", "10.0.0.1").leaf.public_bytes(Encoding.DER)
NAMELESS = CA.leaf.public_bytes(Encoding.DER)
COMMON_NAME = CA.leaf.subject.rfc4514_string().removeprefix("CN=")

CASES = {
    "no certificate, and any name is permitted": (None, set(), False),
    "no certificate, and a name is required": (None, {"evenspread"}, False),
    "an empty certificate": (b"", set(), False),
    "what is no certificate": (b"0", {"evenspread"}, False),
    "anybody of the CA": (DER, set(), True),
    "the right common name": (DER, {"evenspread"}, True),
    "the right DNS name": (DER, {"kube-apiserver.internal"}, True),
    "one of several names": (DER, {"stranger", "evenspread"}, True),
    "an address is no name": (DER, {"10.0.0.1"}, False),
    "the wrong name": (DER, {"stranger"}, False),
    "half a name": (DER, {"even"}, False),
    "no alternative names, the right common name": (NAMELESS, {COMMON_NAME}, True),
    "no alternative names, the wrong common name": (NAMELESS, {"stranger"}, False),
}


@pytest.mark.parametrize(("certificate", "names", "admitted"), CASES.values(), ids=CASES)
def test_only_permitted_callers_are_admitted(
    certificate: bytes | None, names: set[str], admitted: bool
) -> None:
    clients = Clients(authorities=CA.chain, names=frozenset(names))

    assert clients.admit(certificate) is admitted


def test_the_authorities_are_written_for_openssl() -> None:
    clients = Clients(authorities=CA.chain)

    assert read_certificates(clients.pem().encode()) == CA.chain
