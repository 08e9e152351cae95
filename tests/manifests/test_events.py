"""Bounds of the walk over YAML events."""

import time
from typing import Any

from webhook.manifests import (
    Document,
    parse,
)
from webhook.manifests.events import MOST_ALIASED_VALUES, MOST_LEVELS, TOO_DEEP


def values(text: str, *, unique_keys: bool = False) -> list[Any]:
    read = list(parse(text, "x.yaml", unique_keys=unique_keys))
    return [item.value if isinstance(item, Document) else str(item) for item in read]


def test_nesting_of_yaml_has_a_bound() -> None:
    depth = MOST_LEVELS - 1
    text = "[" * depth + "1" + "]" * depth

    assert not isinstance(values(f"- {text}")[0], str)
    assert isinstance(values(f"- [{text}]")[0], str)


def test_aliases_of_aliases_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 9)]

    (message,) = values("\n".join(lines))

    problem = f"aliases add more than {MOST_ALIASED_VALUES} values: write them out"
    assert message == f"x.yaml:6: {problem}"


UNKNOWN = "an alias of no earlier anchor in this document: an anchor ends with its document"


def test_an_alias_needs_an_earlier_anchor() -> None:
    assert values("a: 1\nb: *c\n") == [f"x.yaml:2: *c is {UNKNOWN}"]


def test_an_anchor_ends_with_its_document() -> None:
    text = "a: &c {d: 1}\nb: *c\n---\nb: *c\n"

    assert values(text) == [{"a": {"d": 1}, "b": {"d": 1}}, f"x.yaml:4: *c is {UNKNOWN}"]


def test_deep_text_is_refused_before_it_is_read() -> None:
    started = time.process_time()

    assert values("- " * 50_000) == values("? " * 50_000) == [f"x.yaml:1: {TOO_DEEP}"]

    assert time.process_time() - started < 5.0  # 60 s if all tokens are read first
