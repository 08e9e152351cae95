"""
What we injected into a pod, told in one annotation, and found again by it.

The annotation is deterministic, so that any replica and any second call write the same. Each
injected constraint is recognised by its own digest: what another webhook adds, changes or moves
is never taken for ours.
"""

from hashlib import blake2b

import msgspec

from webhook.policy import render
from webhook.policy.model import Constraint

ANNOTATION = "evenspread.io/defaults"

DIGEST_BYTES = 6  # 2**48: by chance no two of a pod's few constraints share one


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


_encoder = msgspec.json.Encoder()
_canonical = msgspec.json.Encoder(order="sorted")
_decoder = msgspec.json.Decoder(Provenance)


def describe(profile: str, sources: tuple[str, ...], injected: tuple[Constraint, ...]) -> str:
    """The annotation for what was injected; empty if nothing was."""
    if not injected:
        return ""
    keys = tuple(constraint.topology_key for constraint in injected)
    digests = ",".join(map(digest, injected))
    return _encoder.encode(Provenance(profile, sources, keys, digests)).decode()


def recognise(annotation: str | None, constraints: tuple[Constraint, ...]) -> frozenset[int]:
    """
    Which constraints of a pod are ours.

    Args:
        annotation: Its value; anyone may have written it, so anything may stand there.
        constraints: The pod's list.

    Returns:
        Indexes; empty if the annotation is absent or not of our form.
    """
    if not annotation or not constraints:
        return frozenset()
    try:
        digests = frozenset(_decoder.decode(annotation).hash.split(","))
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return frozenset()
    return frozenset(i for i, each in enumerate(constraints) if digest(each) in digests)


def digest(constraint: Constraint) -> str:
    """A short text that is the same for equal constraints, and for others is not."""
    written = _canonical.encode(render.constraint(constraint))
    return blake2b(written, digest_size=DIGEST_BYTES).hexdigest()
