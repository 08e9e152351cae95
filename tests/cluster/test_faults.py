import errno
import socket
import ssl

import pytest

from webhook.cluster.faults import LONGEST_TOLD, why
from webhook.errors import SourceError


class WrappingError(Exception):
    """As aiohttp has them, around an error of the system or of OpenSSL."""

    def __init__(self, **inner: Exception) -> None:
        super().__init__("ssl:default [None]")
        for name, error in inner.items():
            setattr(self, name, error)


def untrusted() -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] verify failed")
    error.verify_message = "self-signed certificate"
    return error


CASES = {
    "an error of the system is told in its words, not in those of a library": (
        OSError(errno.ECONNREFUSED, "Connect call failed ('127.0.0.1', 1)"),
        "Connection refused",
    ),
    "one within another error": (
        WrappingError(os_error=OSError(errno.EHOSTUNREACH, "Connect call failed")),
        "No route to host",
    ),
    "a name that nobody knows": (
        WrappingError(os_error=socket.gaierror(socket.EAI_NONAME, "Name or service not known")),
        "Name or service not known",
    ),
    "a certificate of another authority": (
        WrappingError(certificate_error=untrusted()),
        "its certificate is not trusted: self-signed certificate",
    ),
    "a peer that speaks no TLS": (
        WrappingError(os_error=ssl.SSLError(1, "wrong version number")),
        "the TLS handshake failed: ",
    ),
    "an error of our own says it itself": (SourceError("here", "is shut"), "here: is shut"),
    "several lines become one": (
        ValueError("while parsing\n  in line 2"),
        "ValueError: while parsi",
    ),
    "no number, no words": (OSError("Multiple exceptions"), "OSError: Multiple exceptions"),
    "nothing said": (RuntimeError(), "RuntimeError"),
}


@pytest.mark.parametrize(("error", "said"), CASES.values(), ids=CASES.keys())
def test_why(error: Exception, said: str) -> None:
    assert why(error).startswith(said)
    assert "\n" not in why(error)


def test_what_another_says_without_end_is_cut() -> None:
    assert len(why(ValueError("x" * 10_000))) == LONGEST_TOLD
