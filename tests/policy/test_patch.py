import json

import jsonpatch
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.policy.patch import Operation, add, remove
from webhook.policy.paths import format_pointer

WRITTEN = {
    "a value is added": (add("/a", [1]), '{"op":"add","path":"/a","value":[1]}'),
    "null is a value": (add("/a", None), '{"op":"add","path":"/a","value":null}'),
    "a removal has no value": (remove("/a"), '{"op":"remove","path":"/a"}'),
}


@pytest.mark.parametrize(("operation", "text"), WRITTEN.values(), ids=WRITTEN.keys())
def test_an_operation_is_written_as_by_rfc_6902(operation: Operation, text: str) -> None:
    assert msgspec.json.encode(operation).decode() == text


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
