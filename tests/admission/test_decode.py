import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from tests.build import (
    NAMESPACE,
    UID,
    Json,
    deployment,
    facts,
    job_set,
    pod,
    policy,
    request,
    review_body,
    spread,
    template,
    workload,
)
from webhook.admission import decode
from webhook.admission.custom import template_in
from webhook.admission.large import LARGE, MOST_MEMBERS
from webhook.errors import ReviewError
from webhook.policy.kinds import BUILT_IN_TEMPLATES, JOB_SET, POD, SHIPPED_TEMPLATES
from webhook.policy.model import GroupKind, PodTemplate
from webhook.policy.request import AdmissionRequest, Hook
from webhook.policy.scaledown.binding import Binding
from webhook.policy.verdict import UNTOUCHED, judge

RECORDED = sorted((Path(__file__).parents[1] / "recorded").glob("*.json"))

ROLLOUT = GroupKind("argoproj.io", "Rollout")
CLONE_SET = GroupKind("apps.kruise.io", "Sidecar")
TEMPLATES = {
    **BUILT_IN_TEMPLATES,
    ROLLOUT: ("spec", "template"),
    CLONE_SET: ("spec", "pod", "template"),
}


@pytest.mark.parametrize("kind", BUILT_IN_TEMPLATES, ids=str)
def test_an_object_of_a_built_in_kind_is_read(kind: GroupKind) -> None:
    obj = pod(spread()) if kind == POD else workload(kind, spread())

    body = review_body(obj, name="web")

    assert decode(body) == request(obj, name="web", body=body)


def test_an_update_has_the_object_that_it_replaces() -> None:
    body = review_body(deployment(), old=deployment(spread()), name="web")

    assert decode(body) == request(deployment(), old=deployment(spread()), body=body)


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_a_recorded_review_is_read(file: Path) -> None:
    review = json.loads(file.read_bytes())["review"]
    sent = review["request"]

    decoded = decode(json.dumps(review).encode())

    assert decoded.uid == sent["uid"]
    assert str(decoded.kind).startswith(sent["kind"]["kind"])
    assert decoded.operation == sent["operation"]
    assert bool(decoded.sub_resource) == ("subResource" in sent)


def test_there_are_recorded_reviews() -> None:
    assert len(RECORDED) == 38


UNTOUCHED_BODIES: dict[str, bytes] = {
    "another kind": review_body(None, kind=GroupKind("", "Node")),
    "another kind of any shape": review_body({"spec": 1}, kind=GroupKind("", "Node")),
    "a deletion": review_body(None, old=pod(spread()), operation="DELETE"),
    "a subresource": review_body(pod(spread()), subResource="resize"),
    "a subresource of another shape": review_body({"spec": 1}, kind=POD, subResource="scale"),
    "a connection": review_body({"spec": 1}, kind=POD, operation="CONNECT"),
}


@pytest.mark.parametrize("body", UNTOUCHED_BODIES.values(), ids=UNTOUCHED_BODIES.keys())
def test_of_what_does_not_concern_us_no_more_is_read_than_its_name(body: bytes) -> None:
    decoded = decode(body)

    assert (decoded.uid, decoded.namespace, decoded.name) == (
        UID,
        NAMESPACE,
        "web-1",
    )
    assert decoded.path is None
    assert (decoded.template, decoded.old, decoded.metadata) == (
        None,
        None,
        None,
    )
    assert judge(decoded, Hook.MUTATE, policy(), facts()) is UNTOUCHED


@pytest.mark.parametrize("obj", [pod(), {**pod(), "spec": []}], ids=["readable", "unreadable"])
def test_null_members_are_empty(obj: Json) -> None:
    body = review_body(obj, kind=POD, operation=None, namespace=None, name=None, subResource=None)

    decoded = decode(body)

    named = (
        decoded.operation,
        decoded.namespace,
        decoded.name,
        decoded.sub_resource,
    )
    assert named == ("", "", "", "")


OF_POD = b'"kind":{"group":"","version":"v1","kind":"Pod"},'


def test_a_custom_kind_without_a_name_is_shown_by_its_prefix() -> None:
    obj = {**deployment(), "metadata": {"generateName": "web-"}}

    decoded = decode(review_body(obj, kind=ROLLOUT, name=None), TEMPLATES)

    assert decoded.shown_name == "web-"


@pytest.mark.parametrize(
    "body",
    [
        review_body(pod()).replace(
            b'"kind":{"group":"","version":"v1","kind":"Pod"}', b'"kind":null'
        ),
        review_body(pod()).replace(b'"kind":{"group":"","version":"v1","kind":"Pod"},', b""),
    ],
    ids=["null", "absent"],
)
def test_a_review_without_a_kind_has_no_rules_to_apply(body: bytes) -> None:
    assert decode(body).kind == GroupKind("", "")


@pytest.mark.parametrize("group", [b'"group":null,', b""], ids=["null", "absent"])
def test_a_kind_without_a_group_is_one_of_the_core_group(group: bytes) -> None:
    body = review_body(pod()).replace(b'"kind":{"group":"",', b'"kind":{' + group)

    assert decode(body).kind == POD


def test_a_custom_kind_on_a_built_in_path_is_read() -> None:
    decoded = decode(review_body(deployment(spread()), kind=ROLLOUT), TEMPLATES)

    assert decoded.kind == ROLLOUT
    assert decoded.template == template(deployment(spread()))
    assert not decoded.built_in


def nested(inner: Any) -> Json:
    return {"metadata": {"name": "web"}, "spec": {"pod": {"template": inner}}}


def test_a_custom_kind_on_its_own_path_is_read() -> None:
    obj, old = nested(pod(spread())), nested(pod())

    decoded = decode(review_body(obj, old=old, kind=CLONE_SET), TEMPLATES)

    assert decoded.template == msgspec.convert(pod(spread()), PodTemplate)
    assert decoded.old == msgspec.convert(pod(), PodTemplate)
    assert decoded.metadata is not None
    assert decoded.metadata.name == "web"
    assert decoded.path == ("spec", "pod", "template")


BAD_SPEC = {"spec": {"topologySpreadConstraints": [{"maxSkew": "1"}]}}
PROBLEM = "Expected int, got str - at $.spec.topologySpreadConstraints[0].maxSkew"

CUSTOM: dict[str, tuple[Any, Any, str, bool]] = {
    "a wrong type in the template": (nested(BAD_SPEC), nested(pod()), PROBLEM, False),
    "a wrong type in both": (nested(BAD_SPEC), nested(BAD_SPEC), PROBLEM, True),
    "a wrong type in the old one": (nested(pod()), nested(BAD_SPEC), "", True),
    "a wrong type on the way": ({"spec": {"pod": []}}, None, "Expected object, got array", False),
    "wrong metadata": ({"metadata": 1}, None, "Expected object, got int - at $.metadata", False),
    "nothing at all": (None, None, "", False),
}


@pytest.mark.parametrize(
    ("obj", "old", "unreadable", "old_unreadable"), CUSTOM.values(), ids=CUSTOM.keys()
)
def test_an_unreadable_custom_kind_is_reported(
    obj: Any, old: Any, unreadable: str, old_unreadable: bool
) -> None:
    body = review_body(obj, old=old, kind=CLONE_SET, operation="UPDATE")

    decoded = decode(body, TEMPLATES)

    assert decoded.unreadable == unreadable
    assert decoded.old_unreadable is (old_unreadable if obj is not None else False)


ON_THE_WAY: dict[str, tuple[bytes, tuple[str, ...], PodTemplate | None]] = {
    "no object": (b"null", (), None),
    "no object, with a path": (b"null", ("spec",), None),
    "a missing member": (b'{"spec":{}}', ("spec", "template"), None),
    "a null on the way": (b'{"spec":null}', ("spec", "template"), None),
    "a null at the end": (b'{"spec":null}', ("spec",), None),
    "an empty template": (b'{"spec":{}}', ("spec",), PodTemplate()),
}


@pytest.mark.parametrize(("obj", "path", "found"), ON_THE_WAY.values(), ids=ON_THE_WAY.keys())
def test_the_template_is_found_along_its_path(
    obj: bytes, path: tuple[str, ...], found: PodTemplate | None
) -> None:
    assert template_in(msgspec.Raw(obj), path) == found


GOOD = review_body(pod())
NO_UID = "request.uid is missing, or not of 1 to 128 letters, digits, '-._:'"

REFUSED: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "the body is no JSON: Input data was truncated"),
    "no JSON": (b"x", "the body is no JSON: JSON is malformed: invalid character (byte 0)"),
    "no UTF-8": (b'"\xff"', "the body is no JSON: not valid UTF-8"),
    "no UTF-8 in what is passed over": (
        GOOD.replace(b'"web-1"', b'"web-1","x":"\xff"'),
        "the body is no JSON: not valid UTF-8",
    ),
    "a deep nest": (
        GOOD.replace(b'"spec":{}', b'"spec":{"x":' + b"[" * 10_100 + b"]" * 10_100 + b"}"),
        "the body is no AdmissionReview: nested more than 10100 levels deep",
    ),
    "a deep nest beside a wrong type": (
        GOOD.replace(b'"spec":{}', b'"spec":[],"x":' + b"[" * 5000 + b"]" * 5000),
        "the object cannot be read: Expected object, got array - at $.spec",
    ),
    "an array": (b"[]", "the body is no AdmissionReview: Expected object, got array"),
    "another kind": (
        GOOD.replace(b'"AdmissionReview"', b'"Pod"'),
        "the body is no AdmissionReview",
    ),
    "another version": (
        GOOD.replace(b"admission.k8s.io/v1", b"admission.k8s.io/v1beta1"),
        "the AdmissionReview is not of admission.k8s.io/v1, the only version served",
    ),
    "no request": (
        b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}',
        "the AdmissionReview has no request",
    ),
    "no request, beside a wrong type": (
        b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"object":1}}',
        NO_UID,
    ),
    "no uid": (review_body(pod(), uid=None), NO_UID),
    "an uid with a line break": (review_body(pod(), uid="a\nb"), NO_UID),
    "an uid of 129 characters": (review_body(pod(), uid="a" * 129), NO_UID),
    "a wrong type in a built-in kind": (
        review_body({**pod(), **BAD_SPEC}),
        f"the object cannot be read: {PROBLEM}",
    ),
    "a wrong type in the envelope": (
        review_body(pod(), namespace=1),
        "the body is no AdmissionReview: Expected str, got int - at $.request.namespace",
    ),
}


@pytest.mark.parametrize(("body", "sentence"), REFUSED.values(), ids=REFUSED.keys())
def test_a_body_is_refused(body: bytes, sentence: str) -> None:
    with pytest.raises(ReviewError) as raised:
        decode(body)

    assert str(raised.value) == sentence
    assert raised.value.status == 400


@given(
    st.integers(0, len(GOOD) - 1),
    st.integers(0, 40),
    st.binary(max_size=4) | st.sampled_from([b"null", b"[]", b"{", b'"\\ud800"', b"\\", b"1e999"]),
    st.sampled_from([BUILT_IN_TEMPLATES, {**BUILT_IN_TEMPLATES, POD: ("spec",)}]),
)
def test_whatever_is_written_into_a_body_it_is_read_or_refused(
    place: int, length: int, written: bytes, templates: dict[GroupKind, tuple[str, ...]]
) -> None:
    body = GOOD[:place] + written + GOOD[place + length :]

    with suppress(ReviewError):
        assert isinstance(decode(body, templates), AdmissionRequest)


@given(strategies.pods)
def test_any_pod_is_read_as_itself(obj: Json) -> None:
    assert decode(review_body(obj)).template == template(obj)


@given(strategies.pods)
def test_both_ways_of_reading_read_the_same(obj: Json) -> None:
    """A custom kind goes the closer way, if its path is none of a built-in kind."""
    held = {"spec": {"pod": {"template": obj}}}

    assert decode(review_body(held, kind=CLONE_SET), TEMPLATES).template == msgspec.convert(
        obj, PodTemplate
    )


def padded(obj: Json) -> Json:
    """The same object with metadata that no rule reads and that make its review large."""
    return {**obj, "metadata": {**obj["metadata"], "managedFields": [{"x": "y" * LARGE}]}}


@pytest.mark.parametrize("obj", [pod(), padded(pod()), {}], ids=["short", "large", "custom"])
def test_a_dry_run_is_read(obj: Json) -> None:
    kind = POD if obj else CLONE_SET

    assert decode(review_body(obj, kind=kind, dryRun=True), TEMPLATES).dry_run
    reals: tuple[Json, ...] = ({"dryRun": False}, {"dryRun": None}, {})
    for real in reals:
        assert not decode(review_body(obj, kind=kind, **real), TEMPLATES).dry_run


def test_of_a_large_review_the_parts_that_rules_read_are_decoded() -> None:
    decoded = decode(review_body(padded(deployment(spread()))))

    assert decoded.template == template(deployment(spread()))


def test_a_large_review_of_a_kind_without_a_template_is_only_identified() -> None:
    decoded = decode(review_body(padded(pod()), kind=GroupKind("", "ConfigMap")))

    assert (decoded.kind, decoded.template) == (
        GroupKind("", "ConfigMap"),
        None,
    )


def test_a_large_review_with_a_type_error_is_refused() -> None:
    with pytest.raises(ReviewError, match="the object cannot be read: Expected object"):
        decode(review_body({**padded(pod()), "spec": 5}))


def test_a_review_of_too_many_members_is_not_decoded() -> None:
    labels = {f"{number}": "" for number in range(MOST_MEMBERS // 2)}

    decoded = decode(review_body({**pod(), "metadata": {"labels": labels}}))

    assert decoded.unreadable == f"what is read of it has more than {MOST_MEMBERS} members"


def test_a_review_of_too_many_members_has_no_path_if_its_kind_has_several() -> None:
    labels = {f"{number}": "" for number in range(MOST_MEMBERS // 2)}
    obj = {**job_set(a=[]), "metadata": {"labels": labels}}

    decoded = decode(review_body(obj, kind=JOB_SET), SHIPPED_TEMPLATES)

    assert decoded.path == ()
    assert decoded.unreadable


def test_of_a_binding_the_node_is_read() -> None:
    about: Json = {"subResource": "binding"}
    obj = {"apiVersion": "v1", "kind": "Binding", "metadata": {}, "target": {"name": "n1"}}
    found = decode(review_body(obj, kind=GroupKind("", "Binding"), **about))

    assert found.binding == Binding("n1")
    with pytest.raises(ReviewError, match="the Binding cannot be read"):
        decode(review_body({**obj, "target": 1}, kind=GroupKind("", "Binding"), **about))
