"""
The annotation that records which constraints evenspread injected into a pod.

``recognize_constraints`` finds them again in a later call. The annotation is deterministic, so that
every replica and every call write the same value. Each injected constraint has its own digest, so
that a constraint that another webhook adds, changes or moves is never mistaken for an injected one.
"""

from binascii import crc32

import msgspec

from webhook.policy import render
from webhook.policy.model import Constraint

DEFAULTS_ANNOTATION = "evenspread.io/defaults"


class Provenance(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """
    The annotation's value.

    Attributes:
        selector_from: The objects from which the selector was derived, as ``Service/web``.
        keys: The topology keys of the injected constraints, in order.
        hash: The digests of the injected constraints, in order, separated by commas.
    """

    profile: str
    selector_from: tuple[str, ...]
    keys: tuple[str, ...]
    hash: str


_decoder = msgspec.json.Decoder(Provenance)


def read_provenance(annotation: str) -> Provenance | None:
    """Read the annotation of a pod, which any client can write; None if it is invalid."""
    try:
        return _decoder.decode(annotation)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None


def recognize_constraints(
    annotation: str | None, constraints: tuple[Constraint, ...]
) -> dict[int, str]:
    """
    Find the constraints of a pod that an earlier call injected.

    The annotation is not trusted, since any client can write it.

    Returns:
        Index -> digest, in order; empty if the annotation is absent or invalid.
    """
    found = read_provenance(annotation) if annotation and constraints else None
    if found is None:
        return {}
    digests = frozenset(found.hash.split(","))
    present = (digest(render.encode(render.constraint(entry))) for entry in constraints)
    return {index: value for index, value in enumerate(present) if value in digests}


def digest(written: bytes) -> str:
    """
    Compute the digest of an encoded constraint.

    A checksum suffices: it distinguishes the few constraints of one pod, and a client that could
    forge it could write the constraint itself.
    """
    return f"{crc32(written):08x}"
