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
    "nobody, and any name would do": (None, set(), False),
    "nobody, and a name is asked for": (None, {"evenspread"}, False),
    "an empty certificate": (b"", set(), False),
    "what is no certificate": (b"0", {"evenspread"}, False),
    "anybody of the CA": (DER, set(), True),
    "the right common name": (DER, {"evenspread"}, True),
    "the right DNS name": (DER, {"kube-apiserver.internal"}, True),
    "one of several names": (DER, {"somebody", "evenspread"}, True),
    "an address is no name": (DER, {"10.0.0.1"}, False),
    "the wrong name": (DER, {"somebody"}, False),
    "half a name": (DER, {"even"}, False),
    "no alternative names, the right common name": (NAMELESS, {COMMON_NAME}, True),
    "no alternative names, the wrong common name": (NAMELESS, {"somebody"}, False),
}


@pytest.mark.parametrize(("certificate", "names", "admitted"), CASES.values(), ids=CASES)
def test_callers_are_told_apart(certificate: bytes | None, names: set[str], admitted: bool) -> None:
    clients = Clients(authorities=CA.chain, names=frozenset(names))

    assert clients.admit(certificate) is admitted


def test_the_authorities_are_written_for_openssl() -> None:
    clients = Clients(authorities=CA.chain)

    assert read_certificates(clients.pem().encode()) == CA.chain
