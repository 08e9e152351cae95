"""
Decoding of custom kinds, whose API server does not guarantee the types of their members.

``decode_custom`` is the entry point. An object with one pod template is decoded member by member
along its path; one with several templates is decoded as a whole, once.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import chain, repeat
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from webhook.policy.model import ObjectMeta, PodTemplate
from webhook.policy.paths import FieldPath, TemplatePath
from webhook.policy.places import (
    TemplatePlaces,
    find_old_place,
    find_places,
    template_at,
    wrap_bare_list,
)
from webhook.policy.request import AdmissionRequest


class _Metadata(msgspec.Struct, frozen=True, gc=False):
    metadata: ObjectMeta | None = None


class _DecodedTemplates(NamedTuple):
    """
    The pod templates of one object.

    Attributes:
        value: The whole object if it was decoded; otherwise None.
        found: Path -> template; None if there is none at the path.
    """

    value: Any
    found: Mapping[FieldPath, PodTemplate | None]


ADVISED_TEMPLATES = 16
"""Pod templates of one object that get advice; each one reads the review again."""

_NONE = _DecodedTemplates(None, {})
_NULL = msgspec.Raw(b"null")


def decode_custom(
    request: AdmissionRequest, obj: msgspec.Raw, old: msgspec.Raw, places: TemplatePlaces
) -> AdmissionRequest:
    """
    Complete a request with the pod templates of its object.

    Args:
        request: The identifiers.
        obj: The object as JSON; null if there is none.
        old: The object that an update replaces; null on a create.
        places: Where objects of the kind hold pod templates.

    Returns:
        The request for the first template; those for the others are its ``siblings``. A type error
        is in ``unreadable``.
    """
    unreadable, metadata, new = "", None, _NONE
    try:
        metadata = msgspec.json.decode(obj, type=_Metadata | None)
        new = _decode_templates(obj, places)
    except msgspec.ValidationError as error:
        unreadable = str(error)
    replaced, old_unreadable = _NONE, False
    try:
        replaced = _decode_templates(old, places)
    except msgspec.ValidationError:
        old_unreadable = True
    base = replace(
        request,
        path=places if isinstance(places, tuple) else (),
        metadata=metadata.metadata if metadata else None,
        unreadable=unreadable,
        old_unreadable=old_unreadable,
    )
    return _add_templates(base, new, replaced)


def _add_templates(
    base: AdmissionRequest, new: _DecodedTemplates, replaced: _DecodedTemplates
) -> AdmissionRequest:
    """Build the request for the first template, with those for the others as its siblings."""
    bases = chain(repeat(base, ADVISED_TEMPLATES), repeat(replace(base, body=b"")))
    requests = tuple(
        _request_for(advised, path, new, replaced)
        for advised, path in zip(bases, new.found, strict=False)
    )
    return replace(requests[0], siblings=requests[1:]) if requests else base


def _request_for(
    base: AdmissionRequest, path: FieldPath, new: _DecodedTemplates, replaced: _DecodedTemplates
) -> AdmissionRequest:
    old_path = find_old_place(new.value, replaced.value, path)
    return replace(
        base,
        path=path,
        old_path=None if old_path == path else old_path,
        template=new.found[path],
        old=replaced.found.get(old_path),
    )


def _decode_templates(obj: msgspec.Raw, places: TemplatePlaces) -> _DecodedTemplates:
    if isinstance(places, tuple):
        return _DecodedTemplates(None, {places: template_in(obj, places)})
    value = msgspec.json.decode(obj)
    found = find_places(value, places)
    return _DecodedTemplates(value, {path: template_at(value, path, PodTemplate) for path in found})


def template_in(obj: msgspec.Raw, path: TemplatePath) -> PodTemplate | None:
    """
    Decode the pod template in an object of any kind.

    Args:
        obj: The object as JSON.
        path: The path of the template, or of a bare list of constraints, in the object.

    Returns:
        None if the object, or any member on the path, is absent or null.

    Raises:
        msgspec.ValidationError: A member on the path is no object, or the template has a type
            error; the message names its path below the template.
    """
    inner = obj
    for member in path:
        if inner == _NULL:
            return None
        inner = _member_decoder(member)(inner).member
    return msgspec.json.decode(wrap_bare_list(inner, path), type=PodTemplate | None)


@lru_cache  # one entry for each member in the configured paths
def _member_decoder(name: str) -> Callable[[msgspec.Raw], Any]:
    """Build a decoder that gives one member of an object as JSON, null if it is absent."""
    fields = [("member", msgspec.Raw, _NULL)]
    return msgspec.json.Decoder(msgspec.defstruct("Member", fields, rename={"member": name})).decode
