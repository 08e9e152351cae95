"""
What we injected into a pod, told in one annotation, and found again by it.

The annotation is deterministic, so that any replica and any second call write the same. Each
injected constraint is recognised by its own digest: what another webhook adds, changes or moves
is never taken for ours.
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
        profile: The profile that was injected.
        selector_from: The objects that the selector came from, as ``Service/web``.
        keys: The topology keys of what was injected, in order.
        hash: The digests of what was injected, in order, separated by commas.
    """

    profile: str
    selector_from: tuple[str, ...]
    keys: tuple[str, ...]
    hash: str


_decoder = msgspec.json.Decoder(Provenance)


def recognize_constraints(
    annotation: str | None, constraints: tuple[Constraint, ...]
) -> dict[int, str]:
    """
    Which constraints of a pod are ours.

    Args:
        annotation: Its value; anyone may have written it, so anything may stand there.
        constraints: The pod's list.

    Returns:
        Index -> digest, in order; empty if the annotation is absent or not of our form.
    """
    if not annotation or not constraints:
        return {}
    try:
        digests = frozenset(_decoder.decode(annotation).hash.split(","))
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return {}
    present = (digest(render.encode(render.constraint(each))) for each in constraints)
    return {i: each for i, each in enumerate(present) if each in digests}


def digest(written: bytes) -> str:
    """
    A short text for a constraint as it is written, the same for equal ones.

    A checksum is enough: it tells ours from the few others in the same pod, and who forges one
    could as well have written the constraint.
    """
    return f"{crc32(written):08x}"
