"""
AdmissionReviews on the wire, and the requests and verdicts that they carry.

The body is decoded once, into structs that name only the fields that are read. The type of a
built-in kind fits them all, so that this needs no look at the kind first. Only what such a type
cannot hold (a custom kind, a subresource, a wrong type) is looked at again, member by member.

Source: k8s.io/api admission/v1; apiserver pkg/admission/plugin/webhook/request.
"""

import re
from binascii import b2a_base64
from collections.abc import Mapping
from functools import lru_cache
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from webhook.errors import ReviewError
from webhook.policy.defaults import INJECTIONS
from webhook.policy.model import GroupKind, ObjectMeta, PodTemplate, Text
from webhook.policy.patch import Operation
from webhook.policy.request import AdmissionRequest
from webhook.policy.verdict import BAD_REQUEST, Verdict
from webhook.policy.workloads import BUILT_IN, TemplatePath, Workload, is_built_in_path

API_VERSION = "admission.k8s.io/v1"
KIND = "AdmissionReview"

_uid_matches = re.compile(r"[-A-Za-z0-9._:]{1,128}").fullmatch
"""API servers send UUIDs; what is logged and repeated must be harmless and short."""


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


class _Cause(msgspec.Struct, frozen=True, gc=False):
    reason: str
    message: str
    field: str


class _Details(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    name: str = ""
    group: str = ""
    kind: str = ""
    causes: list[_Cause] = []


class _Status(msgspec.Struct, frozen=True, gc=False):
    code: int
    reason: str
    message: str
    details: _Details
    status: str = "Failure"


class _Response(msgspec.Struct, frozen=True, rename="camel", gc=False):
    allowed: bool
    status: _Status | msgspec.UnsetType = msgspec.UNSET
    patch: str | msgspec.UnsetType = msgspec.UNSET
    patch_type: str | msgspec.UnsetType = msgspec.UNSET
    audit_annotations: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    warnings: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET


_decode = msgspec.json.Decoder(_Review).decode
_decode_raw = msgspec.json.Decoder(_RawReview).decode
_encode = msgspec.json.Encoder().encode

_HEAD = f'{{"apiVersion":"{API_VERSION}","kind":"{KIND}","response":'.encode()


def decode(
    body: bytes, pod_templates: Mapping[GroupKind, TemplatePath] = BUILT_IN
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
    try:
        if not body.isascii():
            body.decode()  # msgspec does not look at the text of members that it passes over
        review = _decode(body)
    except msgspec.ValidationError:
        return _decode_closely(body, pod_templates)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
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
        namespace=asked.namespace or "",
        name=asked.name or "",
        path=path,
        metadata=asked.object.metadata,
        template=asked.object.pod_template(path),
        old=old,
        body=body,
    )


def encode(request: AdmissionRequest, verdict: Verdict) -> bytes:
    """Write the review that answers a request."""
    rest = _rest_of_consent(verdict) if verdict.allowed else _rest_of_denial(request, verdict)
    return b'%b{"uid":"%b",%b}' % (_HEAD, request.uid.encode(), rest)


@lru_cache(INJECTIONS)
def _rest_of_consent(verdict: Verdict) -> bytes:
    """Write all but the uid; remembered, since a ReplicaSet's pods get one and the same verdict."""
    response = _Response(
        allowed=True,
        patch=_base64(verdict.patch) if verdict.patch else msgspec.UNSET,
        patch_type="JSONPatch" if verdict.patch else msgspec.UNSET,
        audit_annotations=audit_annotations(verdict) or msgspec.UNSET,
        warnings=verdict.warnings or msgspec.UNSET,
    )
    return _encode(response)[1:]


def _rest_of_denial(request: AdmissionRequest, verdict: Verdict) -> bytes:
    response = _Response(
        allowed=False,
        status=_status(request, verdict),
        audit_annotations=audit_annotations(verdict) or msgspec.UNSET,
        warnings=verdict.warnings or msgspec.UNSET,
    )
    return _encode(response)[1:]


def audit_annotations(verdict: Verdict) -> dict[str, str]:
    """What the API server's audit log keeps of a verdict; the same for the same verdict."""
    annotations: dict[str, str] = {}
    injection = verdict.injection
    if injection is not None and injection.entries:
        annotations["profile"] = injection.profile
        annotations["injected"] = ",".join(injection.keys)
    if verdict.drops:
        annotations["dropped"] = ",".join(dict.fromkeys(drop.gate for drop in verdict.drops))
    if verdict.findings and (not verdict.allowed or verdict.held):
        annotations["denied"] = ",".join(dict.fromkeys(each.rule for each in verdict.findings))
    return annotations


def _checked(review: _Review | _RawReview, asked: Asked | None) -> Asked:
    """The request of a review, if the review is one and the request can be answered."""
    if review.kind != KIND:
        raise ReviewError(f"the body is no {KIND}")
    if review.api_version != API_VERSION:
        raise ReviewError(f"the AdmissionReview is not of {API_VERSION}, the only version served")
    if asked is None:
        raise ReviewError("the AdmissionReview has no request")
    if not asked.uid or not _uid_matches(asked.uid):
        raise ReviewError("request.uid is missing, or not of 1 to 128 letters, digits, '-._:'")
    return asked


def _group_kind(kind: _Kind | None) -> GroupKind:
    return GroupKind(kind.group or "", kind.kind or "") if kind else GroupKind("", "")


def _untouched(asked: _Request | _RawRequest, kind: GroupKind) -> AdmissionRequest:
    """A request that does not concern us: what names it is all that is kept of it."""
    return AdmissionRequest(
        uid=asked.uid,
        kind=kind,
        operation=asked.operation or "",
        namespace=asked.namespace or "",
        name=asked.name or "",
        sub_resource=asked.sub_resource or "",
    )


def _decode_closely(
    body: bytes, pod_templates: Mapping[GroupKind, TemplatePath]
) -> AdmissionRequest:
    """Read a review whose object is not of a built-in kind's shape."""
    try:
        review = _decode_raw(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ReviewError(f"the body is no {KIND}: {_reason(error)}") from None
    asked = _checked(review, review.request)
    kind = _group_kind(asked.kind)
    path = pod_templates.get(kind)
    if path is None or asked.sub_resource or asked.operation not in ("CREATE", "UPDATE"):
        return _untouched(asked, kind)
    return replace(_custom(asked, kind, path), body=body)


def _custom(asked: _RawRequest, kind: GroupKind, path: TemplatePath) -> AdmissionRequest:
    unreadable, old_unreadable = "", False
    metadata = template = old = None
    try:
        metadata = msgspec.json.decode(asked.object, type=_Metadata | None)
        template = template_in(asked.object, path)
    except msgspec.ValidationError as error:
        unreadable = _reason(error)
        if kind in BUILT_IN:
            raise ReviewError(f"the object cannot be read: {unreadable}") from None
    try:
        old = template_in(asked.old_object, path)
    except msgspec.ValidationError:
        old_unreadable = True
    return AdmissionRequest(
        uid=asked.uid,
        kind=kind,
        operation=asked.operation,
        namespace=asked.namespace or "",
        name=asked.name or "",
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
        members = msgspec.json.decode(inner, type=dict[str, msgspec.Raw])
        inner = members.get(member)
    if inner is None:
        return None
    return msgspec.json.decode(inner, type=PodTemplate | None)


_NULL = msgspec.Raw(b"null")


def _reason(error: Exception) -> str:
    """What a decoder says, which never repeats the input."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, UnicodeError):
        return "not valid UTF-8"
    return str(error).replace("`", "").replace(" | null", "")


def _status(request: AdmissionRequest, verdict: Verdict) -> _Status:
    causes = [
        _Cause(each.error.reason, each.error.message, each.error.field) for each in verdict.findings
    ]
    details = _Details(request.shown_name, request.kind.group, request.kind.kind, causes)
    reason = "BadRequest" if verdict.code == BAD_REQUEST else "Invalid"
    return _Status(verdict.code, reason, verdict.message, details)


def _base64(patch: tuple[Operation, ...]) -> str:
    return b2a_base64(_encode(patch), newline=False).decode()
