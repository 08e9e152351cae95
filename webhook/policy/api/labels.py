"""
The syntax of label keys and values, with kube-apiserver's messages.

``key_problems`` and ``value_problems`` describe errors; ``is_key``, ``is_value`` and ``is_pair``
accept the usual valid ones quickly. The messages are those of Kubernetes 1.33 and later; 1.29 has
``characters`` for ``bytes`` and ``a qualified name`` for ``a valid label key``.

Source: apimachinery pkg/util/validation ``IsQualifiedName``, ``IsDNS1123Subdomain``,
``IsValidLabelValue`` and, for the wording, pkg/api/validate/content.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

PREFIX_BYTES = 253  # longest DNS subdomain, RFC 1123
NAME_BYTES = 63  # longest DNS label, RFC 1123
CACHED_LABELS = 1024  # keys, and pairs of at most 126 characters; new pods use fewer in a minute
VALUE_BYTES = 63  # longest label value

_NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_VALUE = f"({_NAME})?"

# The same languages without nested repetition, so that no input can make the matcher backtrack:
# a run of allowed characters that starts and ends with an alphanumeric one.
_name_matches = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?").fullmatch
_dns_label_matches = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?").fullmatch

_CHARACTERS = (
    "must consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)
_NAME_EXAMPLES = (
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME}')"
)
_NAME_PROBLEM = f"name part {_CHARACTERS} {_NAME_EXAMPLES}"
_KEY_PROBLEM = (
    f"a valid label key {_CHARACTERS} {_NAME_EXAMPLES} "
    "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
)
_PREFIX_PROBLEM = (
    "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
    "characters, '-' or '.', and must start and end with an alphanumeric character "
    f"(e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_VALUE_PROBLEM = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character "
    f"(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '{_VALUE}')"
)


def key_problems(key: str) -> list[str]:
    """
    List the errors of a label key; none if it is valid.

    Returns:
        At most two messages for the prefix and three for the name, in kube-apiserver's order.
    """
    if _name_matches(key) and len(key) <= NAME_BYTES:
        return []
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        return [_KEY_PROBLEM]
    return [*(_prefix_problems(prefix) if slash else ()), *_name_problems(name)]


def is_pair(key: str, value: str) -> bool:
    """Whether a pair is certainly valid; False for unusual pairs, valid or not."""
    return len(key) <= NAME_BYTES and len(value) <= VALUE_BYTES and _is_pair(key, value)


def is_key(key: str) -> bool:
    """Whether a key is certainly valid; False for long keys, valid or not."""
    return len(key) <= NAME_BYTES and _is_key(key)


def is_value(value: str) -> bool:
    """Whether a value is valid and not empty."""
    return len(value) <= VALUE_BYTES and _name_matches(value) is not None


@lru_cache(CACHED_LABELS)
def _is_pair(key: str, value: str) -> bool:
    return not key_problems(key) and _name_matches(value) is not None


@lru_cache(CACHED_LABELS)
def _is_key(key: str) -> bool:
    return not key_problems(key)


def value_problems(value: str) -> list[str]:
    """List the errors of a label value; none if it is valid."""
    problems: list[str] = []
    if _count_bytes(value) > VALUE_BYTES:
        problems.append(f"must be no more than {VALUE_BYTES} bytes")
    if value and not _name_matches(value):
        problems.append(_VALUE_PROBLEM)
    return problems


def _prefix_problems(prefix: str) -> Iterator[str]:
    if not prefix:
        yield "prefix part must be non-empty"
        return
    if _count_bytes(prefix) > PREFIX_BYTES:
        yield f"prefix part must be no more than {PREFIX_BYTES} bytes"
    if not all(map(_dns_label_matches, prefix.split("."))):
        yield _PREFIX_PROBLEM


def _name_problems(name: str) -> Iterator[str]:
    if not name:
        yield "name part must be non-empty"
    elif _count_bytes(name) > NAME_BYTES:
        yield f"name part must be no more than {NAME_BYTES} bytes"
    if not _name_matches(name):
        yield _NAME_PROBLEM


def _count_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
