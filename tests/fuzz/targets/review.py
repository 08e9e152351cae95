"""
The decoder of reviews, and the verdict on what it decodes.

Expected: a ``ReviewError`` without text of the input, or a request with what Python's json module
reads; a verdict by both webhooks, in JSON; a patch that applies, after which nothing is patched.
"""

import json
import zlib
from base64 import b64decode
from pathlib import Path
from typing import Any

import jsonpatch

from tests import build
from tests.fuzz.targets import expect
from tests.fuzz.targets.jsontext import AmbiguousError, member, read
from tests.fuzz.targets.vocabulary import foreign_words
from webhook.admission import decode, encode
from webhook.admission.large import LARGE
from webhook.errors import ReviewError
from webhook.policy.defaulting.profiles import FieldDefaults
from webhook.policy.facts import ServiceSelector
from webhook.policy.kinds import BUILT_IN_TEMPLATES, SHIPPED_TEMPLATES
from webhook.policy.model import Constraint, GroupKind, LabelSelector, Node
from webhook.policy.paths import CONSTRAINTS_IN_POD, LIST_NAME, FieldPath, is_constraint_list
from webhook.policy.places import ENTRIES, TemplatePatterns
from webhook.policy.request import LONGEST_NAME, AdmissionRequest, Hook
from webhook.policy.verdict import judge

ROOT = Path(__file__).parents[3]
SOURCES = tuple(
    ROOT / "webhook" / path
    for path in (
        "admission/decode.py", "admission/custom.py", "admission/large.py", "admission/encode.py",
        "policy/nesting.py", "policy/model.py", "policy/places.py", "policy/workloads.py",
    )
)  # fmt: skip
"""The modules whose words an error may contain."""

PADDED = 16  # one of so many inputs is read as a large review, too

TEMPLATES = {
    **BUILT_IN_TEMPLATES,
    **SHIPPED_TEMPLATES,
    GroupKind("example.io", "Fleet"): ("spec", "groups", "pod"),
    GroupKind("postgresql.cnpg.io", "Cluster"): ("spec", LIST_NAME),
    GroupKind("example.io", "Herd"): TemplatePatterns(
        (("spec", "groups", ENTRIES, "template"), ("spec", "sets", ENTRIES, LIST_NAME))
    ),
}
POLICIES = (
    build.policy(build.profile()),
    build.policy(
        build.profile(),
        gates=build.gates(
            MatchLabelKeysInPodTopologySpread=False,
            MatchLabelKeysInPodTopologySpreadSelectorMerge=False,
        ),
        field_defaults=FieldDefaults.WHEN_UNSATISFIABLE,
    ),
)
FACTS = build.FakeFacts(
    services_of={"shop": [ServiceSelector("web", {"app": "web"}), ServiceSelector("all", {})]},
    owners={("shop", "apps/v1", "ReplicaSet", "web-54f7"): LabelSelector({"app": "web"})},
    namespaces={"shop": {"team": "a"}},
    nodes=[Node("a", {"topology.kubernetes.io/zone": "a", "kubernetes.io/hostname": "a"})],
)

TOKENS = (
    b'"apiVersion":"admission.k8s.io/v1"', b'"kind":"AdmissionReview"', b'"request":{', b'"uid"',
    b'"kind":{"group":"apps","version":"v1","kind":"Deployment"}', b'"kind":"Pod"',
    b'"operation":"CREATE"', b'"operation":"UPDATE"', b'"namespace":"shop"', b'"name"',
    b'"subResource":"status"', b'"object":{', b'"oldObject":null', b'"metadata":{', b'"labels":{',
    b'"annotations":{"evenspread.io/defaults":"', b'"ownerReferences":[{', b'"controller":true',
    b'"spec":{', b'"template":{', b'"jobTemplate":{', b'"topologySpreadConstraints":[{',
    b'"maxSkew":1', b'"topologyKey":"topology.kubernetes.io/zone"', b'"whenUnsatisfiable"',
    b'"DoNotSchedule"', b'"ScheduleAnyway"', b'"labelSelector":{', b'"matchLabels":{',
    b'"matchExpressions":[{', b'"operator":"In"', b'"values":[', b'"minDomains":',
    b'"nodeAffinityPolicy":"Honor"', b'"nodeTaintsPolicy":"Ignore"', b'"matchLabelKeys":["app"]',
    b'"nodeName"', b'"schedulerName"', b"null", b"true", b"2147483648", b"-1", b"1.0", b"1e400",
    b'"\\ud800"', b'"\\u0000"', b"[[[[[[[[", b"{}", b"[]", b'""', b"argoproj.io", b"Rollout",
    b'"kind":{"group":"jobset.x-k8s.io","version":"v1alpha2","kind":"JobSet"}',
    b'"kind":{"group":"postgresql.cnpg.io","version":"v1","kind":"Cluster"}',
    b'"replicatedJobs":[{', b'"leaderWorkerTemplate":{', b'"workerTemplate":{', b'"sets":[{',
)  # fmt: skip


def check(data: bytes) -> None:
    """Decode a review, and judge it."""
    try:
        request = decode(data, TEMPLATES)
    except ReviewError as error:
        _check_refusal(data, error)
        request = None
    if zlib.crc32(data) % PADDED == 0:
        _check_padded(data, request)
    if request is None:
        return
    value = _read(data)
    if value is not None:
        _check_reading(request, value)
    for policy in POLICIES:
        for hook in Hook:
            answered = json.loads(encode(request, judge(request, hook, policy, FACTS)))["response"]
            expect(answered["uid"] == request.uid, "the response has another uid")
            if "patch" in answered:
                expect(hook is Hook.MUTATE, "the validating webhook patches")
                _check_patch(data, json.loads(b64decode(answered["patch"])), policy)


def _read(data: bytes) -> Any:
    try:
        return read(data)
    except (AmbiguousError, ValueError, RecursionError):
        return None


def _check_refusal(data: bytes, error: ReviewError) -> None:
    foreign = foreign_words(str(error), SOURCES)
    expect(not foreign, f"the error repeats the input: {foreign}")
    value = _read(data)
    request = member(value, "request")
    is_plain = (
        member(value, "kind") == "AdmissionReview"
        and member(value, "apiVersion") == "admission.k8s.io/v1"
        and isinstance(uid := member(request, "uid"), str)
        and uid.isascii()
        and uid.replace("-", "").isalnum()
        and len(uid) <= 128
        and all(
            isinstance(member(request, name), str | None)
            for name in ("operation", "namespace", "name", "subResource")
        )
        and isinstance(member(request, "kind"), dict | None)
        and all(isinstance(member(request, "kind", name), str | None) for name in ("group", "kind"))
    )
    kind = (
        GroupKind(member(request, "kind", "group") or "", member(request, "kind", "kind") or "")
        if is_plain
        else None
    )
    is_judged = kind in TEMPLATES and member(request, "operation") in ("CREATE", "UPDATE")
    expect(not is_plain or is_judged, f"a review with nothing to judge is refused: {error}")


def _check_padded(data: bytes, request: AdmissionRequest | None) -> None:
    """Compare with the way that large reviews take: blanks change no verdict."""
    try:
        padded = decode(data + b" " * LARGE, TEMPLATES)
    except ReviewError:
        expect(request is None, "a large review is refused, the same small one is not")
        return
    if request is None:
        expect(False, "a small review is refused, the same large one is not")
        return
    same = _identity(padded) == _identity(request) and _verdicts(padded) == _verdicts(request)
    expect(same, "a large review gets another verdict than the same small one")


def _identity(request: AdmissionRequest) -> Any:
    return (
        request.uid, request.kind, request.operation, request.namespace, request.name,
        request.sub_resource, request.dry_run, bool(request.unreadable),
    )  # fmt: skip


def _verdicts(request: AdmissionRequest) -> Any:
    verdicts = [judge(request, hook, policy, FACTS) for policy in POLICIES for hook in Hook]
    return [(verdict.allowed, verdict.code, verdict.patch) for verdict in verdicts]


def _check_reading(request: AdmissionRequest, value: Any) -> None:
    written = member(value, "request")
    expect(request.uid == member(written, "uid"), "another uid")
    expect(request.kind.kind == (member(written, "kind", "kind") or ""), "another kind")
    expect(request.kind.group == (member(written, "kind", "group") or ""), "another group")
    expect(request.operation == (member(written, "operation") or ""), "another operation")
    expect(
        request.namespace == (member(written, "namespace") or "")[:LONGEST_NAME],
        "another namespace",
    )
    for template in (request, *request.siblings):
        _check_template(template, written)


def _check_template(request: AdmissionRequest, written: Any) -> None:
    if request.template is None or request.path is None:
        return
    found, path = request.template, request.path
    if not is_constraint_list(path):
        pod = member(written, "object", *path)
        expect(isinstance(pod, dict), "a pod template where there is none")
        _check_labels(found.labels, member(pod, "metadata", "labels"))
    _check_constraints(found.constraints, _written_list(written, "object", path))
    if request.old is not None:
        old_path = path if request.old_path is None else request.old_path
        _check_constraints(request.old.constraints, _written_list(written, "oldObject", old_path))


def _written_list(written: Any, name: str, path: FieldPath) -> Any:
    inside = () if is_constraint_list(path) else CONSTRAINTS_IN_POD
    return member(written, name, *path, *inside)


def _check_labels(found: dict[str, str], written: Any) -> None:
    expect(found == {key: text or "" for key, text in (written or {}).items()}, "other labels")


def _check_constraints(found: tuple[Constraint, ...], written: Any) -> None:
    expect(len(found) == len(written or ()), "another number of constraints")
    entries: list[Any] = [entry or {} for entry in written or ()]
    for constraint, entry in zip(found, entries, strict=True):
        pairs = (
            (constraint.max_skew, entry.get("maxSkew") or 0),
            (constraint.topology_key, entry.get("topologyKey") or ""),
            (constraint.when_unsatisfiable, entry.get("whenUnsatisfiable") or ""),
            (constraint.min_domains, entry.get("minDomains")),
            (constraint.node_affinity_policy, entry.get("nodeAffinityPolicy")),
            (constraint.node_taints_policy, entry.get("nodeTaintsPolicy")),
            (list(constraint.match_label_keys), _texts(entry.get("matchLabelKeys"))),
            (_selector(constraint.label_selector), _written_selector(entry.get("labelSelector"))),
        )
        for read_value, written_value in pairs:
            expect(read_value == written_value, f"{read_value!r} is not {written_value!r}")


def _texts(written: Any) -> list[str]:
    return [text or "" for text in written or ()]


def _selector(selector: LabelSelector | None) -> Any:
    if selector is None:
        return None
    return selector.match_labels, [
        (item.key, item.operator, list(item.values)) for item in selector.match_expressions
    ]


def _written_selector(written: Any) -> Any:
    if written is None:
        return None
    pairs = {key: text or "" for key, text in (written.get("matchLabels") or {}).items()}
    items = [item or {} for item in written.get("matchExpressions") or ()]
    return pairs, [
        (item.get("key") or "", item.get("operator") or "", _texts(item.get("values")))
        for item in items
    ]


def _check_patch(data: bytes, operations: list[Any], policy: Any) -> None:
    value = _read(data)
    if value is None:
        return
    before = value["request"]["object"]
    value["request"]["object"] = jsonpatch.apply_patch(before, operations, in_place=True)
    try:
        written = json.dumps(value)
    except RecursionError:
        return  # it is too deep for this writer
    again = decode(written.encode(), TEMPLATES)
    verdict = judge(again, Hook.MUTATE, policy, FACTS)
    expect(verdict.allowed, f"the patched object is denied: {verdict.message}")
    expect(not verdict.patch, f"the patched object is patched again: {verdict.patch}")
