"""
Values of plain YAML scalars, as kubectl reads them.

Source: sigs.k8s.io/yaml goyaml.v2 resolve.go. Words follow YAML 1.1, numbers follow Go. Dates and
base 60 of YAML 1.1 are not supported: ``2001-01-01`` and ``22:30`` are strings.
"""

import math
import re
from collections.abc import Mapping
from types import MappingProxyType

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
