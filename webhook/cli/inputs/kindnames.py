"""
Names of kinds with a pod template, as kubectl takes them: ``find_kinds``, and errors about others.

This module reads no objects; see ``subjects``.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from webhook.policy.kinds import BUILT_IN_KINDS, CUSTOM_KINDS, KIND_ROWS
from webhook.policy.model import GroupKind
from webhook.policy.places import TemplatePlaces

Templates = Mapping[GroupKind, TemplatePlaces]

SHORTEST_SUGGESTION = 5  # characters; shorter names are similar to too many words
KIND_SIMILARITY = 0.7  # of a suggested name; more than of svc and service

_kinds_by_name = Counter(row.kind for row in KIND_ROWS)


def find_kinds(word: str, templates: Templates) -> tuple[GroupKind, ...]:
    """
    Find the kinds with a pod template that a word names, also by a short name or plural.

    A group may follow the name, or a version and a group, as in ``deployments.v1.apps``.

    Source: apimachinery runtime/schema ``ParseResourceArg``.
    """
    name, _, qualifier = word.lower().partition(".")
    version, _, rest = qualifier.partition(".")
    has_version = _is_version(version) is not None
    group = rest if has_version else qualifier
    return tuple(
        kind
        for kind in templates
        if name in _list_names(kind)
        and (qualifier == "" or kind.group == group)
        and (not has_version or _has_version(kind, version))
    )


def reject_kind(word: str, templates: Templates) -> str:
    """Describe a word that names no kind, with the kind that it resembles, or all of them."""
    known = ", ".join(sorted(map(write_kind, templates)))
    advice = suggest_kind(word, templates) or f"use one of {known}"
    return f"{word!r} is not a kind with a pod template: {advice}"


def suggest_kind(word: str, templates: Templates) -> str:
    """Suggest the kind that a word resembles; empty for none."""
    names = (name for kind in templates for name in _list_names(kind))
    long = {name for name in names if len(name) >= SHORTEST_SUGGESTION}
    return suggest_words(get_close_matches(word.lower(), sorted(long), 1, KIND_SIMILARITY))


def suggest_words(words: Iterable[str]) -> str:
    """Suggest words; empty for none."""
    joined = " or ".join(words)
    return f"did you mean {joined}?" if joined else ""


def write_kind(kind: GroupKind) -> str:
    """
    Write a kind in lower case as users would.

    The group follows if the name alone is that of another kind as well, unless this is Kubernetes'
    own kind.
    """
    is_clear = kind in BUILT_IN_KINDS or _kinds_by_name[kind.kind] <= 1
    return kind.kind.lower() if is_clear else f"{kind.kind.lower()}.{kind.group}"


def _list_names(kind: GroupKind) -> tuple[str, ...]:
    """List the names of a kind for kubectl, in lower case."""
    row = BUILT_IN_KINDS.get(kind) or CUSTOM_KINDS.get(kind)
    singular = kind.kind.lower()
    return singular, f"{singular}s", *(row.short if row else ())


def _has_version(kind: GroupKind, version: str) -> bool:
    """Whether a kind may have a version; that of a custom kind is not known."""
    row = BUILT_IN_KINDS.get(kind)
    return row is None or row.version == version


_is_version = re.compile(r"v[0-9]+((alpha|beta)[0-9]+)?", re.ASCII).fullmatch
