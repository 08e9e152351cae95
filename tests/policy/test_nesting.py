import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.policy.nesting import (
    DEEPEST,
    KEPT_LEVELS,
    NestingError,
    decode_nested,
    decoding,
    finish,
    prune,
)


class Named(msgspec.Struct):
    name: str


decode_name = msgspec.json.Decoder(Named).decode


def deep(levels: int) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


DEEP = {
    "before what is read": b'{"x":%b,"name":"a"}',
    "after what is read": b'{"name":"a","x":%b}',
    "in a list": b'{"x":[1,{"y":%b}],"name":"a"}',
}


@pytest.mark.parametrize("around", DEEP.values(), ids=DEEP)
@pytest.mark.parametrize("levels", [10, 900, 990, 1000, 5000, 10_000, 100_000])
def test_what_is_read_is_decoded_whatever_stands_beside_it(around: bytes, levels: int) -> None:
    text = around % deep(levels)

    assert decode_nested(decode_name, text).name == "a"
    assert decode_nested(decode_name, msgspec.Raw(text)).name == "a"
    assert finish(decoding(decode_name, text)).name == "a"


def test_brackets_in_strings_are_no_levels() -> None:
    text = json.dumps({"name": "[{" * 20_000 + '\\"[', "x": ["]", "}}", "\\"]}).encode()

    assert prune(text, deepest=2) == text


def test_the_number_of_levels_can_be_bounded() -> None:
    assert prune(deep(DEEPEST), DEEPEST)
    with pytest.raises(NestingError, match="nested more than 10100 levels deep"):
        prune(deep(DEEPEST + 1), DEEPEST)


def test_long_work_is_done_in_short_steps() -> None:
    steps = sum(1 for _ in decoding(decode_name, b'{"name":"a","x":%b}' % deep(10_000)))

    assert steps == 41  # of 500 tokens: three a level


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"name":"a","x":' + b'{"a":' * 5000,
        b"[" * 5000 + b"]" * 4000,
        b"[" * 5000 + b'"' + b'\\"' * 100_000,  # a string without end, and a quote in every pair
        b"[" * 5000 + b'"' + b"\\" * 100_001,
    ],
    ids=["arrays", "objects", "behind a name", "partly closed", "quotes", "backslashes"],
)
def test_what_is_deep_and_broken_is_refused_as_broken(text: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_nested(msgspec.json.decode, text)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=30,
)


@given(values)
def test_what_is_not_deep_stays_as_it_is(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False).encode()

    assert prune(text) == text


@given(values, st.integers(KEPT_LEVELS - 4, KEPT_LEVELS + 4))
def test_only_what_is_below_the_levels_that_are_kept_becomes_null(value: Any, levels: int) -> None:
    text = b"[" * levels + json.dumps(value).encode() + b"]" * levels

    pruned: Any = json.loads(prune(text))

    for _ in range(min(levels, KEPT_LEVELS) - 1):
        (pruned,) = pruned
    assert pruned == shallow(value, levels)


def shallow(value: Any, levels: int) -> Any:
    """The innermost list that is kept, as it should be."""
    if levels > KEPT_LEVELS:
        return [None]
    return [cut(value, KEPT_LEVELS - levels)]


def cut(value: Any, levels: int) -> Any:
    if isinstance(value, list):
        return [cut(inner, levels - 1) for inner in value] if levels else None
    if isinstance(value, dict):
        return {key: cut(inner, levels - 1) for key, inner in value.items()} if levels else None
    return value


@given(st.binary(max_size=400))
def test_any_bytes_are_pruned(data: bytes) -> None:
    prune(data)
