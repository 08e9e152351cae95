"""
Fields that the API does not know, by kube-apiserver's strict decoding: TSC011.

``find_unknown_fields`` is the entry point. It knows the fields of a constraint and of its selector,
and the places in an object where people write the list by error. Other fields of a pod are not
examined. It reads an object of JSON's types, since the structs of ``model`` skip unknown fields.

Source: kubernetes KEP-2885; sigs.k8s.io/json kubernetes_patch.go ``saveStrictError``.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from webhook.policy.api.patches import is_directive
from webhook.policy.escape import quote
from webhook.policy.model import Constraint, LabelSelector, LabelSelectorRequirement
from webhook.policy.paths import (
    CACHED_PATHS,
    LIST_NAME,
    FieldPath,
    constraints_path,
    find_value,
    format_path,
    is_array,
    is_constraint_list,
    is_object,
)

UNKNOWN_FIELD = "TSC011"
DUPLICATE_FIELD = "TSC012"

CONSTRAINT_FIELDS: tuple[str, ...] = Constraint.__struct_encode_fields__
SELECTOR_FIELDS: tuple[str, ...] = LabelSelector.__struct_encode_fields__
REQUIREMENT_FIELDS: tuple[str, ...] = LabelSelectorRequirement.__struct_encode_fields__

SIMILARITY = 0.8
"""Similarity, from 0 to 1, from which on a word is taken for a misspelled name; a guess below."""

_FIELDS_OF_ENTRIES = frozenset(CONSTRAINT_FIELDS)
_SYNONYMS = {"selector": "labelSelector", "skew": "maxSkew", "key": "topologyKey"}
_NOT_NAMES = frozenset("${}<>%")  # of placeholders, and of directives such as $patch
_LONGEST_NAME = 64  # characters that are compared; the longest known name has 25
_SHORTEST_LIST_NAME = 17  # characters; a shorter name is less similar than SIMILARITY
_CACHED_NAMES = 1024
_NESTING = (dict, list)  # types of values that contain others; the union of both is slower
_UNREAD: frozenset[str | int] = frozenset({"status"})  # written by controllers, not by people
_TERMS = "DuringExecution"  # the end of the names of lists in an affinity


class StrictFinding(msgspec.Struct, frozen=True, gc=False):
    """
    An error of strict decoding, which kube-apiserver accepts with a warning by default.

    Attributes:
        rule: TSC011 or TSC012.
        path: Of the field, from the object.
        meant: Path at which the API knows the value; empty if it cannot be guessed.
        alternatives: Paths of several lists of which a misplaced one may be meant as any; then
            ``meant`` is empty.
        is_elsewhere: Whether it is reported with another pod template of the object.
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
    alternatives: tuple[FieldPath, ...] = ()
    is_elsewhere: bool = False

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
        is_list = self.meant[-1:] == (LIST_NAME,) or self.alternatives != ()
        return self.rule == UNKNOWN_FIELD and is_list


def find_unknown_fields(
    value: Any, templates: Sequence[FieldPath], *, custom: Collection[FieldPath] = ()
) -> tuple[StrictFinding, ...]:
    """
    Find the fields of constraints that have no effect where they are written.

    Args:
        value: The object, of JSON's types and of any content.
        templates: Paths of its pod templates, or of bare lists of constraints. The entries of such
            a list may have fields of their own; only names that resemble known ones are found.
        custom: Those of the templates outside of which the kind has a schema of its own: its fields
            there are not examined, since the list may be one of them.
    """
    return tuple(_find_unknown_fields(value, templates, custom))


def _find_unknown_fields(
    value: Any, templates: Sequence[FieldPath], custom: Collection[FieldPath]
) -> Iterator[StrictFinding]:
    yield from _find_misplaced(value, templates, custom)
    for template in templates:
        at, is_own = constraints_path(template), is_constraint_list(template)
        yield from _check_entries(at, find_value(value, at), is_own=is_own)


def _find_misplaced(
    value: Any, templates: Sequence[FieldPath], custom: Collection[FieldPath]
) -> Iterator[StrictFinding]:
    """Find misspelled or misplaced lists, and the unknown fields in them."""
    for path, place, specs in _list_places(value, _list_levels(tuple(templates), tuple(custom))):
        is_spec = path == specs[0]
        # Most names are short, and most values no arrays: no function is called for them.
        for name, inner in place.items():
            may_hold = len(name) >= _SHORTEST_LIST_NAME or (
                is_array(inner) and _has_topology_key(inner[:1])
            )
            if may_hold and _holds_list(name, inner):
                if not (is_spec and name == LIST_NAME):
                    yield _report_list((*path, name), specs)
                    yield from _check_entries((*path, name), inner)
            elif is_spec and name in _FIELDS_OF_ENTRIES:
                yield _find_dedented((*path, name), place)


class _Level(NamedTuple):
    """
    A level on the way to specifications of pods.

    Attributes:
        path: The path of the object.
        specs: The paths of the specifications below it, or its own.
        others: The names of members that are levels themselves, or not searched.
    """

    path: FieldPath
    specs: Sequence[FieldPath]
    others: frozenset[str | int]


@lru_cache(CACHED_PATHS)
def _list_levels(
    templates: tuple[FieldPath, ...], custom: tuple[FieldPath, ...]
) -> tuple[_Level, ...]:
    """List the levels that are examined; arguments as for ``find_unknown_fields``."""
    pods = [template for template in templates if not is_constraint_list(template)]
    specs = {constraints_path(pod)[:-1]: len(pod) if pod in custom else 0 for pod in pods}
    paths = (spec[:end] for spec, first in specs.items() for end in range(first, len(spec) + 1))
    return tuple(_build_level(path, specs) for path in dict.fromkeys(paths))


def _build_level(path: FieldPath, specs: Iterable[FieldPath]) -> _Level:
    depth = len(path)
    below = [spec for spec in specs if spec[:depth] == path]
    return _Level(path, below, _UNREAD | {spec[depth] for spec in below if len(spec) > depth})


def _list_places(
    value: Any, levels: Iterable[_Level]
) -> Iterator[tuple[FieldPath, dict[str, Any], Sequence[FieldPath]]]:
    """
    Yield the objects in which a list may be written, their paths, and the pods it may be meant for.

    These are the objects on the way to the specifications of pods, and those that they contain
    directly.
    """
    for path, specs, others in levels:
        outer = find_value(value, path)
        if not is_object(outer):
            continue
        yield path, outer, specs
        for name, inner in outer.items():
            if isinstance(inner, _NESTING) and name not in others:
                for inner_path, place in _list_inner_places((*path, name), inner):
                    yield inner_path, place, specs


def _list_inner_places(path: FieldPath, value: Any) -> list[tuple[FieldPath, dict[str, Any]]]:
    if is_object(value):
        # The members of an affinity stand for the older way to spread pods.
        members = value.items() if path[-1] == "affinity" else ()
        return [(path, value), *(((*path, name), one) for name, one in members if is_object(one))]
    if is_array(value) and path[-1] != LIST_NAME:
        return [((*path, index), item) for index, item in enumerate(value) if is_object(item)]
    return []


def _find_dedented(path: FieldPath, spec: dict[str, Any]) -> StrictFinding:
    """Report a field of a constraint that stands beside the list, as after one dedent too many."""
    entries = spec.get(LIST_NAME)
    last = entries[-1] if is_array(entries) and entries else None
    if is_array(entries) and is_object(last) and path[-1] not in last:
        return _report_misplaced(path, (*path[:-1], LIST_NAME, len(entries) - 1, path[-1]))
    hint = f"it belongs in an entry of {LIST_NAME}"
    return _report_unknown(path, hint, f"# move it into an entry of {LIST_NAME}")


def _holds_list(name: str, value: Any) -> bool:
    """
    Whether a member is a list of constraints, by its name or, under any name, by its entries.

    The terms of a pod affinity have a ``topologyKey`` as well. A directive of a patch, such as
    ``$setElementOrder/topologySpreadConstraints``, is no list.
    """
    if not _NOT_NAMES.isdisjoint(name):
        return False
    if is_list_name(name):
        # A text is a label, or a placeholder.
        return value is None or is_array(value) or is_object(value)
    return is_array(value) and _has_topology_key(value) and not name.endswith(_TERMS)


def _has_topology_key(entries: list[Any]) -> bool:
    """Whether there are entries, and all of them have a ``topologyKey``."""
    for entry in entries:
        if not (is_object(entry) and "topologyKey" in entry):
            return False
    return entries != []


def _report_list(path: FieldPath, specs: Sequence[FieldPath]) -> StrictFinding:
    """Report a list that may be meant for pods with these specifications."""
    lists: list[FieldPath] = [(*spec, LIST_NAME) for spec in specs]
    if len(lists) == 1:
        is_named_wrong = path[:-1] == specs[0]
        return (_report_misspelled if is_named_wrong else _report_misplaced)(path, lists[0])
    where = f"in one of {len(lists)} pod templates, as at {format_path(lists[0])}"
    finding = _report_unknown(path, f"it belongs {where}", f"# write it {where}")
    return replace(finding, alternatives=tuple(lists))


def _check_entries(
    path: FieldPath, entries: Any, *, is_own: bool = False
) -> Iterator[StrictFinding]:
    for index, entry in enumerate(entries if is_array(entries) else ()):
        yield from _check_constraint((*path, index), entry, is_own=is_own)


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
