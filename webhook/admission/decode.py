"""
From the bytes of an AdmissionReview to the request that it carries.

The body is decoded once, into structs that name only the fields that are read. The type of a
built-in kind fits them all, so that this needs no look at the kind first. Only what such a type
cannot hold (a custom kind, a subresource, a wrong type) is looked at again, member by member.
"""

import re
from codecs import getincrementaldecoder
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

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
from webhook.policy.model import GroupKind, ObjectMeta, PodTemplate, Text
from webhook.policy.nesting import DEEPEST, NestingError, prune
from webhook.policy.paths import TemplatePath
from webhook.policy.request import LONGEST_NAME, AdmissionRequest
from webhook.policy.workloads import Workload, is_built_in_path

_uid_matches = re.compile(r"[-A-Za-z0-9._:]{1,128}").fullmatch
"""API servers send UUIDs; what is logged and repeated must be harmless and short."""

_PIECE = 64 * 1024  # bytes of text that are looked at at a time: as a str they may take 256 KiB


# Null stays None in the structs of the envelope: whoever takes a text from one adds ``or ""``.


class _Kind(msgspec.Struct, frozen=True, gc=False):
    group: Text = ""
    kind: Text = ""


class _Request(msgspec.Struct, frozen=True, rename="camel", gc=False):
    uid: Text = ""
    kind: _Kind | None = None
    operation: Text = ""
    namespace: Text = ""
    name: Text = ""
    sub_resource: Text = ""
    object: Workload | None = None
    old_object: Workload | None = None


class _RawRequest(msgspec.Struct, frozen=True, rename="camel", gc=False):
    uid: Text = ""
    kind: _Kind | None = None
    operation: Text = ""
    namespace: Text = ""
    name: Text = ""
    sub_resource: Text = ""
    object: msgspec.Raw = msgspec.Raw(b"null")
    old_object: msgspec.Raw = msgspec.Raw(b"null")


class _Review(msgspec.Struct, frozen=True, rename="camel", gc=False):
    api_version: Text = ""
    kind: Text = ""
    request: _Request | None = None


class _RawReview(msgspec.Struct, frozen=True, rename="camel", gc=False):
    api_version: Text = ""
    kind: Text = ""
    request: _RawRequest | None = None


Asked = TypeVar("Asked", _Request, _RawRequest)


class _Metadata(msgspec.Struct, frozen=True, gc=False):
    metadata: ObjectMeta | None = None


_decode_review = msgspec.json.Decoder(_Review).decode
_decode_raw = msgspec.json.Decoder(_RawReview).decode


def decode(
    body: bytes | bytearray, pod_templates: Mapping[GroupKind, TemplatePath] = BUILT_IN_TEMPLATES
) -> AdmissionRequest:
    """
    Read a review.

    Args:
        body: What the API server sent.
        pod_templates: Where each kind with a pod template holds it.

    Raises:
        ReviewError: It is no AdmissionReview v1 with a request, or the object in it has a shape
            that no API server would send.
    """
    _check_text(body)
    try:
        return _decode(body, pod_templates)
    except RecursionError:
        return _decode(_pruned(body), pod_templates)


def _decode(
    body: bytes | bytearray, pod_templates: Mapping[GroupKind, TemplatePath]
) -> AdmissionRequest:
    if len(body) > LARGE:
        reduced = _reduced(body, pod_templates)
        if isinstance(reduced, AdmissionRequest):
            return reduced
        body = reduced  # the whole body is not held while the rest is decoded
    return _decode_any(bytes(body), pod_templates)


def _check_text(body: bytes | bytearray) -> None:
    """Refuse what is not UTF-8, also in members that msgspec passes over."""
    if body.isascii():
        return
    check = getincrementaldecoder("utf-8")().decode
    try:
        for start in range(0, len(body), _PIECE):
            check(body[start : start + _PIECE])
        check(b"", final=True)
    except UnicodeError:
        raise ReviewError("the body is no JSON: not valid UTF-8") from None


def _pruned(body: bytes | bytearray) -> bytes:
    """Cut out what is nested too deeply for msgspec, and read by nobody."""
    try:
        return prune(body, DEEPEST)
    except NestingError as error:
        raise ReviewError(f"the body is no {REVIEW_KIND}: {error}") from None


def _reduced(
    body: bytes | bytearray, pod_templates: Mapping[GroupKind, TemplatePath]
) -> bytes | AdmissionRequest:
    """Cut a large review down to what is read; a request if it needs no further decoding."""
    asked, kind = _read_envelope(body)
    path = pod_templates.get(kind)
    if path is None or asked.sub_resource or asked.operation not in ("CREATE", "UPDATE"):
        return _untouched(asked, kind)
    try:
        return reduce_review(body, path)
    except msgspec.ValidationError as error:
        if isinstance(error, TooManyMembersError) or members_in(body) > MOST_MEMBERS:
            return replace(_untouched(asked, kind), path=path, unreadable=_reason(error))
        return _decode_closely(bytes(body), pod_templates)


def _decode_any(body: bytes, pod_templates: Mapping[GroupKind, TemplatePath]) -> AdmissionRequest:
    try:
        review = _decode_review(body)
    except msgspec.ValidationError:
        return _decode_closely(body, pod_templates)
    except msgspec.DecodeError as error:
        raise ReviewError(f"the body is no JSON: {_reason(error)}") from None
    asked = _checked(review, review.request)
    kind = _group_kind(asked.kind)
    path = pod_templates.get(kind)
    if path is None or asked.object is None or asked.sub_resource:
        return _untouched(asked, kind)
    if not is_built_in_path(path):
        return _decode_closely(body, pod_templates)
    old = asked.old_object.pod_template(path) if asked.old_object else None
    return AdmissionRequest(
        uid=asked.uid,
        kind=kind,
        operation=asked.operation or "",
        namespace=_shortened(asked.namespace),
        name=_shortened(asked.name),
        path=path,
        metadata=asked.object.metadata,
        template=asked.object.pod_template(path),
        old=old,
        body=body,
    )


def _checked(review: _Review | _RawReview, asked: Asked | None) -> Asked:
    """The request of a review, if the review is one and the request can be answered."""
    if review.kind != REVIEW_KIND:
        raise ReviewError(f"the body is no {REVIEW_KIND}")
    if review.api_version != REVIEW_API_VERSION:
        raise ReviewError(
            f"the AdmissionReview is not of {REVIEW_API_VERSION}, the only version served"
        )
    if asked is None:
        raise ReviewError("the AdmissionReview has no request")
    if not asked.uid or not _uid_matches(asked.uid):
        raise ReviewError("request.uid is missing, or not of 1 to 128 letters, digits, '-._:'")
    return asked


def _group_kind(kind: _Kind | None) -> GroupKind:
    return GroupKind(kind.group or "", kind.kind or "") if kind else GroupKind("", "")


def _shortened(name: str) -> str:
    """A name that is longer than any valid one cannot be found, and must not fill a log."""
    return (name or "")[:LONGEST_NAME]


def _untouched(asked: _Request | _RawRequest, kind: GroupKind) -> AdmissionRequest:
    """A request that does not concern us: what names it is all that is kept of it."""
    return AdmissionRequest(
        uid=asked.uid,
        kind=kind,
        operation=asked.operation or "",
        namespace=_shortened(asked.namespace),
        name=_shortened(asked.name),
        sub_resource=asked.sub_resource or "",
    )


def _decode_closely(
    body: bytes, pod_templates: Mapping[GroupKind, TemplatePath]
) -> AdmissionRequest:
    """Read a review whose object is not of a built-in kind's shape."""
    asked, kind = _read_envelope(body)
    path = pod_templates.get(kind)
    if path is None or asked.sub_resource or asked.operation not in ("CREATE", "UPDATE"):
        return _untouched(asked, kind)
    return replace(_custom(asked, kind, path), body=body)


def _read_envelope(body: bytes | bytearray) -> tuple[_RawRequest, GroupKind]:
    """Read all of a review but its objects."""
    try:
        review = _decode_raw(body)
    except msgspec.DecodeError as error:
        raise ReviewError(f"the body is no {REVIEW_KIND}: {_reason(error)}") from None
    asked = _checked(review, review.request)
    return asked, _group_kind(asked.kind)


def _custom(asked: _RawRequest, kind: GroupKind, path: TemplatePath) -> AdmissionRequest:
    unreadable, old_unreadable = "", False
    metadata = template = old = None
    try:
        metadata = msgspec.json.decode(asked.object, type=_Metadata | None)
        template = template_in(asked.object, path)
    except msgspec.ValidationError as error:
        unreadable = _reason(error)
        if kind in BUILT_IN_TEMPLATES:
            raise ReviewError(f"the object cannot be read: {unreadable}") from None
    try:
        old = template_in(asked.old_object, path)
    except msgspec.ValidationError:
        old_unreadable = True
    return AdmissionRequest(
        uid=asked.uid,
        kind=kind,
        operation=asked.operation,
        namespace=_shortened(asked.namespace),
        name=_shortened(asked.name),
        path=path,
        metadata=metadata.metadata if metadata else None,
        template=template,
        old=old,
        unreadable=unreadable,
        old_unreadable=old_unreadable,
    )


def template_in(obj: msgspec.Raw, path: TemplatePath) -> PodTemplate | None:
    """
    The pod template in an object of any kind.

    Args:
        obj: The object as JSON.
        path: Where the template stands in it.

    Returns:
        None if the object, or anything on the way, is absent or null.

    Raises:
        msgspec.ValidationError: Something on the way is no object, or the template has a member
            of the wrong type; the message names its path below the template.
    """
    inner: msgspec.Raw | None = obj
    for member in path:
        if inner is None or inner == _NULL:
            return None
        inner = _member_decoder(member)(inner).member
    if inner is None:
        return None
    return msgspec.json.decode(inner, type=PodTemplate | None)


_NULL = msgspec.Raw(b"null")


@lru_cache  # a name for each step of the paths that are configured
def _member_decoder(name: str) -> Callable[[msgspec.Raw], Any]:
    """Make what reads one member of an object as text; it is null if there is none."""
    fields = [("member", msgspec.Raw, _NULL)]
    return msgspec.json.Decoder(msgspec.defstruct("Member", fields, rename={"member": name})).decode


def _reason(error: Exception) -> str:
    """What a decoder says, which never repeats the input."""
    return str(error).replace("`", "").replace(" | null", "")
