"""
Decode the Binding in a review with ``decode_binding``; must not judge it.

Source: k8s.io/api core/v1 ``Binding``, ``ObjectReference``.
"""

import msgspec

from webhook.policy.kinds import BINDING
from webhook.policy.request import CREATE, AdmissionRequest
from webhook.policy.scaledown.binding import Binding
from webhook.policy.scaledown.ranks import DELETION_COST

SUB_RESOURCE = "binding"  # of pods


class _Annotations(msgspec.Struct, frozen=True, rename={"cost": DELETION_COST}, gc=False):
    cost: str | msgspec.UnsetType | None = msgspec.UNSET


class _Metadata(msgspec.Struct, frozen=True, gc=False):
    annotations: _Annotations | None = None


class _Target(msgspec.Struct, frozen=True, gc=False):
    name: str | None = None


class _Binding(msgspec.Struct, frozen=True, gc=False):
    metadata: _Metadata | None = None
    target: _Target | None = None


class _Request(msgspec.Struct, frozen=True, gc=False):
    object: _Binding | None = None


class _Review(msgspec.Struct, frozen=True, gc=False):
    request: _Request


_decode = msgspec.json.Decoder(_Review).decode


def creates_binding(request: AdmissionRequest) -> bool:
    """Whether a request binds a pod to a node."""
    about = (request.kind, request.sub_resource, request.operation)
    return about == (BINDING, SUB_RESOURCE, CREATE)


def decode_binding(body: bytes) -> Binding | None:
    """
    Decode the Binding in a review; None if there is none, or if it has no metadata to annotate.

    Raises:
        msgspec.ValidationError: It has a shape that no API server would send.
    """
    sent = _decode(body).request.object
    if sent is None or sent.metadata is None:
        return None
    annotations = sent.metadata.annotations
    return Binding(
        node=(sent.target and sent.target.name) or "",
        annotated=annotations is not None,
        has_cost=annotations is not None and annotations.cost is not msgspec.UNSET,
    )
