"""
Fields that the API does not know, by kube-apiserver's strict decoding: TSC011.

``find_unknown_fields`` is the entry point. It knows the fields of a constraint and of its selector,
and the places in an object where people write the list by error. Other fields of a pod are not
examined. It reads an object of JSON's types, since the structs of ``model`` skip unknown fields.

Source: kubernetes KEP-2885; sigs.k8s.io/json kubernetes_patch.go ``saveStrictError``.
"""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

import msgspec

from webhook.policy.api.patches import is_directive
from webhook.policy.escape import quote
from webhook.policy.model import Constraint, LabelSelector, LabelSelectorRequirement
from webhook.policy.paths import (
    LIST_NAME,
    FieldPath,
    constraints_path,
    find_value,
    format_path,
    is_array,
    is_constraint_list,
    is_object,
    walk_path,
)

UNKNOWN_FIELD = "TSC011"
DUPLICATE_FIELD = "TSC012"

CONSTRAINT_FIELDS: tuple[str, ...] = Constraint.__struct_encode_fields__
SELECTOR_FIELDS: tuple[str, ...] = LabelSelector.__struct_encode_fields__
REQUIREMENT_FIELDS: tuple[str, ...] = LabelSelectorRequirement.__struct_encode_fields__

SIMILARITY = 0.8
"""Similarity, from 0 to 1, from which on a word is taken for a misspelled name; a guess below."""

_SYNONYMS = {"selector": "labelSelector", "skew": "maxSkew", "key": "topologyKey"}
_NOT_NAMES = frozenset("${}<>%")  # of placeholders, and of directives such as $patch
_LONGEST_NAME = 64  # characters that are compared; the longest known name has 25
_SHORTEST_LIST_NAME = 17  # characters; a shorter name is less similar than SIMILARITY
_CACHED_NAMES = 1024
_UNREAD = frozenset({"status"})  # written by controllers, not by people


class StrictFinding(msgspec.Struct, frozen=True, gc=False):
    """
    An error of strict decoding, which kube-apiserver accepts with a warning by default.

    Attributes:
        rule: TSC011 or TSC012.
        path: Of the field, from the object.
        meant: Path at which the API knows the value; empty if it cannot be guessed.
        hint: What follows kube-apiserver's words in a message.
        instead: What to do, as a comment of YAML.
        line: Line of the field in its file, from 1; 0 without a file.
    """

    rule: str
    path: FieldPath
    meant: FieldPath = ()
    hint: str = ""
    instead: str = ""
    line: int = 0

    @property
    def field(self) -> str:
        """The path in the format of field errors."""
        return format_path(self.path)

    @property
    def message(self) -> str:
        """kube-apiserver's words, as ``unknown field "spec.minDomain"``."""
        title = "unknown" if self.rule == UNKNOWN_FIELD else "duplicate"
        return f"{title} field {quote(_format_strictly(self.path))}"

    @property
    def problem(self) -> str:
        """The words of kube-apiserver, and the hint."""
        return f"{self.message}; {self.hint}" if self.hint else self.message

    @property
    def hides_list(self) -> bool:
        """Whether a list of constraints has no effect, since it is misspelled or misplaced."""
        return self.rule == UNKNOWN_FIELD and self.meant[-1:] == (LIST_NAME,)


def find_unknown_fields(
    value: Any, template: FieldPath, *, custom: bool = False
) -> tuple[StrictFinding, ...]:
    """
    Find the fields of constraints that have no effect where they are written.

    Args:
        value: The object, of JSON's types and of any content.
        template: Path of its pod template, or of a bare list of constraints. The entries of such a
            list may have fields of their own; only names that resemble known ones are found.
        custom: Whether the kind has a schema of its own: then its fields outside of the pod
            template are not examined, since the list may be one of them.
    """
    return tuple(_find_unknown_fields(value, template, custom=custom))


def _find_unknown_fields(
    value: Any, template: FieldPath, *, custom: bool
) -> Iterator[StrictFinding]:
    at = constraints_path(template)
    if not is_constraint_list(template):
        yield from _find_misplaced(value, at, len(template) if custom else 0)
    entries = find_value(value, at)
    for index, entry in enumerate(entries if is_array(entries) else ()):
        yield from _check_constraint((*at, index), entry, is_own=is_constraint_list(template))


def _find_misplaced(value: Any, at: FieldPath, first: int) -> Iterator[StrictFinding]:
    """Find misspelled or misplaced lists; ``first`` is the first level that is examined."""
    spec = at[:-1]
    for path, place in _list_places(value, spec, first):
        for name, inner in place.items():
            if is_list_name(name) and (*path, name) != at and _may_hold_entries(inner):
                yield (
                    _report_misspelled((*path, name), at)
                    if path == spec
                    else _report_misplaced((*path, name), at)
                )
            elif path == spec and name in CONSTRAINT_FIELDS:
                yield _find_dedented((*path, name), place)


def _list_places(
    value: Any, spec: FieldPath, first: int
) -> Iterator[tuple[FieldPath, dict[str, Any]]]:
    """
    Yield the objects in which the list may be written, and their paths.

    These are the objects on the way to the pod's specification, from the ``first`` level on, and
    those that they contain directly.
    """
    for depth, outer in enumerate(walk_path(value, spec)):
        if depth < first or not is_object(outer):
            continue
        path: FieldPath = spec[:depth]
        yield path, outer
        for name, inner in outer.items():
            if name not in _UNREAD and spec[depth : depth + 1] != (name,):
                yield from _list_inner_places((*path, name), inner)


def _list_inner_places(path: FieldPath, value: Any) -> Iterator[tuple[FieldPath, dict[str, Any]]]:
    if is_object(value):
        yield path, value
        if path[-1] == "affinity":  # its members stand for the older way to spread pods
            for name, inner in value.items():
                if is_object(inner):
                    yield (*path, name), inner
    elif is_array(value) and path[-1] != LIST_NAME:
        for index, item in enumerate(value):
            if is_object(item):
                yield (*path, index), item


def _find_dedented(path: FieldPath, spec: dict[str, Any]) -> StrictFinding:
    """Report a field of a constraint that stands beside the list, as after one dedent too many."""
    entries = spec.get(LIST_NAME)
    last = entries[-1] if is_array(entries) and entries else None
    if is_array(entries) and is_object(last) and path[-1] not in last:
        return _report_misplaced(path, (*path[:-1], LIST_NAME, len(entries) - 1, path[-1]))
    hint = f"it belongs in an entry of {LIST_NAME}"
    return _report_unknown(path, hint, f"# move it into an entry of {LIST_NAME}")


def _may_hold_entries(value: Any) -> bool:
    """Whether a value may be a list of constraints; a text is a label, or a placeholder."""
    return value is None or is_array(value) or is_object(value)


def _check_constraint(path: FieldPath, entry: Any, *, is_own: bool) -> Iterator[StrictFinding]:
    """Check a constraint; one of a list that ``is_own`` to its kind may have more fields."""
    if not is_object(entry) or is_directive(entry):
        return
    for name in _list_unknown(entry, CONSTRAINT_FIELDS):
        if name in SELECTOR_FIELDS:
            yield _report_misplaced((*path, name), (*path, "labelSelector", name))
        elif not is_own or _find_similar(name, CONSTRAINT_FIELDS):
            yield _check_name((*path, name), entry, CONSTRAINT_FIELDS, "a constraint")
    selector = entry.get("labelSelector")
    if not is_object(selector):
        return
    at: FieldPath = (*path, "labelSelector")
    for name in _list_unknown(selector, SELECTOR_FIELDS):
        yield _check_selector_name(at, name, selector)
    expressions = selector.get("matchExpressions")
    for index, item in enumerate(expressions if is_array(expressions) else ()):
        for name in _list_unknown(item, REQUIREMENT_FIELDS) if is_object(item) else ():
            inner: FieldPath = (*at, "matchExpressions", index, name)
            yield _check_name(inner, item, REQUIREMENT_FIELDS, "an expression")


def _check_selector_name(at: FieldPath, name: str, selector: dict[str, Any]) -> StrictFinding:
    if name in CONSTRAINT_FIELDS:
        return _report_misplaced((*at, name), (*at[:-1], name))
    if isinstance(selector[name], str) and not _find_similar(name, SELECTOR_FIELDS):
        return _report_misplaced((*at, name), (*at, "matchLabels", name))
    return _check_name((*at, name), selector, SELECTOR_FIELDS, "a labelSelector")


def _list_unknown(members: dict[str, Any], known: tuple[str, ...]) -> Iterator[str]:
    return (name for name in members if name not in known and not _NOT_NAMES.intersection(name))


def _check_name(
    path: FieldPath, members: dict[str, Any], known: tuple[str, ...], owner: str
) -> StrictFinding:
    similar = _find_similar(str(path[-1]), known)
    if similar and similar not in members:
        return _report_misspelled(path, (*path[:-1], similar))
    hint = f"{similar} is written as well" if similar else f"{owner} has no such field"
    return _report_unknown(path, hint, f"# remove it: {owner} has {_join_names(known)}")


def _report_misspelled(path: FieldPath, meant: FieldPath) -> StrictFinding:
    name = str(meant[-1])
    return _report_unknown(path, f"did you mean {quote(name)}?", f"# write {name}", meant)


def _report_misplaced(path: FieldPath, meant: FieldPath) -> StrictFinding:
    where = format_path(meant)
    return _report_unknown(path, f"it belongs at {where}", f"# move it to {where}", meant)


def _report_unknown(
    path: FieldPath, hint: str, instead: str, meant: FieldPath = ()
) -> StrictFinding:
    return StrictFinding(UNKNOWN_FIELD, path, meant, hint, instead)


@lru_cache(_CACHED_NAMES)
def _find_similar(name: str, known: tuple[str, ...]) -> str:
    """Find the known name that a misspelled one resembles; empty if there is none."""
    if name in _SYNONYMS and _SYNONYMS[name] in known:
        return _SYNONYMS[name]
    lower = {word.lower(): word for word in known}
    word = name[:_LONGEST_NAME].strip().lower().replace("_", "").replace("-", "")
    found = get_close_matches(word, lower, 1, SIMILARITY)
    return lower[found[0]] if found else ""


@lru_cache(_CACHED_NAMES)
def is_list_name(name: str) -> bool:
    """Whether a name is ``topologySpreadConstraints``, in any case, or a misspelling of it."""
    is_long = len(name) >= _SHORTEST_LIST_NAME
    return name == LIST_NAME or (is_long and _find_similar(name, (LIST_NAME,)) != "")


def _format_strictly(path: FieldPath) -> str:
    """Write a path as the strict decoder does: names are joined by dots, whatever they contain."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).removeprefix(".")


def _join_names(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}"
