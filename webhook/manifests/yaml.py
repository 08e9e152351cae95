"""
YAML to values of JSON's types, as kubectl reads it, and back.

Entry points: ``load``, ``load_outlined`` and ``format_yaml``. This module must not execute a tag:
tags of the YAML core schema select how to read a scalar, others are ignored. The last value of a
duplicate key counts, as in sigs.k8s.io/yaml, unless unique keys are required. Words follow YAML
1.1, numbers follow Go. Dates and base 60 of YAML 1.1 are not supported: ``2001-01-01`` and
``22:30`` are strings.

Source: sigs.k8s.io/yaml goyaml.v2 resolve.go.
"""

import math
import re
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec
import yaml
from yaml.events import CollectionStartEvent, Event, NodeEvent, ScalarEvent

from webhook.errors import ManifestError
from webhook.manifests.edits import Span
from webhook.manifests.events import MOST_LEVELS, EventWalker, UnsupportedYAMLError, is_merge
from webhook.policy.paths import is_array, is_object

_COLUMNS = 120  # before a text is folded; a little more than the widest of our lines

ITEMS = "items"
"""The member of a ``List`` that contains its objects."""

_DEPTH_OF_MEMBERS = MOST_LEVELS - 1  # levels that remain for the members of the document's value
_DEPTH_OF_ITEMS = _DEPTH_OF_MEMBERS - 1

_RESOLVED = frozenset(f"tag:yaml.org,2002:{name}" for name in ("int", "float", "bool", "null"))


class Outline(msgspec.Struct, frozen=True):
    """
    Positions that are noted while a document is read.

    Attributes:
        opening: The first character of its value.
        items: The items of a ``List``; empty for any other value.
        repeats_keys: Whether a mapping has two equal keys.
    """

    opening: int
    items: tuple[Span, ...] = ()
    repeats_keys: bool = False


def load(text: str, source: str, first: int, *, unique_keys: bool = False) -> Any:
    """Read the only document of a text; like ``load_outlined``, without positions."""
    return load_outlined(text, source, first, unique_keys=unique_keys)[0]


def load_outlined(
    text: str, source: str, first: int, *, unique_keys: bool = False
) -> tuple[Any, Outline]:
    """
    Read the only document of a text.

    Args:
        source: The file's name, for messages.
        first: The line at which the text starts in its source, from 1.

    Returns:
        Its value, of JSON's types, and its outline; None if it is empty. Aliases of one anchor
        share one value.

    Raises:
        ManifestError: The text is not YAML, or has no equivalent in JSON.
    """
    builder = _ValueBuilder(text, unique_keys=unique_keys)
    try:
        return builder.build(), builder.outline()
    except yaml.YAMLError as error:
        raise _manifest_error(error, text, source, first) from error


def _manifest_error(error: yaml.YAMLError, text: str, source: str, first: int) -> ManifestError:
    # Lines end at line feeds; libyaml counts those that end at other breaks, such as U+2028, too.
    if isinstance(error, UnsupportedYAMLError):
        return ManifestError(source, first + text.count("\n", 0, error.position), error.problem)
    hint = "; render a chart with helm template first" if "{{" in text else ""
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark
        position = mark.index if mark else 0
        problem = ", ".join(part for part in (error.context, error.problem) if part)
        if mark and text[mark.index : mark.index + 1] == "\t":
            hint = "; indent with spaces, not with a tab"
    else:
        position, problem = getattr(error, "position", 0), "it contains a control character"
    line = first + text.count("\n", 0, position)
    return ManifestError(source, line, f"invalid YAML: {problem}{hint}")


class _ValueBuilder(EventWalker[Any]):
    """Builds the value of a document."""

    def __init__(self, text: str, *, unique_keys: bool) -> None:
        super().__init__(text)
        self._unique_keys = unique_keys
        self._repeats_keys = False
        self._member = ""  # of the document's value, being read
        self._items: list[Span] = []

    def outline(self) -> Outline:
        """Return what was noted about the document that was built."""
        return Outline(self.opening, tuple(self._items), self._repeats_keys)

    def scalar(self, event: ScalarEvent) -> Any:
        """Resolve a plain scalar; a quoted one is a string."""
        plain = event.implicit[0] and event.tag is None
        if not plain and event.tag not in _RESOLVED:
            return event.value
        value = resolve(event.value)
        if isinstance(value, float) and not math.isfinite(value):
            raise UnsupportedYAMLError(
                event, f"{event.value} is no JSON number: write a finite one"
            )
        return value

    def sequence(self, start: NodeEvent, depth: int) -> list[Any]:
        """Build a list."""
        del start
        if depth == _DEPTH_OF_ITEMS and self._member == ITEMS:
            return self._read_items(depth)
        return [self.node(event, depth) for event in self.children()]

    def _read_items(self, depth: int) -> list[Any]:
        """Read the objects of a ``List``, and note their positions."""
        values: list[Any] = []
        self._items.clear()  # of an equal key before this one
        for event in self.children():
            values.append(self.node(event, depth))
            is_collection = isinstance(event, CollectionStartEvent)
            end = (self.closed if is_collection else event).end_mark
            assert event.start_mark is not None, "libyaml marks everything"
            assert end is not None, "libyaml marks everything"
            self._items.append(Span(event.start_mark.index, end.index))
        return values

    def mapping(self, start: NodeEvent, depth: int) -> dict[str, Any]:
        """Build a dict; keys of the mapping override merged keys."""
        del start
        values: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for event in self.children():
            if is_merge(event):
                merged |= self._merged(next(self.events), depth)
                continue
            key = self._key(event, depth)
            if key in values:
                self._note_duplicate(key, event)
            if depth == _DEPTH_OF_MEMBERS:
                self._member = key
            values[key] = self.node(next(self.events), depth)
        return merged | values if merged else values

    def _note_duplicate(self, key: str, event: Event) -> None:
        if self._unique_keys:
            raise UnsupportedYAMLError(event, f"duplicate key {key!r}: remove one of the two")
        self._repeats_keys = True

    def _merged(self, event: Event, depth: int) -> dict[str, Any]:
        value = self.node(event, depth)
        merged: dict[str, Any] = {}
        for mapping in reversed(value if is_array(value) else [value]):
            if not is_object(mapping):
                raise UnsupportedYAMLError(
                    event, "<< merges mappings: write an alias of one, or a list"
                )
            merged |= mapping
        return merged

    def _key(self, event: Event, depth: int) -> str:
        value = self.node(event, depth)
        match value:
            case str():
                return sys.intern(value)
            case bool():
                return "true" if value else "false"
            case int() | float():
                return f"{value}" if isinstance(value, int) else f"{value:g}"
            case dict():  # such as {{ .Values.name }}
                problem = "a key must be a string, not an object: render a chart with helm template"
                raise UnsupportedYAMLError(event, f"{problem} first")
            case _:
                raise UnsupportedYAMLError(event, "a key must be a string: write it in quotes")


def format_yaml(value: Any) -> str:
    """
    Write a value as YAML: members in their order, aliases written out.

    Unprintable characters are escaped. libyaml escapes either all other than ASCII or few of them.
    """
    text = _dump(value, allow_unicode=True)
    return text if text.replace("\n", "").isprintable() else _dump(value, allow_unicode=False)


def _dump(value: Any, *, allow_unicode: bool) -> str:
    text: str = yaml.dump(
        value, Dumper=_Dumper, sort_keys=False, allow_unicode=allow_unicode, width=_COLUMNS
    )
    return text


class _Dumper(yaml.CSafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        """Write repeated values in full."""
        del data
        return True

    def represent_scalar(self, tag: str, value: Any, style: str | None = None) -> yaml.ScalarNode:
        """Write lines as a block, and quote a text that kubectl would read as another type."""
        if tag.endswith(":str"):
            is_text = isinstance(resolve(value), str)
            style = "'" if not is_text else "|" if "\n" in value else style
        return super().represent_scalar(tag, value, style)  # pyright: ignore[reportUnknownMemberType]


Scalar = str | int | float | bool | None

_MEANINGS: tuple[tuple[Scalar, str], ...] = (
    (None, "~ null Null NULL"),
    (True, "y Y yes Yes YES true True TRUE on On ON"),
    (False, "n N no No NO false False FALSE off Off OFF"),
    (math.nan, ".nan .NaN .NAN"),
    (math.inf, ".inf .Inf .INF +.inf +.Inf +.INF"),
    (-math.inf, "-.inf -.Inf -.INF"),
)

WORDS: Mapping[str, Scalar] = MappingProxyType(
    {"": None} | {word: meaning for meaning, words in _MEANINGS for word in words.split()}
)

_STARTS_NUMBER = frozenset("+-.0123456789")
_integer = re.compile(r"([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)").fullmatch
_decimal = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?").fullmatch

_LEAST_INT64 = -(2**63)
_MOST_UINT64 = 2**64 - 1
_LONGEST_INTEGER = 67  # characters: a sign, 0b, and 64 bits; Python refuses to read very long ones
_WRITTEN_IN_FULL = 1e21  # from here on Go writes an exponent, which no integer field accepts


def resolve(text: str) -> Scalar:
    """
    Resolve the value of a plain scalar.

    Returns:
        A whole float below 1e21 as an integer, since Go's JSON writes it so: ``maxSkew: 1.0`` is 1.
        NaN and infinities, which JSON lacks, as floats.
    """
    if text in WORDS:
        return WORDS[text]
    return _number(text) if text[0] in _STARTS_NUMBER else text


def _number(text: str) -> Scalar:
    plain = text if text[0] == "." else text.replace("_", "")
    if len(plain) <= _LONGEST_INTEGER and (found := _integer(plain)):
        value = _whole(*found.groups())
        if _LEAST_INT64 <= value <= _MOST_UINT64 or not _decimal(plain):
            return value
    if not _decimal(plain) or math.isinf(number := float(plain)):
        return text
    return int(number) if number.is_integer() and abs(number) < _WRITTEN_IN_FULL else number


def _whole(sign: str, digits: str) -> int:
    octal = digits[0] == "0" and digits.isdigit()
    value = int(digits, 8) if octal else int(digits, 0)
    return -value if sign == "-" else value
