"""
What the server would be asked about an object in a file, and what it would answer.

A manifest becomes the AdmissionReview that kube-apiserver would send when it is created; a recorded
review is sent as it is. Both take the way of every request: decoded, judged, encoded.
"""

import json
from binascii import a2b_base64
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from webhook import admission
from webhook.admission.encode import REVIEW_API_VERSION, REVIEW_KIND
from webhook.admission.jsonpatch import apply_patch
from webhook.manifests import Document, expand, is_object
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.facts import Facts
from webhook.policy.model import GroupKind, group_of
from webhook.policy.paths import FieldPath, TemplatePath, find_value
from webhook.policy.request import CREATE, UPDATE, AdmissionRequest, Hook
from webhook.policy.verdict import Verdict, judge

NAMESPACE = "default"  # of a manifest that names none, as for kubectl
USER = {"username": "evenspread", "groups": ["system:authenticated"]}
RECORDED = "review"  # the member of a recording that holds the review

BOTH = "both"

HOOK_CHOICES = {
    str(Hook.MUTATE): (Hook.MUTATE,),
    str(Hook.VALIDATE): (Hook.VALIDATE,),
    BOTH: (Hook.MUTATE, Hook.VALIDATE),
}
"""What people write -> the webhooks that are called, in this order."""

_CALL = "http"  # the member that tells how it was sent
_VALIDATING = "validat"  # in the path of a call to a validating webhook, ours or another


class OfflineReview(msgspec.Struct, frozen=True):
    """
    A review to be answered.

    Attributes:
        document: The object, at its place in its file.
        body: The AdmissionReview.
        recorded: Whether it was read as it is, not made of a manifest.
        hook: The webhook that would be asked first.
    """

    document: Document
    body: dict[str, Any]
    recorded: bool = False
    hook: Hook = Hook.MUTATE


class OfflineResult(msgspec.Struct, frozen=True):
    """
    An answer.

    Attributes:
        request: What was asked, as far as it was read.
        verdict: What was decided.
        review: The AdmissionReview to answer with; ``response.patch`` is decoded.
        before: The object as it was sent.
        after: The object once the patch is applied.
    """

    request: AdmissionRequest
    verdict: Verdict
    review: dict[str, Any]
    before: Any
    after: Any


def unpack_recording(document: Document) -> Iterator[Document]:
    """Take the review out of a recording, ``{http, review}``, and objects out of lists."""
    value: Any = document.value
    held: Any = value.get(RECORDED) if is_object(value) else None
    if document.kind or not is_object(held):
        return expand(document)
    review_and_call = {**held, _CALL: value.get(_CALL)}
    return iter((replace(document, value=review_and_call, path=(*document.path, RECORDED)),))


def build_reviews(
    documents: Iterable[Document], templates: Mapping[GroupKind, TemplatePath]
) -> Iterator[OfflineReview]:
    """Make reviews of recorded ones, and of objects that hold a pod template; pass over others."""
    for number, document in enumerate(documents, start=1):
        if document.kind == REVIEW_KIND:
            yield _recorded(document)
        elif GroupKind(group_of(document.api_version), document.kind) in templates:
            yield OfflineReview(document, _create(document, f"review-{number}"))


def _recorded(document: Document) -> OfflineReview:
    body = dict(document.value)
    call: Any = body.pop(_CALL, None)
    validates = is_object(call) and _VALIDATING in str(call.get("path"))
    inner = find_value(body, ("request", "object"))
    at: FieldPath = (*document.path, "request", "object")
    return OfflineReview(
        replace(document, value=inner, path=at),
        body,
        recorded=True,
        hook=Hook.VALIDATE if validates else Hook.MUTATE,
    )


def decode_review(asked: OfflineReview, policy: Policy) -> AdmissionRequest:
    """
    Read a review as the server would.

    Raises:
        ReviewError: It is none, or its object is of wrong types.
    """
    return admission.decode(json.dumps(asked.body).encode(), policy.pod_templates)


def answer_review(asked: OfflineReview, hook: Hook, policy: Policy, facts: Facts) -> OfflineResult:
    """
    Answer a review as the server would.

    Raises:
        ReviewError: It is none, or its object is of wrong types.
    """
    request = decode_review(asked, policy)
    verdict = judge(request, hook, policy, facts)
    written: dict[str, Any] = msgspec.json.decode(admission.encode(request, verdict))
    response = written["response"]
    if "patch" in response:
        response["patch"] = msgspec.json.decode(a2b_base64(response["patch"]))
    before = asked.body["request"].get("object")
    after = apply_patch(before, response.get("patch", ()))
    return OfflineResult(request, verdict, written, before, after)


def follow_up_review(asked: OfflineReview, mutated: OfflineResult) -> OfflineReview:
    """Make the review that follows: the same about the object as the first webhook left it."""
    request = {**asked.body["request"], "object": mutated.after}
    return replace(asked, body={**asked.body, "request": request})


def update_review(asked: OfflineReview, old: Document) -> OfflineReview:
    """Make of the review of a creation that of an update from an older object."""
    request = asked.body["request"]
    changed = {
        "operation": UPDATE,
        "oldObject": _in_namespace(old.value, request["namespace"]),
        "options": {**request["options"], "kind": "UpdateOptions"},
    }
    return replace(asked, body={**asked.body, "request": {**request, **changed}})


def _create(document: Document, uid: str) -> dict[str, Any]:
    """
    Make the review that kube-apiserver would send when a manifest is created.

    Source: apiserver pkg/admission/plugin/webhook/request ``CreateV1AdmissionReview``.
    """
    group, _, version = document.api_version.rpartition("/")
    kind = {"group": group, "version": version, "kind": document.kind}
    resource = {"group": group, "version": version, "resource": _resource(document.kind)}
    namespace = document.namespace or NAMESPACE
    request = {
        "uid": uid,
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "name": document.name,
        "namespace": namespace,
        "operation": CREATE,
        "userInfo": USER,
        "object": _in_namespace(document.value, namespace),
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }
    return {"apiVersion": REVIEW_API_VERSION, "kind": REVIEW_KIND, "request": request}


def _resource(kind: str) -> str:
    """The name of a kind in a URL. Source: apimachinery meta ``UnsafeGuessKindToResource``."""
    name = kind.lower()
    if name.endswith("s"):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


def _in_namespace(value: dict[str, Any], namespace: str) -> dict[str, Any]:
    metadata: Any = value.get("metadata") or {}
    if not is_object(metadata):
        return value
    return {**value, "metadata": {**metadata, "namespace": namespace}}
