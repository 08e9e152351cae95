"""The review of a Binding: the node, and whether annotations are there."""

from typing import Any

import pytest

from tests.build import NAMESPACE, UID, Json, pod, review_body
from webhook.admission import decode
from webhook.admission.large import LARGE
from webhook.errors import ReviewError
from webhook.policy.kinds import POD
from webhook.policy.model import GroupKind
from webhook.policy.scaledown.binding import Binding
from webhook.policy.scaledown.ranks import DELETION_COST

BINDING = GroupKind("", "Binding")


def bound(obj: Any, **changes: Any) -> bytes:
    """Build the review of a Binding."""
    about: Json = {"subResource": "binding", **changes}
    return review_body(obj, kind=BINDING, **about)


def binding(**metadata: Any) -> Json:
    """Build the Binding of a pod to node n1."""
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "web-1", "namespace": NAMESPACE, **metadata},
        "target": {"kind": "Node", "name": "n1"},
    }


READ: dict[str, tuple[Json, Binding]] = {
    "without annotations": (binding(), Binding("n1")),
    "null annotations": (binding(annotations=None), Binding("n1")),
    "no annotations": (binding(annotations={}), Binding("n1", annotated=True)),
    "other annotations": (binding(annotations={"a": "b"}), Binding("n1", annotated=True)),
    "a cost": (
        binding(annotations={"a": "b", DELETION_COST: "7"}),
        Binding("n1", annotated=True, has_cost=True),
    ),
    "a null cost": (
        binding(annotations={DELETION_COST: None}),
        Binding("n1", annotated=True, has_cost=True),
    ),
    "no target": ({**binding(), "target": None}, Binding("")),
    "a null node": ({**binding(), "target": {"name": None}}, Binding("")),
}


@pytest.mark.parametrize(("obj", "expected"), READ.values(), ids=READ.keys())
def test_a_binding_is_read(obj: Json, expected: Binding) -> None:
    decoded = decode(bound(obj))

    assert decoded.binding == expected
    assert (decoded.uid, decoded.namespace, decoded.name) == (UID, NAMESPACE, "web-1")
    assert (decoded.sub_resource, decoded.dry_run) == ("binding", False)


def test_a_dry_run_is_known() -> None:
    assert decode(bound(binding(), dryRun=True)).dry_run


OTHERS: dict[str, bytes] = {
    "another subresource": bound(binding(), subResource="eviction"),
    "no subresource": bound(binding(), subResource=""),
    "another kind": review_body(pod(), kind=POD, subResource="binding"),
    "another group": review_body(
        binding(), kind=GroupKind("example.io", "Binding"), subResource="binding"
    ),
    "an update": bound(binding(), operation="UPDATE"),
    "no object": bound(None),
    "no metadata": bound({**binding(), "metadata": None}),
    "a long one": bound(binding(annotations={"a": "b" * LARGE})),
}


@pytest.mark.parametrize("body", OTHERS.values(), ids=OTHERS.keys())
def test_nothing_else_is_a_binding(body: bytes) -> None:
    decoded = decode(body)

    assert decoded.binding is None
    assert decoded.uid == UID


@pytest.mark.parametrize(
    "obj",
    [
        {**binding(), "target": "n1"},
        {**binding(), "target": {"name": 1}},
        binding(annotations=[]),
        binding(annotations={DELETION_COST: 1}),
        {**binding(), "metadata": 5},
        5,
    ],
    ids=str,
)
def test_a_binding_of_another_shape_is_refused(obj: Any) -> None:
    with pytest.raises(ReviewError, match="the Binding cannot be read: "):
        decode(bound(obj))
