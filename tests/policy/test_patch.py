import json
from collections.abc import Iterable

import jsonpatch
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.build import pod, spread, template
from webhook.policy.defaulting.inject import InjectedConstraint, Injection, SkipReason
from webhook.policy.model import Constraint, PodTemplate
from webhook.policy.patch import (
    Operation,
    add,
    add_defaults,
    add_rank,
    add_scale_down_label,
    remove,
    replace_defaults,
)
from webhook.policy.paths import format_pointer
from webhook.policy.scaledown.binding import Binding
from webhook.policy.scaledown.ranks import KEEP_SPREAD, SCALE_DOWN_LABEL

LABELS = "/metadata/labels"

WRITTEN = {
    "a value is added": (add("/a", [1]), '{"op":"add","path":"/a","value":[1]}'),
    "null is a value": (add("/a", None), '{"op":"add","path":"/a","value":null}'),
    "a removal has no value": (remove("/a"), '{"op":"remove","path":"/a"}'),
}


@pytest.mark.parametrize(("operation", "text"), WRITTEN.values(), ids=WRITTEN.keys())
def test_an_operation_is_written_as_by_rfc_6902(operation: Operation, text: str) -> None:
    assert msgspec.json.encode(operation).decode() == text


@pytest.mark.parametrize("has_labels", [False, True])
def test_the_label_is_added_to_the_labels_or_with_them(has_labels: bool) -> None:
    (step,) = add_scale_down_label(has_labels=has_labels)

    label = {SCALE_DOWN_LABEL: KEEP_SPREAD}
    members = (
        (f"{LABELS}/evenspread.io~1scale-down", KEEP_SPREAD) if has_labels else (LABELS, label)
    )
    assert step == add(*members)
    assert not [*add_scale_down_label(has_labels=None)]


@given(st.dictionaries(st.text(), st.integers(), max_size=3), st.text(), st.integers())
def test_what_was_added_is_there_and_can_be_removed(
    document: dict[str, int], member: str, value: int
) -> None:
    path = format_pointer((member,))

    added = applied(document, add(path, value))
    removed = applied(added, remove(path))

    assert added == {**document, member: value}
    assert removed == {key: value for key, value in document.items() if key != member}


def applied(document: dict[str, int], operation: Operation) -> dict[str, int]:
    """The document after a step, as an independent library takes it."""
    patch = jsonpatch.JsonPatch(json.loads(msgspec.json.encode([operation])))
    changed: dict[str, int] = patch.apply(document)
    return changed


LIST = "/spec/topologySpreadConstraints"
ANNOTATION = "/metadata/annotations/evenspread.io~1defaults"


def injection(*digests: str, previous: dict[int, str] | None = None) -> Injection:
    """Inject one constraint for each digest, which stands for it in the patch."""
    entries = tuple(
        InjectedConstraint(Constraint(), msgspec.Raw(f'"{digest}"'.encode()), digest)
        for digest in digests
    )
    return Injection(
        skip=SkipReason.NONE,
        entries=entries,
        previous=previous or {},
        annotation=",".join(digests),
    )


def steps(operations: Iterable[Operation]) -> list[tuple[str, str, object]]:
    """Read the steps of a patch as they are sent."""
    patch = json.loads(msgspec.json.encode(list(operations)))
    return [(step["op"], step["path"], step.get("value")) for step in patch]


ADDED: dict[str, tuple[bool, bool, list[tuple[str, str, object]]]] = {
    "neither constraints nor annotations": (
        False, False,
        [
            ("add", LIST, ["a", "b"]),
            ("add", "/metadata/annotations", {"evenspread.io/defaults": "a,b"}),
        ],
    ),
    "constraints and annotations": (
        True, True,
        [("add", f"{LIST}/-", "a"), ("add", f"{LIST}/-", "b"), ("add", ANNOTATION, "a,b")],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("listed", "annotated", "expected"), ADDED.values(), ids=ADDED.keys())
def test_defaults_are_added_to_a_pod_with(
    expected: list[tuple[str, str, object]], *, listed: bool, annotated: bool
) -> None:
    assert steps(add_defaults(injection("a", "b"), listed=listed, annotated=annotated)) == expected


def test_no_defaults_are_no_patch() -> None:
    assert steps(add_defaults(injection(), listed=True, annotated=True)) == []


REPLACED: dict[str, tuple[Injection, str, list[tuple[str, str, object]]]] = {
    "the same again need no step": (injection("a", previous={1: "a"}), "a", []),
    "a lost annotation is written again": (
        injection("a", previous={1: "a"}), "", [("add", ANNOTATION, "a")]
    ),
    "others are replaced from the end of the list": (
        injection("c", previous={0: "a", 1: "b"}), "a,b",
        [
            ("remove", f"{LIST}/1", None), ("remove", f"{LIST}/0", None),
            ("add", f"{LIST}/-", "c"), ("add", ANNOTATION, "c"),
        ],
    ),
    "a whole list is replaced at once": (
        injection("c", previous={0: "a", 1: "b", 2: "d"}), "a,b,d",
        [("add", LIST, ["c"]), ("add", ANNOTATION, "c")],
    ),
    "a whole list is removed with its annotation": (
        injection(previous={0: "a", 1: "b", 2: "d"}), "a,b,d",
        [("remove", LIST, None), ("remove", ANNOTATION, None)],
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("found", "annotation", "expected"), REPLACED.values(), ids=REPLACED.keys()
)
def test_defaults_of_an_earlier_call(
    found: Injection, annotation: str, expected: list[tuple[str, str, object]]
) -> None:
    obj = pod(spread(), spread(), spread(), annotations={"evenspread.io/defaults": annotation})

    assert steps(replace_defaults(template(obj), found)) == expected


def test_a_pod_without_metadata_has_no_annotation_to_compare() -> None:
    found = steps(replace_defaults(PodTemplate(), injection("a", previous={0: "a"})))

    assert found == [("add", ANNOTATION, "a")]


ANNOTATIONS = "/metadata/annotations"
RANK = {"controller.kubernetes.io/pod-deletion-cost": "998000", "evenspread.io/rank": "2"}


@pytest.mark.parametrize(
    ("annotated", "expected"),
    [
        (False, [("add", ANNOTATIONS, RANK)]),
        (
            True,
            [
                ("add", f"{ANNOTATIONS}/controller.kubernetes.io~1pod-deletion-cost", "998000"),
                ("add", f"{ANNOTATIONS}/evenspread.io~1rank", "2"),
            ],
        ),
    ],
)
def test_a_rank_is_added_beside_the_annotations_of_a_binding(
    expected: object, *, annotated: bool
) -> None:
    assert steps(add_rank(Binding("n1", annotated=annotated), 2)) == expected
