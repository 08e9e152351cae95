"""JSON documents in sequence."""

from typing import Any

import msgspec
import pytest

from webhook.errors import ManifestError
from webhook.manifests.events import MOST_LEVELS, TOO_DEEP
from webhook.manifests.jsonstream import (
    DECODE_FAULTS,
    MOST_BROKEN_DOCUMENTS,
    decode_json,
    encode_again,
    read_stream,
)
from webhook.manifests.positions import DocumentText


def values(text: str) -> list[Any]:
    read = read_stream(DocumentText(text, 1, 0), "x")
    return [str(item) if isinstance(item, ManifestError) else item[0].value for item in read]


DEEP = "[" * 990 + "]" * 990
VERY_DEEP = "[" * 10_000 + "]" * 10_000

# text, its values and errors
STREAMS: dict[str, tuple[str, list[Any]]] = {
    "nothing": (" \n", []),
    "one a line": ('{"a": 1}\r\n[2]\r\n', [{"a": 1}, [2]]),
    "one after the other": ('{"a":\n1} {"b": 2}\n3', [{"a": 1}, {"b": 2}, 3]),
    "a deep one in a line": (f'{{"a": 1, "b": {VERY_DEEP}}}', [{"a": 1, "b": values}]),
    "a deep one among others in a line": (
        f'{{"a": {VERY_DEEP}}} {{"b": 2}}',
        [f"x:1: invalid JSON: {TOO_DEEP}"],
    ),
    "an integer of many digits": (
        '{"a": %s}\n{"b": 2}' % ("1" * 5000),
        ["x:1: invalid JSON: Integer value out of range at column 1", {"b": 2}],
    ),
    "an invalid one": (
        '{"é": ]}\n{"b": 2}',
        ["x:1: invalid JSON: Expecting value at column 7", {"b": 2}],
    ),
    "no number of JSON": (
        '{"b": 2}\n{"é": NaN}',
        [{"b": 2}, "x:2: invalid JSON: invalid character at column 7"],
    ),
    "half a surrogate pair": (
        '{"a": "\\ud800"}',
        ["x:1: invalid JSON: Input data was truncated at column 1"],
    ),
}


@pytest.mark.parametrize(("text", "expected"), STREAMS.values(), ids=STREAMS.keys())
def test_a_stream_has_documents_and_errors(text: str, expected: list[Any]) -> None:
    read = values(text)

    assert len(read) == len(expected)
    for found, wanted in zip(read, expected, strict=True):
        assert found == wanted or (found["a"], wanted["b"]) == (1, values)


def test_documents_have_their_text() -> None:
    read = read_stream(DocumentText('{"a": 1}\n\n{"b":\n2} 3', 5, 100), "x")
    texts = [item[1] for item in read if not isinstance(item, ManifestError)]

    assert [(text.content, text.first, text.start) for text in texts] == [
        ('{"a": 1}', 5, 100),
        ('{"b":\n2}', 7, 110),
        ("3", 8, 119),
    ]


def test_a_stream_with_many_errors_is_abandoned() -> None:
    read = values('{"a": 1}\n' + '{"b": ]}\n' * 2 * MOST_BROKEN_DOCUMENTS)

    assert len(read) == 1 + MOST_BROKEN_DOCUMENTS + 1
    assert read[-1] == "x:101: 100 invalid JSON documents: the rest is not read"


@pytest.mark.parametrize("levels", [MOST_LEVELS - 1, MOST_LEVELS, 900, 10_000])
def test_deep_values_become_null(levels: int) -> None:
    value = decode_json(('{"a": 1, "b": ' + "[" * levels + "]" * levels + "}").encode()).value

    depth = 0
    inner = value["b"]
    while inner:
        inner, depth = inner[0], depth + 1
    assert value["a"] == 1
    assert depth < MOST_LEVELS


@pytest.mark.parametrize("text", ["", "a", "[", "[1] 2", "[NaN]", '["\\ud800"]'])
def test_what_is_not_one_document_of_json_is_refused(text: str) -> None:
    with pytest.raises(DECODE_FAULTS):
        decode_json(text.encode())


def test_a_value_is_decoded_as_it_is_written() -> None:
    decoded = decode_json(msgspec.Raw(b' [1, 1.5, "\xc3\xa9"] '))

    assert decoded == ([1, 1.5, "é"], '[1,1.5,"é"]'.encode())


def test_a_value_that_is_no_utf_8_cannot_be_encoded() -> None:
    assert encode_again("\ud800") == ("\ud800", None)
