"""
Decoding: from the bytes of an AdmissionReview to the request in it.

``decode`` is the entry point. It decodes the body once, into structs with only the fields that some
rule reads. One struct fits all built-in kinds, so that the kind need not be known first. Only a
review that does not fit it (a custom kind, a subresource, a type error) is decoded again, member by
member. Rules are not applied here.
"""

import re
from codecs import getincrementaldecoder
from collections.abc import Mapping
from typing import Generic, TypeVar

import msgspec
from msgspec.structs import replace

from webhook.admission.binding import creates_binding, decode_binding
from webhook.admission.custom import decode_custom
from webhook.admission.encode import REVIEW_API_VERSION, REVIEW_KIND
from webhook.admission.large import (
    LARGE,
    MOST_MEMBERS,
    TooManyMembersError,
    members_in,
    reduce_review,
)
from webhook.errors import ReviewError
from webhook.policy.kinds import BUILT_IN_TEMPLATES
from webhook.policy.model import GroupKind, Text
from webhook.policy.nesting import DEEPEST, NestingError, prune
from webhook.policy.places import TemplatePlaces
from webhook.policy.request import LONGEST_NAME, AdmissionRequest
from webhook.policy.workloads import BUILT_IN_PATHS, Workload

_uid_matches = re.compile(r"[-A-Za-z0-9._:]{1,128}").fullmatch
"""API servers send UUIDs; the uid is logged and echoed, so it must be harmless and short."""

_PIECE = 64 * 1024  # bytes that are checked at a time; as a str they may take 256 KiB


# In the structs of the envelope null becomes None: readers of a text must add ``or ""``.


class _Envelope(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The members of a request that identify its object."""

    uid: Text = ""
    kind: GroupKind | None = None
    operation: Text = ""
    namespace: Text = ""
    name: Text = ""
    sub_resource: Text = ""
    dry_run: bool | None = None


class _Request(_Envelope, frozen=True, gc=False):
    object: Workload | None = None
    old_object: Workload | None = None


class _RawRequest(_Envelope, frozen=True, gc=False):
    object: msgspec.Raw = msgspec.Raw(b"null")
    old_object: msgspec.Raw = msgspec.Raw(b"null")


AnyRequest = TypeVar("AnyRequest", _Request, _RawRequest)


class _Review(msgspec.Struct, Generic[AnyRequest], frozen=True, rename="camel", gc=False):
    api_version: Text = ""
    kind: Text = ""
    request: AnyRequest | None = None


_decode_review = msgspec.json.Decoder(_Review[_Request]).decode
_decode_raw = msgspec.json.Decoder(_Review[_RawRequest]).decode


def decode(
    body: bytes | bytearray, pod_templates: Mapping[GroupKind, TemplatePlaces] = BUILT_IN_TEMPLATES
) -> AdmissionRequest:
    """
    Decode a review.

    Args:
        body: The body of the API server's request.
        pod_templates: Where the objects of each kind hold pod templates.

    Raises:
        ReviewError: The body is no AdmissionReview v1 with a request, or its object has a shape
            that no API server would send.
    """
    if not body.isascii():
        _check_text(body)
    try:
        if len(body) > LARGE:
            return _decode_large(body, pod_templates)
        return _decode(bytes(body), pod_templates)
    except RecursionError:
        return _decode_large(_prune(body), pod_templates)


def _decode_large(
    body: bytes | bytearray, pod_templates: Mapping[GroupKind, TemplatePlaces]
) -> AdmissionRequest:
    reduced = _reduce(body, pod_templates) if len(body) > LARGE else bytes(body)
    return reduced if isinstance(reduced, AdmissionRequest) else _decode(reduced, pod_templates)


def _decode(body: bytes, pod_templates: Mapping[GroupKind, TemplatePlaces]) -> AdmissionRequest:
    try:
        review = _decode_review(body)
    except msgspec.ValidationError:
        return _decode_closely(body, pod_templates)
    except msgspec.DecodeError as error:
        raise ReviewError(f"the body is no JSON: {_reason(error)}") from None
    request = _check_request(review)
    kind = request.kind or GroupKind()
    path = pod_templates.get(kind)
    if path is None or request.object is None or request.sub_resource:
        return _decode_other(body, request, kind)
    if not isinstance(path, tuple) or path not in BUILT_IN_PATHS:
        return _decode_closely(body, pod_templates)
    old = request.old_object.pod_template(path) if request.old_object else None
    return AdmissionRequest(
        uid=request.uid,
        kind=kind,
        operation=request.operation or "",
        namespace=(request.namespace or "")[:LONGEST_NAME],
        name=(request.name or "")[:LONGEST_NAME],
        dry_run=request.dry_run is True,
        path=path,
        metadata=request.object.metadata,
        template=request.object.pod_template(path),
        old=old,
        body=body,
    )


def _check_text(body: bytes | bytearray) -> None:
    """Refuse text that is not UTF-8, also in members that msgspec skips."""
    check = getincrementaldecoder("utf-8")().decode
    try:
        for start in range(0, len(body), _PIECE):
            check(body[start : start + _PIECE])
        check(b"", final=True)
    except UnicodeError:
        raise ReviewError("the body is no JSON: not valid UTF-8") from None


def _prune(body: bytes | bytearray) -> bytes:
    """Remove values that are nested too deeply for msgspec and that no rule reads."""
    try:
        return prune(body, DEEPEST)
    except NestingError as error:
        raise ReviewError(f"the body is no {REVIEW_KIND}: {error}") from None


def _reduce(
    body: bytes | bytearray, pod_templates: Mapping[GroupKind, TemplatePlaces]
) -> bytes | AdmissionRequest:
    """Reduce a large review to what rules read; a request if it needs no further decoding."""
    request, kind = _read_envelope(body)
    path = pod_templates.get(kind)
    if path is None or request.sub_resource or request.operation not in ("CREATE", "UPDATE"):
        return _identify(request, kind)
    try:
        return reduce_review(body, path)
    except msgspec.ValidationError as error:
        if isinstance(error, TooManyMembersError) or members_in(body) > MOST_MEMBERS:
            at = path if isinstance(path, tuple) else ()
            return replace(_identify(request, kind), path=at, unreadable=_reason(error))
        return _decode_closely(bytes(body), pod_templates)


def _check_request(review: _Review[AnyRequest]) -> AnyRequest:
    """The request of a review; raises ReviewError if it is missing or cannot be answered."""
    if review.kind != REVIEW_KIND:
        raise ReviewError(f"the body is no {REVIEW_KIND}")
    if review.api_version != REVIEW_API_VERSION:
        raise ReviewError(
            f"the AdmissionReview is not of {REVIEW_API_VERSION}, the only version served"
        )
    if (request := review.request) is None:
        raise ReviewError("the AdmissionReview has no request")
    if not request.uid or not _uid_matches(request.uid):
        raise ReviewError("request.uid is missing, or not of 1 to 128 letters, digits, '-._:'")
    return request


def _identify(request: _Request | _RawRequest, kind: GroupKind) -> AdmissionRequest:
    """Build a request that no rule applies to: keep only its identifiers."""
    return AdmissionRequest(
        uid=request.uid,
        kind=kind,
        operation=request.operation or "",
        namespace=(request.namespace or "")[:LONGEST_NAME],
        name=(request.name or "")[:LONGEST_NAME],
        sub_resource=request.sub_resource or "",
        dry_run=request.dry_run is True,
    )


def _decode_other(
    body: bytes, request: _Request | _RawRequest, kind: GroupKind
) -> AdmissionRequest:
    """Build the request of an object without a pod template; only of a Binding more is read."""
    found = _identify(request, kind)
    if not creates_binding(found):
        return found
    try:
        return replace(found, binding=decode_binding(body))
    except msgspec.ValidationError as error:
        raise ReviewError(f"the Binding cannot be read: {_reason(error)}") from None


def _decode_closely(
    body: bytes, pod_templates: Mapping[GroupKind, TemplatePlaces]
) -> AdmissionRequest:
    """Decode a review whose object does not fit the struct of built-in kinds."""
    request, kind = _read_envelope(body)
    path = pod_templates.get(kind)
    if path is None or request.sub_resource or request.operation not in ("CREATE", "UPDATE"):
        return _decode_other(body, request, kind)
    found = decode_custom(
        replace(_identify(request, kind), body=body), request.object, request.old_object, path
    )
    if found.unreadable and kind in BUILT_IN_TEMPLATES:
        raise ReviewError(f"the object cannot be read: {_clean(found.unreadable)}")
    return replace(found, unreadable=_clean(found.unreadable)) if found.unreadable else found


def _read_envelope(body: bytes | bytearray) -> tuple[_RawRequest, GroupKind]:
    """Decode a review without its objects."""
    try:
        review = _decode_raw(body)
    except msgspec.DecodeError as error:
        raise ReviewError(f"the body is no {REVIEW_KIND}: {_reason(error)}") from None
    request = _check_request(review)
    return request, request.kind or GroupKind()


def _reason(error: Exception) -> str:
    """The message of a decoder, which never echoes the input."""
    return _clean(str(error))


def _clean(message: str) -> str:
    return message.replace("`", "").replace(" | null", "")
