"""
From a verdict to the bytes of the AdmissionReview that answers a request.

Most pods come from few ReplicaSets, so what is written for one verdict is remembered.
"""

from binascii import b2a_base64
from functools import lru_cache

import msgspec

from webhook.policy.api.fielderrors import LONGEST_VALUE, MOST_CAUSES
from webhook.policy.defaulting.inject import CACHED_INJECTIONS
from webhook.policy.patch import Operation
from webhook.policy.request import AdmissionRequest
from webhook.policy.verdict import BAD_REQUEST, Verdict

REVIEW_API_VERSION = "admission.k8s.io/v1"
REVIEW_KIND = "AdmissionReview"


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


_encode = msgspec.json.Encoder().encode

_HEAD = f'{{"apiVersion":"{REVIEW_API_VERSION}","kind":"{REVIEW_KIND}","response":'.encode()


def encode(request: AdmissionRequest, verdict: Verdict) -> bytes:
    """Write the review that answers a request."""
    if not verdict.allowed:
        rest = _rest_of_denial(request, verdict)
    elif verdict.recurs:
        rest = _rest_of_consent(verdict)
    else:
        rest = _rest_of_consent.__wrapped__(verdict)
    return b'%b{"uid":"%b",%b}' % (_HEAD, request.uid.encode(), rest)


@lru_cache(CACHED_INJECTIONS)
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


def _status(request: AdmissionRequest, verdict: Verdict) -> _Status:
    errors = [finding.error for finding in verdict.findings[:MOST_CAUSES]]
    causes = [_Cause(each.reason, each.words(LONGEST_VALUE), each.field) for each in errors]
    details = _Details(request.shown_name, request.kind.group, request.kind.kind, causes)
    reason = "BadRequest" if verdict.code == BAD_REQUEST else "Invalid"
    return _Status(verdict.code, reason, verdict.message, details)


def _base64(patch: tuple[Operation, ...]) -> str:
    return b2a_base64(_encode(patch), newline=False).decode()
