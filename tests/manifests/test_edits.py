from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.manifests.edits import Edit, apply, before, overlap

TEXT = "0123456789"


def test_parts_are_replaced_from_left_to_right() -> None:
    edits = [Edit(7, 9, ""), Edit(2, 2, "ab"), Edit(4, 5, "x")]

    assert apply(edits, TEXT) == "01ab23x569"


def test_a_part_of_a_text_is_edited_where_it_stands() -> None:
    assert apply([Edit(0, 1, "x").moved(3)], TEXT) == "012x456789"


OVERLAPPING = {
    "equal": (Edit(1, 2, "x"), Edit(1, 2, "x"), False),
    "the same place": (Edit(1, 1, "x"), Edit(1, 1, "y"), True),
    "crossing": (Edit(1, 4, ""), Edit(3, 5, ""), True),
    "one within the other": (Edit(1, 4, ""), Edit(2, 2, "x"), True),
    "one after the other": (Edit(1, 4, ""), Edit(4, 5, ""), False),
}


@pytest.mark.parametrize(("one", "other", "met"), OVERLAPPING.values(), ids=OVERLAPPING.keys())
def test_edits_may_overlap(one: Edit, other: Edit, met: bool) -> None:
    assert overlap(one, other) is met
    assert overlap(other, one) is met


@st.composite
def apart(draw: st.DrawFn) -> list[Edit]:
    """Edits of ``TEXT`` that do not overlap, in order."""
    ends = sorted(draw(st.sets(st.integers(0, 10), max_size=6)))
    pairs = zip(ends[::2], ends[1::2], strict=False)
    return [Edit(start, end, draw(st.text("xy", max_size=4))) for start, end in pairs]


@given(apart())
def test_what_was_not_edited_is_found_where_it_was(edits: Sequence[Edit]) -> None:
    edited = apply(edits, TEXT)

    for position, character in enumerate(edited):
        found = before(edits, position)
        if character.isdigit():
            assert TEXT[found] == character
        else:
            assert found in {edit.start for edit in edits}
