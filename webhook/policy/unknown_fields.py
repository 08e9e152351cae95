"""
Unknown fields in whole objects, and the warnings about them at admission: TSC011.

Entry points: ``find_unknown_in_object`` for objects of any source, ``warn_of_unknown_fields`` for
requests. kube-apiserver drops unknown fields of built-in kinds before it calls a webhook, and warns
of them itself; schemas of custom resources may keep them. The hooks never deny such an object,
since a newer API server may know the field.
"""

from functools import partial
from typing import Any

import msgspec

from webhook.policy.advice.exemptions import parse_exemptions
from webhook.policy.api.schema import UNKNOWN_FIELD, StrictFinding, find_unknown_fields
from webhook.policy.kinds import BUILT_IN_KINDS, CUSTOM_KINDS
from webhook.policy.model import GroupKind
from webhook.policy.nesting import decode_nested
from webhook.policy.paths import FieldPath
from webhook.policy.places import TemplatePlaces, find_places
from webhook.policy.request import AdmissionRequest

LONGEST_CHECKED = 32 * 1024  # bytes of a review; usual ones have 10 KiB
MOST_WARNED = 3  # unknown fields of one pod template; there are no warnings of more


class _Object(msgspec.Struct, frozen=True, gc=False):
    object: Any = None


class _Review(msgspec.Struct, frozen=True, gc=False):
    request: _Object = _Object()


_decode = partial(msgspec.json.decode, type=_Review)


def find_unknown_in_object(
    value: Any, kind: GroupKind, places: TemplatePlaces
) -> tuple[StrictFinding, ...]:
    """
    Find the unknown fields of an object.

    Args:
        value: The object, of JSON's types and of any content.
        kind: Its kind.
        places: Where objects of this kind hold pod templates.
    """
    try:
        paths = find_places(value, places)
    except msgspec.ValidationError:
        paths = (places,) if isinstance(places, tuple) else ()
    return tuple(
        finding
        for path in paths
        for finding in find_unknown_fields(value, path, custom=_has_own_fields(kind, path))
    )


def _has_own_fields(kind: GroupKind, path: FieldPath) -> bool:
    """
    Whether fields of an object outside of the pod template at a path are not known.

    One of them may be a list of constraints: in a configured kind, or of another template.
    """
    row = BUILT_IN_KINDS.get(kind) or CUSTOM_KINDS.get(kind)
    return row is None or row.template != path


def warn_of_unknown_fields(
    request: AdmissionRequest, not_exemptible: frozenset[str]
) -> tuple[str, ...]:
    """
    Describe the unknown fields of a new or changed pod template of a custom kind.

    Objects that a controller created get no warnings, nor do updates that leave the template as it
    was, exempted objects, and objects in a review of more than ``LONGEST_CHECKED`` bytes.
    """
    is_settled = request.old is not None and request.old == request.template
    if request.built_in or request.path is None or request.controlled or is_settled:
        return ()
    annotations = request.metadata.annotations if request.metadata else {}
    exempt = UNKNOWN_FIELD in parse_exemptions(annotations, not_exemptible).reasons
    if exempt or len(request.body) > LONGEST_CHECKED:
        return ()
    try:
        review = decode_nested(_decode, request.body)
    except msgspec.DecodeError:
        return ()  # the request was built without its body
    custom = _has_own_fields(request.kind, request.path)
    found = find_unknown_fields(review.request.object, request.path, custom=custom)
    return tuple(f"{one.rule} {one.problem}" for one in found[:MOST_WARNED])
