"""
Manifests: bytes in any encoding, streams of YAML and JSON, and lists.

Expected: documents, or errors with a line of the text. JSON is read as Python's json module reads
it, every value has a position, and what is written as YAML is read as the same value.
"""

import json
from collections.abc import Iterator
from io import BytesIO
from typing import Any

from tests.fuzz.targets import expect
from tests.fuzz.targets.jsontext import AmbiguousError, read
from webhook.errors import ManifestError, SourceError
from webhook.manifests import Document, SkippedSource, expand, format_yaml, parse, read_documents
from webhook.manifests.files import decode, encode
from webhook.manifests.yaml import load
from webhook.policy.paths import FieldPath

MOST_POSITIONS = 200  # values of a document whose positions are looked up

TOKENS = (
    b"apiVersion: v1\n", b"kind: List\n", b"items:\n", b"kind: PodList\n", b"metadata:\n",
    b"  name: a\n", b"---\n", b"...\n", b"# c\n", b"%YAML 1.2\n", b"%TAG ! !\n", b"&a ", b"*a",
    b"<<: *a\n", b"!!str ", b"!!binary ", b"!!float ", b"!x ", b"? ", b": ", b"- ", b"|\n",
    b"|+2\n", b">-\n", b'"\\u0041"', b"'it''s'", b"{a: b}", b"[a, b]",
    b'{"apiVersion":"v1","kind":"List",', b'"items":[{"kind":"Pod"}]}', b'{"a":1}', b"{}{}",
    b"0o17", b"0x1F", b"1_000", b".inf", b".nan", b"1e400", b"-0", b"0b1", b"2001-01-01",
    b"22:30", b"~", b"null", b"yes", b"off", b"\t", b"\r\n", b"\xef\xbb\xbf", b"\xff\xfe",
    b"\xfe\xff", b"\xe2\x80\xa8", b"\xc2\x85", b"\x00", b"\xf0\x9f\x98\x80", b'"\\ud83d\\ude00"',
    b'"\\ud83d"', b"{{ .Values.x }}", b"[[[[[[[[[[[[", b'{"a":{"a":{"a":',
)  # fmt: skip


def check(data: bytes) -> None:
    """Read a text as a file of manifests."""
    try:
        text = decode(data, "a.yaml")
    except SourceError as error:
        expect(str(error).startswith("a.yaml"), "an error without its file")
        return
    expect(decode(encode(text, data), "a.yaml") == text, "written and read, the text differs")
    for item in parse(text, "a.yaml"):
        _check_item(item, text)
    _check_json(text)
    _check_objects(data, text)


def _check_item(item: Document | ManifestError, text: str) -> None:
    lines = text.count("\n") + 1
    if isinstance(item, ManifestError):
        expect(1 <= item.line <= lines, f"line {item.line} of {lines}: {item.problem}")
        expect(item.problem, "an error has no message")
        return
    for (path, value), _ in zip(_values(item.value), range(MOST_POSITIONS), strict=False):
        expect(1 <= item.line(path) <= lines, f"{path} is at line {item.line(path)} of {lines}")
        _check_position(item, path, value)
    _check_yaml(item.value)
    for inner in expand(item):
        expect(1 <= inner.line() <= lines, "an item of a list is beyond the text")


def _check_position(item: Document, path: FieldPath, value: Any) -> None:
    """Read the characters of a value alone: they are what an edit of the text would replace."""
    tree = item.text.tree
    entries = tree.entries_along(path)
    if not path or len(entries) < len(path) or any(entry.alias for entry in entries):
        return  # merged from elsewhere
    node = entries[-1].node
    if node.collection or node.literal or node.tagged:
        return
    part = tree.text[node.start : node.end]
    if part.startswith(("---", "...")):
        return  # on a line of its own, the border of a document
    found = json.loads(part) if tree.json else load(part, "a.yaml", 1)
    expect(_as_go(found) == _as_go(value), f"{path} is {value!r}, its text is {part!r}")


def _values(value: Any) -> Iterator[tuple[FieldPath, Any]]:
    pending: list[tuple[FieldPath, Any]] = [((), value)]
    while pending:
        path, found = pending.pop()
        yield path, found
        if isinstance(found, dict):
            pending += [((*path, key), held) for key, held in found.items()]
        elif isinstance(found, list):
            pending += [((*path, index), held) for index, held in enumerate(found)]


def _check_yaml(value: Any) -> None:
    try:
        size = len(json.dumps(value))
    except (RecursionError, ValueError):
        return
    if size > 10_000:
        return  # aliases may stand for far more than the text holds
    found = list(parse(format_yaml(value), "b.yaml"))
    if value is None or not found:
        return
    again = found[0]
    expect(isinstance(again, Document), f"what was written is no YAML: {again}")
    if isinstance(again, Document):
        expect(
            json.dumps(_as_go(again.value), sort_keys=True)
            == json.dumps(_as_go(value), sort_keys=True),
            "written as YAML and read, the value differs",
        )


def _check_json(text: str) -> None:
    if not text.lstrip().startswith("{"):
        return
    try:
        value = read(text.encode())
    except (AmbiguousError, ValueError, RecursionError):
        return
    found = list(parse(text, "a.yaml"))
    expect(len(found) == 1, f"one object of JSON is {len(found)} documents")
    (document,) = found
    expect(isinstance(document, Document), f"JSON is refused: {document}")
    if isinstance(document, Document) and _depth(value) < 100:
        same = json.dumps(_as_go(document.value)) == json.dumps(_as_go(value))
        expect(same, "JSON is read in another way")


def _as_go(value: Any) -> Any:
    """
    Turn numbers into those that Go reads from YAML.

    Integers of more than 64 bits become floats, and shorter floats without a fraction integers.
    """
    match value:
        case dict():
            return {key: _as_go(held) for key, held in value.items()}
        case list():
            return [_as_go(held) for held in value]
        case int() if not isinstance(value, bool):
            return value if -(2**63) <= value < 2**64 else float(value)
        case float() if value.is_integer() and -(2**63) <= value < 2**64:
            return int(value)
        case _:
            return value


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level:
        depth += 1
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return depth


def _check_objects(data: bytes, text: str) -> None:
    lines = text.count("\n") + 1
    for strict in (False, True):
        for item in read_documents(["-"], strict=strict, stdin=BytesIO(data)):
            match item:
                case Document():
                    expect(item.api_version and item.kind, "an object without a kind")
                case SkippedSource():
                    expect(not strict, "a skipped source is no error")
                case ManifestError():
                    expect(1 <= item.line <= lines, f"line {item.line} of {lines}")
                case _:
                    expect(str(item), "an error has no message")
