"""
Encoding: from a verdict to the bytes of the AdmissionReview that answers a request.

``encode`` is the entry point. Most pods come from few ReplicaSets, so encoded verdicts are cached.
"""

from functools import lru_cache

import msgspec

from webhook.policy.api.fielderrors import BAD_REQUEST, MOST_CAUSES
from webhook.policy.defaulting.inject import CACHED_INJECTIONS
from webhook.policy.defaulting.profiles import Mode
from webhook.policy.request import AdmissionRequest
from webhook.policy.scaledown.ranks import KEEP_SPREAD
from webhook.policy.verdict import Verdict
from webhook.policy.violations import describe_cause

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
    patch: bytes | msgspec.UnsetType = msgspec.UNSET  # written in base64
    patch_type: str | msgspec.UnsetType = msgspec.UNSET
    audit_annotations: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    warnings: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET


_encode = msgspec.json.Encoder().encode

_HEAD = f'{{"apiVersion":"{REVIEW_API_VERSION}","kind":"{REVIEW_KIND}","response":'.encode()


def encode(request: AdmissionRequest, verdict: Verdict) -> bytes:
    """Encode the review that answers a request."""
    if verdict.allowed:
        rest = (_encode_recurring if verdict.recurs else _encode_rest)(verdict)
    else:
        rest = _encode_rest(verdict, _status(request, verdict))
    return b'%b{"uid":"%b",%b}' % (_HEAD, request.uid.encode(), rest)


def _encode_rest(verdict: Verdict, status: _Status | msgspec.UnsetType = msgspec.UNSET) -> bytes:
    """Encode all but the uid."""
    response = _Response(
        allowed=verdict.allowed,
        status=status,
        patch=_encode(verdict.patch) if verdict.patch else msgspec.UNSET,
        patch_type="JSONPatch" if verdict.patch else msgspec.UNSET,
        audit_annotations=audit_annotations(verdict) or msgspec.UNSET,
        warnings=verdict.warnings or msgspec.UNSET,
    )
    return _encode(response)[1:]


_encode_recurring = lru_cache(CACHED_INJECTIONS)(_encode_rest)
"""For the pods of a ReplicaSet, which get the same verdict."""


def audit_annotations(verdict: Verdict) -> dict[str, str]:
    """Build the annotations of a verdict in the API server's audit log."""
    annotations: dict[str, str] = {}
    injection = verdict.injection
    if injection is not None and injection.entries:
        annotations["profile"] = injection.profile
        annotations["injected"] = ",".join(injection.keys)
    if injection is not None and verdict.labelled:
        annotations["profile"] = injection.profile
        annotations["labelled"] = KEEP_SPREAD
    exempted = _list_exempted(verdict)
    if exempted:
        annotations["exempted"] = ",".join(dict.fromkeys(exempted))
    if verdict.held:
        annotations["mode"] = Mode.RECOMMEND
    if verdict.drops:
        annotations["dropped"] = ",".join(dict.fromkeys(drop.gate for drop in verdict.drops))
    if verdict.findings and (not verdict.allowed or verdict.held):
        annotations["denied"] = ",".join(
            dict.fromkeys(finding.rule for finding in verdict.findings)
        )
    return annotations


def _list_exempted(verdict: Verdict) -> list[str]:
    """List the rules and defaults that an object is exempted from, each with its exception."""
    advice, injection = verdict.advice, verdict.injection
    exempted = [
        f"{one.finding.rule}={one.exception}" if one.exception else one.finding.rule
        for one in (advice.exempted if advice is not None else ())
    ]
    if injection is not None and injection.exception:
        exempted.append(f"defaults={injection.exception}")
    return exempted


def _status(request: AdmissionRequest, verdict: Verdict) -> _Status:
    causes = [
        _Cause(finding.error.reason, describe_cause(finding), finding.error.field)
        for finding in verdict.findings[:MOST_CAUSES]
    ]
    details = _Details(request.shown_name, request.kind.group, request.kind.kind, causes)
    reason = "BadRequest" if verdict.code == BAD_REQUEST else "Invalid"
    return _Status(verdict.code, reason, verdict.message, details)
