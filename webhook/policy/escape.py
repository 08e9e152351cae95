"""
Escapes for texts from outside, such as names, messages and paths.

Control characters and bidirectional overrides could control a terminal or disguise a text.
``printable`` is for texts that people read, ``escape_json`` for documents, which stay lossless.
"""

import json
from typing import TypeVar

T = TypeVar("T")

_GO_ESCAPES = {
    character: f"\\{letter}"
    for character, letter in zip('\a\b\f\n\r\t\v\\"', 'abfnrtv\\"', strict=True)
}
_LAST_ASCII = 0x7F  # Go writes \xNN up to here, \uNNNN beyond
_LAST_OF_PLANE_0 = 0xFFFF  # Go writes \uNNNN up to here, \UNNNNNNNN beyond

WARNING_CHARACTERS = 256  # kube-apiserver may cut longer ones, pkg/endpoints/filters/warning.go


def quote(text: str) -> str:
    """
    Quote a text as Go's ``%q`` does.

    Source: Go strconv ``Quote``, which uses the same Unicode categories for printable characters.
    """
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{"".join(map(_escape_go, text))}"'


def printable(text: str) -> str:
    """Escape line breaks and unprintable characters, as Go's ``%q`` does."""
    return text if text.isprintable() else quote(text)[1:-1]


def shorten_warning(text: str) -> str:
    """Shorten a warning to what kube-apiserver passes on, without control characters."""
    line = printable(text)
    return line if len(line) <= WARNING_CHARACTERS else f"{line[: WARNING_CHARACTERS - 3]}..."


def printable_lines(text: str) -> str:
    """Escape each line of a text of several lines."""
    return "\n".join(map(printable, text.split("\n")))


def printable_value(value: T) -> T | str:
    """Escape a value of a template if it is a text."""
    return printable(value) if isinstance(value, str) else value


def escape_json(document: str) -> str:
    """Escape the unprintable characters in the strings of a JSON document; its value stays."""
    if document.replace("\n", "").isprintable():
        return document
    return "".join(map(_escape_json, document))


def _escape_json(character: str) -> str:
    if character.isprintable() or character == "\n":
        return character
    return json.dumps(character)[1:-1].replace("\x7f", "\\u007f")


def _escape_go(character: str) -> str:
    if character.isprintable() or character in _GO_ESCAPES:
        return _GO_ESCAPES.get(character, character)
    point = ord(character)
    if point <= _LAST_ASCII:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point <= _LAST_OF_PLANE_0 else f"\\U{point:08x}"
