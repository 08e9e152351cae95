from typing import Any

import jsonpatch
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.admission.apply_patch import apply_patch
from webhook.policy.paths import format_pointer

coins: st.SearchStrategy[Any] = st.booleans()
scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
objects = st.dictionaries(
    st.text("ab~/1", max_size=3),
    st.recursive(
        scalars,
        lambda inner: st.lists(inner) | st.dictionaries(st.text("ab~/", max_size=3), inner),
        max_leaves=6,
    ),
    max_size=3,
)


@st.composite
def operations(draw: st.DrawFn, value: Any) -> dict[str, Any]:
    """Draw one that applies."""
    path: list[str | int] = []
    while True:
        steps: list[str | int] = list(value) if isinstance(value, dict) else [*range(len(value))]
        inner = [s for s in steps if isinstance(value[s], dict | list)]
        if inner and draw(coins):
            path.append(draw(st.sampled_from(inner)))
            value = value[path[-1]]
            continue
        if steps and draw(coins):
            return {"op": "remove", "path": format_pointer([*path, draw(st.sampled_from(steps))])}
        new: list[str | int] = ["new", *steps] if isinstance(value, dict) else ["-", *steps]
        last = draw(st.sampled_from(new))
        return {"op": "add", "path": format_pointer([*path, last]), "value": draw(scalars)}


@given(st.data(), objects)
def test_patches_apply_as_everywhere(data: st.DataObject, value: dict[str, Any]) -> None:
    operation = data.draw(operations(value))
    before = msgspec.json.encode(value)

    after = apply_patch(value, [operation])

    assert after == jsonpatch.apply_patch(value, [operation])
    assert msgspec.json.encode(value) == before


# what does not apply
UNFIT: dict[str, dict[str, Any]] = {
    "no such member": {"op": "remove", "path": "/b"},
    "no such parent": {"op": "add", "path": "/b/c", "value": 1},
    "no such item": {"op": "remove", "path": "/list/7"},
    "below a scalar": {"op": "add", "path": "/a/b", "value": 1},
}


@pytest.mark.parametrize("operation", UNFIT.values(), ids=UNFIT.keys())
def test_patch_that_does_not_apply(operation: dict[str, Any]) -> None:
    with pytest.raises(LookupError):
        apply_patch({"a": 1, "list": []}, [operation])
