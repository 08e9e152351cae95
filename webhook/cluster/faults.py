"""
Why a request came to nothing, in a few words for people.

Libraries name their classes and their sockets; who reads it wants to know whether to look at the
network, at a certificate, or at a name.
"""

import os
import ssl

from webhook.errors import EvenspreadError

LONGEST_TOLD = 256  # characters of another's error


def why(error: Exception) -> str:
    """
    Say why, as ``Connection refused``.

    Returns:
        One line. The words of the system for its own errors, of OpenSSL for certificates; else the
        kind of the error and what it says.
    """
    if isinstance(error, EvenspreadError):
        return str(error)
    inner = getattr(error, "certificate_error", None) or getattr(error, "os_error", error)
    if isinstance(inner, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {inner.verify_message}"
    if isinstance(inner, ssl.SSLError):
        return f"the TLS handshake failed: {getattr(inner, 'reason', '') or inner.strerror}"
    if isinstance(inner, OSError) and inner.strerror:
        number = inner.errno or 0  # negative: of DNS
        return os.strerror(number) if number > 0 else inner.strerror
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said}"[:LONGEST_TOLD] if said else type(error).__name__
