"""
Reviews without a server: the review of an object in a file, and the server's answer to it.

``build_reviews`` and ``answer_in_turn`` are the entry points. A manifest becomes the
AdmissionReview that kube-apiserver would send when it is created; a recorded review is sent
unchanged. Both are decoded, judged and encoded like any request.
"""

import json
from binascii import a2b_base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from webhook import admission
from webhook.admission.apply_patch import apply_patch
from webhook.admission.encode import REVIEW_API_VERSION, REVIEW_KIND
from webhook.manifests import Document, expand
from webhook.policy.defaulting.profiles import Policy
from webhook.policy.facts import Facts
from webhook.policy.kinds import DEFAULT_NAMESPACE
from webhook.policy.model import GroupKind, group_of
from webhook.policy.paths import FieldPath, find_value, is_object
from webhook.policy.places import TemplatePlaces
from webhook.policy.request import CREATE, UPDATE, AdmissionRequest, Hook
from webhook.policy.verdict import Verdict, judge

USER = {"username": "evenspread", "groups": ["system:authenticated"]}
RECORDED = "review"  # the member of a recording that contains the review

_CALL = "http"  # the member of a recording with the HTTP request line and headers
_VALIDATING = "validat"  # in the path of a call to a validating webhook, ours or another


class OfflineReview(msgspec.Struct, frozen=True):
    """
    A review that is answered offline.

    Attributes:
        document: The object, with its place in its file.
        body: The AdmissionReview.
        recorded: Whether it was recorded, not built from a manifest.
        hook: The webhook that a recorded review was sent to; otherwise the first one.
        creator: The workload whose controller creates the object, as ``Deployment shop/web``; empty
            for an object of a file.
    """

    document: Document
    body: dict[str, Any]
    recorded: bool = False
    hook: Hook = Hook.MUTATE
    creator: str = ""


class OfflineResult(msgspec.Struct, frozen=True):
    """
    The answer to an offline review.

    Attributes:
        hook: The webhook that answered.
        request: The request, as far as it is decoded.
        review: The AdmissionReview of the response; ``response.patch`` is decoded.
        before: The object as sent.
        after: The object with the patch applied.
    """

    hook: Hook
    request: AdmissionRequest
    verdict: Verdict
    review: dict[str, Any]
    before: Any
    after: Any


def unpack_recording(document: Document) -> Iterator[Document]:
    """Extract the review of a recording, ``{http, review}``, or the objects of a list."""
    value: Any = document.value
    held: Any = value.get(RECORDED) if is_object(value) else None
    if document.kind or not is_object(held):
        return expand(document)
    review_and_call = {**held, _CALL: value.get(_CALL)}
    return iter((replace(document, value=review_and_call, path=(*document.path, RECORDED)),))


def build_reviews(
    documents: Iterable[Document], templates: Mapping[GroupKind, TemplatePlaces]
) -> Iterator[OfflineReview]:
    """Build the reviews of recordings and of objects with a pod template; skip other objects."""
    for number, document in enumerate(documents, start=1):
        if document.kind == REVIEW_KIND:
            yield _recorded(document)
        elif GroupKind(group_of(document.api_version), document.kind) in templates:
            yield build_creation(document, f"review-{number}")


def build_creation(document: Document, uid: str, creator: str = "") -> OfflineReview:
    """Build the review of an object that is created; ``creator`` as in ``OfflineReview``."""
    return OfflineReview(document, _create(document, uid), creator=creator)


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


def decode_review(review: OfflineReview, policy: Policy) -> AdmissionRequest:
    """
    Decode a review as the server would.

    Raises:
        ReviewError: It is invalid, or its object has type errors.
    """
    return admission.decode(json.dumps(review.body).encode(), policy.pod_templates)


def answer_review(review: OfflineReview, hook: Hook, policy: Policy, facts: Facts) -> OfflineResult:
    """
    Answer a review as the server would.

    Raises:
        ReviewError: It is invalid, or its object has type errors.
    """
    request = decode_review(review, policy)
    verdict = judge(request, hook, policy, facts)
    written: dict[str, Any] = msgspec.json.decode(admission.encode(request, verdict))
    response = written["response"]
    if "patch" in response:
        response["patch"] = msgspec.json.decode(a2b_base64(response["patch"]))
    before = review.body["request"].get("object")
    after = apply_patch(before, response.get("patch", ()))
    return OfflineResult(hook, request, verdict, written, before, after)


def answer_in_turn(
    review: OfflineReview, hooks: Sequence[Hook], policy: Policy, facts: Facts
) -> tuple[OfflineResult, ...]:
    """
    Answer a review by one webhook after the other until one denies, as kube-apiserver calls them.

    Args:
        hooks: At least one; each receives the object as the previous one changed it.

    Returns:
        At least one answer; only the last one can be a denial.

    Raises:
        ReviewError: The review is invalid, or its object has type errors.
    """
    results = [answer_review(review, hooks[0], policy, facts)]
    for hook in hooks[1:]:
        if not results[-1].verdict.allowed:
            break
        review = follow_up_review(review, results[-1])
        results.append(answer_review(review, hook, policy, facts))
    return tuple(results)


def follow_up_review(review: OfflineReview, mutated: OfflineResult) -> OfflineReview:
    """Build the review that the second webhook gets: of the object as the first one patched it."""
    request = {**review.body["request"], "object": mutated.after}
    return replace(review, body={**review.body, "request": request})


def update_review(review: OfflineReview, old: Document) -> OfflineReview:
    """Turn the review of a creation into that of an update from an older object."""
    request = review.body["request"]
    changed = {
        "operation": UPDATE,
        "oldObject": _in_namespace(old.value, request["namespace"]),
        "options": {**request["options"], "kind": "UpdateOptions"},
    }
    return replace(review, body={**review.body, "request": {**request, **changed}})


def _create(document: Document, uid: str) -> dict[str, Any]:
    """
    Build the review that kube-apiserver would send when a manifest is created.

    Source: apiserver pkg/admission/plugin/webhook/request ``CreateV1AdmissionReview``.
    """
    group, _, version = document.api_version.rpartition("/")
    kind = {"group": group, "version": version, "kind": document.kind}
    resource = {"group": group, "version": version, "resource": _resource(document.kind)}
    namespace = document.namespace or DEFAULT_NAMESPACE
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
    """The resource name of a kind. Source: apimachinery meta ``UnsafeGuessKindToResource``."""
    name = kind.lower()
    if name.endswith("s"):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


def _in_namespace(value: dict[str, Any], namespace: str) -> dict[str, Any]:
    metadata: Any = value.get("metadata") or {}
    if not is_object(metadata):
        return value
    return {**value, "metadata": {**metadata, "namespace": namespace}}
