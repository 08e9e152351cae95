"""A member that a mapping merges is overridden where others must not change."""

from typing import Any

import pytest
import yaml

from webhook.fix.changes import Change, Move, Put, Remove, Wrap
from webhook.fix.overrides import MOST_COPIED, override_merged
from webhook.manifests.positions import read_tree

TEXT = """\
base: &base {list: [{x: 1, y: 2}], one: 1}
other: &other {more: 3}
a: {<<: *base, own: {x: 1}}
b: {<<: [*base, *other]}
c: *base
"""

# changes, those with the override
OVERRIDES: dict[str, tuple[list[Change], list[Change] | None]] = {
    "a value": ([Put(("a", "list", 0, "x"), 5)], [Put(("a", "list"), [{"x": 5, "y": 2}])]),
    "one of several merges": (
        [Put(("b", "list", 0, "x"), 5)], [Put(("b", "list"), [{"x": 5, "y": 2}])]
    ),
    "two changes": (
        [Put(("a", "list", 0, "x"), 5), Remove(("a", "list", 0, "y"))],
        [Put(("a", "list"), [{"x": 5}])],
    ),
    "beside another change": (
        [Put(("a", "own", "x"), 5), Remove(("a", "list", 0, "y"))],
        [Put(("a", "own", "x"), 5), Put(("a", "list"), [{"x": 1}])],
    ),
    "a renamed member": (
        [Move(("a", "list", 0, "y"), ("a", "list", 0, "z"), 2)],
        [Put(("a", "list"), [{"x": 1, "z": 2}])],
    ),
    "a wrapped member": (
        [Wrap(("a", "list", 0, "y"), "z", 2)], [Put(("a", "list"), [{"x": 1, "z": {"y": 2}}])]
    ),
    "a member that leaves the merged one": (
        [Move(("a", "list", 0, "y"), ("a", "own", "y"), 2)], None
    ),
    "a merged member itself": ([Remove(("a", "one"))], None),
    "a member that is not merged": ([Put(("a", "own", "x"), 5)], None),
    "a member of an alias": ([Put(("c", "list", 0, "x"), 5)], None),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "expected"), OVERRIDES.values(), ids=OVERRIDES.keys())
def test_overrides(changes: list[Change], expected: list[Change] | None) -> None:
    found = override_merged(read_tree(TEXT), changes, (), yaml.safe_load(TEXT))

    assert (found and list(found)) == expected


def test_the_object_itself_may_be_merged() -> None:
    value: Any = yaml.safe_load(TEXT)["a"]["list"]

    assert override_merged(read_tree(TEXT), [Put((0, "x"), 5)], ("a", "list"), value) is None


def test_a_long_member_is_not_copied() -> None:
    text = f"base: &base {{list: {[0] * (MOST_COPIED + 1)}}}\na: {{<<: *base}}\n"

    assert override_merged(
        read_tree(text), [Put(("a", "list", 0), 5)], (), yaml.safe_load(text)
    ) is None  # fmt: skip
