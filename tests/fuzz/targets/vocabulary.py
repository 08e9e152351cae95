"""The words that an error may contain: those of the product and its decoder, not of the input."""

import re
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_words = re.compile(rb"[A-Za-z]{4,}").findall
_names = re.compile(rb"[a-z]+(?:_[a-z]+)+").findall  # max_skew is maxSkew on the wire


@cache
def words_of(sources: tuple[Path, ...]) -> frozenset[bytes]:
    """Collect the words of source files and of msgspec's messages, in lower case."""
    found: set[bytes] = set()
    for source in (*sources, _msgspec()):
        text = source.read_bytes()
        found.update(word.lower() for word in _words(text))
        found.update(name.replace(b"_", b"") for name in _names(text))
    return frozenset(found)


def _msgspec() -> Path:
    spec = find_spec("msgspec._core")
    assert spec is not None, "a dependency"
    assert spec.origin is not None, "a compiled module"
    return Path(spec.origin)


def foreign_words(message: str, sources: Iterable[Path]) -> set[bytes]:
    """List the words of a message that neither the sources nor the decoder contain."""
    return {word.lower() for word in _words(message.encode())} - words_of(tuple(sources))
