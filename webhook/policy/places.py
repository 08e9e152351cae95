"""
Places of pod templates, and of bare constraint lists, in objects of any kind.

Most kinds have one pod template at a fixed path, a ``TemplatePath``. ``TemplatePatterns`` describes
the other kinds: those with several templates, or with a list of them. ``find_places`` finds the
paths in one object; ``template_at`` and ``wrap_bare_list`` give what is there.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, TypeAlias, TypeVar

import msgspec

from webhook.policy.model import PodTemplate
from webhook.policy.paths import (
    CONSTRAINTS_IN_POD,
    LIST_NAME,
    FieldPath,
    TemplatePath,
    find_value,
    is_array,
    is_constraint_list,
    is_object,
)

Pod = TypeVar("Pod", bound=PodTemplate)

ENTRIES = "*"
"""The step of a pattern that stands for every entry of a list."""

MOST_TEMPLATES = 250
"""Pod templates of one object that are judged; a larger object of a custom kind is unreadable."""


class TemplatePatterns(msgspec.Struct, frozen=True):
    """
    The places of the templates in objects of a kind that has several, or lists of them.

    Attributes:
        paths: Names, and ``ENTRIES`` after the name of a list; at least one path.
    """

    paths: tuple[TemplatePath, ...]


TemplatePlaces: TypeAlias = TemplatePath | TemplatePatterns
"""Where objects of a kind hold pod templates or constraint lists: one path, or patterns."""


def format_pattern(path: TemplatePath) -> str:
    """Write a path as the configuration does."""
    steps = (f"[{ENTRIES}]" if step == ENTRIES else f".{step}" for step in path)
    return "".join(steps).removeprefix(".")


def format_places(places: TemplatePlaces) -> list[str]:
    """Write all paths of a kind."""
    return [format_pattern(path) for path in list_patterns(places)]


def list_patterns(places: TemplatePlaces) -> tuple[TemplatePath, ...]:
    """List the paths of a kind, with ``ENTRIES`` for the entries of lists."""
    return (places,) if isinstance(places, tuple) else places.paths


def fits_pattern(place: FieldPath, pattern: TemplatePath) -> bool:
    """Whether a path of an object is one that a pattern stands for."""
    return len(place) == len(pattern) and all(
        isinstance(step, int) if expected == ENTRIES else step == expected
        for step, expected in zip(place, pattern, strict=True)
    )


def as_pattern(path: FieldPath) -> TemplatePath:
    """Return the pattern that stands for a path of an object and for those of the other entries."""
    return tuple(ENTRIES if isinstance(step, int) else step for step in path)


def find_places(value: Any, places: TemplatePlaces) -> tuple[FieldPath, ...]:
    """
    Find the places in one object, in the order of the patterns and of the lists.

    Returns:
        For one path the path itself, whether it exists or not; for patterns the paths that exist.

    Raises:
        msgspec.ValidationError: A member on a path has the wrong type, or there are more than
            ``MOST_TEMPLATES`` places.
    """
    if places == ():
        return ((),)  # a Pod
    existing = (path for pattern in list_patterns(places) for path in _expand(value, pattern, ()))
    found = tuple(islice(existing, MOST_TEMPLATES + 1))
    if len(found) > MOST_TEMPLATES:
        raise msgspec.ValidationError(f"Expected at most {MOST_TEMPLATES} pod templates")
    return (places,) if isinstance(places, tuple) else found


def _expand(value: Any, pattern: TemplatePath, path: FieldPath) -> Iterator[FieldPath]:
    if value is None:
        return
    if not pattern:
        yield path
    elif pattern[0] == ENTRIES:
        if not is_array(value):
            raise _build_mismatch("array", value, path)
        for index, entry in enumerate(value):
            yield from _expand(entry, pattern[1:], (*path, index))
    elif is_object(value):
        yield from _expand(value.get(pattern[0]), pattern[1:], (*path, pattern[0]))
    else:
        raise _build_mismatch("object", value, path)


def _build_mismatch(expected: str, value: Any, path: FieldPath) -> msgspec.ValidationError:
    found = "object" if is_object(value) else "array" if is_array(value) else type(value).__name__
    where = f" - at `${_format_where(path)}`" if path else ""
    return msgspec.ValidationError(f"Expected `{expected}`, got `{found}`{where}")


def _format_where(path: FieldPath) -> str:
    """Write a path as msgspec does in its messages."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


def find_old_place(value: Any, old: Any, place: FieldPath) -> FieldPath:
    """
    Find the place in the object that an update replaces.

    Entries of lists correspond if they have the same name; entries without one, by their index.
    """
    steps: list[str | int] = []
    for end, step in enumerate(place):
        if isinstance(step, int):
            name = _name_of(find_value(value, place[: end + 1]))
            entries = find_value(old, tuple(steps))
            if name is not None and is_array(entries):
                named = (i for i, entry in enumerate(entries) if _name_of(entry) == name)
                steps.append(next(named, len(entries)))
                continue
        steps.append(step)
    return tuple(steps)


def _name_of(entry: Any) -> str | None:
    name = entry.get("name") if is_object(entry) else None
    return name if isinstance(name, str) else None


def template_at(value: Any, place: FieldPath, pod: type[Pod]) -> Pod | None:
    """
    Decode the pod template at a place of an object; a bare list becomes a template with it.

    Args:
        pod: The type of the template.

    Returns:
        None if there is no value at the place.

    Raises:
        msgspec.ValidationError: The template has a type error; the message names its path in the
            object.
    """
    held = find_value(value, place)
    bare = is_constraint_list(place) and held is not None
    try:
        if is_object(held) and not bare:
            return msgspec.convert(held, pod)  # faster than a union, which is built anew
        listed = _complete_selectors(held, None, {}) if bare and is_array(held) else held
        return msgspec.convert({"spec": {LIST_NAME: listed}} if bare else held, pod | None)
    except msgspec.ValidationError as error:
        problem, _, where = str(error).partition(" - at `$")
        inside = where.removesuffix("`").removeprefix(_IN_POD if bare else "")
        path = f"${_format_where(place)}{inside}"
        raise msgspec.ValidationError(f"{problem} - at `{path}`") from None


_IN_POD = _format_where(CONSTRAINTS_IN_POD)


def wrap_bare_list(value: msgspec.Raw, place: FieldPath) -> msgspec.Raw:
    """
    Return the JSON of the pod template at a place.

    Args:
        value: The JSON at the place: a bare list becomes a template with it; anything else, and
            null, is returned as it is.
    """
    if not is_constraint_list(place) or value == _NULL:
        return value
    data = bytes(value)
    if _COMPLETED_MARK in data:
        data = _complete_json(data)
    return msgspec.Raw(_AROUND_LIST % data)


OPERATOR_SELECTOR = "additionalLabelSelectors"
"""
Field of a constraint in a bare list, for which prometheus-operator adds labels to the selector.

It creates a selector that is missing. Source: prometheus-operator pkg/prometheus/common.go
``MakeK8sTopologySpreadConstraint``.
"""


def _complete_selectors(entries: Any, null: object, empty: object) -> Any:
    """Give an empty selector to the constraints whose selector the operator creates."""
    return [
        {**entry, _SELECTOR: empty}
        if is_object(entry) and OPERATOR_SELECTOR in entry and entry.get(_SELECTOR, null) == null
        else entry
        for entry in entries
    ]


def _complete_json(data: bytes) -> bytes:
    """Do the same in JSON; a list with a type error stays as it is."""
    try:
        entries = _decode_entries(data)
    except msgspec.ValidationError:
        return data
    return msgspec.json.encode(_complete_selectors(entries, _NULL, msgspec.Raw(b"{}")))


_SELECTOR = "labelSelector"
_decode_entries: Callable[[bytes], list[dict[str, msgspec.Raw]]]
_decode_entries = msgspec.json.Decoder(list[dict[str, msgspec.Raw]]).decode
_COMPLETED_MARK = OPERATOR_SELECTOR.encode()
_NULL = msgspec.Raw(b"null")
_AROUND_LIST = b'{"%b":{"%b":%%b}}' % tuple(name.encode() for name in CONSTRAINTS_IN_POD)
