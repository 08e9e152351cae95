"""
Constraints that no rule judges, since their kind or their place has no known pod template.

``find_unjudged_list`` finds them in objects of other kinds. ``describe_unjudged`` names them, and
the kind that is meant if the kind or the API group is misspelled, or obsolete.
``find_misplaced_lists`` and ``describe_misplaced`` do the same for objects of known kinds, where a
field on the way to the list is misspelled or missing. This module must not judge constraints.
"""

from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from typing import Any

from webhook.policy.kinds import BUILT_IN_KINDS, BUILT_IN_TEMPLATES, KNOWN_TEMPLATES
from webhook.policy.model import GroupKind
from webhook.policy.paths import (
    CONSTRAINTS_IN_POD,
    LIST_NAME,
    FieldPath,
    TemplatePath,
    format_path,
    is_array,
    is_object,
)
from webhook.policy.places import (
    ENTRIES,
    TemplatePlaces,
    fits_pattern,
    format_pattern,
    list_patterns,
)
from webhook.policy.unknown_fields import find_unknown_in_object

DEEPEST_LIST = 12  # levels of an object that are searched; known operators need six

SIMILARITY = 0.8
"""Similarity, from 0 to 1, from which on a kind, group or path is taken for a misspelled one."""

_LONGEST_NAME = 64  # characters that are compared; the longest known name has 24

_NOT_JUDGED = frozenset(
    {
        "properties",  # of schemas
        "values", "valuesObject", "valuesInline",  # of charts
        "patchStrategicMerge", "pattern", "anyPattern",  # of Kyverno's policies
        "annotations", "managedFields",  # of metadata
    }
)  # fmt: skip

_WITHOUT_PODS = frozenset(
    {GroupKind("apps", "ControllerRevision"), *(BUILT_IN_KINDS.keys() - BUILT_IN_TEMPLATES.keys())}
)
"""Kinds of Kubernetes that create no pods; a revision is the copy of another object."""

_OWN_DOMAIN = ".k8s.io"
_NAMES = frozenset(kind.kind for kind in BUILT_IN_TEMPLATES)


def find_unjudged_list(value: Any, kind: GroupKind) -> FieldPath | None:
    """
    Find a list of constraints in an object of a kind that is not judged.

    Schemas, values of Helm charts and patterns of policies are not searched, nor are our own kinds,
    and those of Kubernetes that create no pods.
    """
    is_own = kind.group.endswith(_OWN_DOMAIN) and kind.kind not in _NAMES
    if is_own or kind in _WITHOUT_PODS or kind.group == "evenspread.io":
        return None
    return next(_find_lists(value), None)


def find_misplaced_lists(
    value: Any, kind: GroupKind, places: TemplatePlaces
) -> Iterator[FieldPath]:
    """
    Find lists of constraints in an object of a known kind that are neither judged nor TSC011.

    The status is not searched, nor is a kind whose places are configured: it may have more lists.

    Args:
        places: Where objects of this kind hold pod templates.
    """
    if KNOWN_TEMPLATES.get(kind) != places or not is_object(value):
        return
    judged = _list_known(places)
    written = {name: inner for name, inner in value.items() if name != "status"}
    found = [
        path
        for path in _find_lists(written)
        if not any(fits_pattern(path, pattern) for pattern in judged)
    ]
    unknown = find_unknown_in_object(value, kind, places) if found else ()
    reported = {finding.path for finding in unknown}
    yield from (path for path in found if path not in reported)


def _list_known(places: TemplatePlaces) -> list[TemplatePath]:
    """List the paths of constraints that are judged, with ``ENTRIES`` for the entries of lists."""
    return [(*pattern, *CONSTRAINTS_IN_POD) for pattern in list_patterns(places)]


def describe_unjudged(
    path: FieldPath, api_version: str, kind: GroupKind, judged: Iterable[GroupKind]
) -> str:
    """
    Describe a list that is not judged, and say what to do.

    Args:
        path: Path of the list in an object.
        api_version: That of the object, as it is written.
        kind: Its kind.
        judged: The kinds that are judged.
    """
    problem = f"{format_path(path)} of {kind} is not judged"
    meant = suggest_kind(kind, judged)
    hint = f"did you mean {_join_changes(kind, meant)}?" if meant else ""
    if _may_be_custom(kind.group):
        key = "podTemplates" if is_in_template(path) else "constraintLists"
        advice = f"name the kind in {key} of a configuration (--config)"
        return f"{problem}: {hint} Otherwise {advice}" if hint else f"{problem}: {advice}"
    unknown = f"{api_version} has no kind {kind.kind} with a pod template"
    return f"{problem}: {unknown}; {hint or 'correct kind or apiVersion'}"


def describe_misplaced(path: FieldPath, kind: GroupKind, places: TemplatePlaces) -> str:
    """Describe a list at no known place, and name the place that is meant, or all known ones."""
    problem = f"{format_path(path)} of {kind} is not judged"
    written = _format_parent(ENTRIES if isinstance(step, int) else step for step in path)
    known = _list_known(places)
    likeness, meant = max((_compare(written, _format_parent(one)), one) for one in known)
    if likeness >= SIMILARITY:
        return f"{problem}: did you mean {format_pattern(meant)}?"
    return f"{problem}: write it at {' or '.join(map(format_pattern, known))}"


def _format_parent(path: Iterable[str]) -> str:
    """Write the path of the object that holds a list."""
    return format_pattern(tuple(path)[:-1])


def is_in_template(path: FieldPath) -> bool:
    """Whether a list of constraints is in a specification inside another: in a pod template."""
    return path[-2:] == CONSTRAINTS_IN_POD and len(path) > len(CONSTRAINTS_IN_POD)


def suggest_kind(kind: GroupKind, known: Iterable[GroupKind]) -> GroupKind | None:
    """Find the known kind that resembles another one most; None if none resembles it."""
    close = (
        (_compare(kind.kind, one.kind), _compare(kind.group, one.group), one)
        for one in known
        if _compare(kind.kind, one.kind) >= SIMILARITY
    )
    meant = max(close, default=None)
    if meant is None or (_may_be_custom(kind.group) and meant[1] < SIMILARITY):
        return None
    return meant[2]


def _may_be_custom(group: str) -> bool:
    """Whether a custom kind may have the group: it has a domain, which is not Kubernetes' own."""
    return "." in group and not group.endswith(_OWN_DOMAIN)


def _join_changes(kind: GroupKind, meant: GroupKind) -> str:
    """Write the fields that make another kind of an object."""
    row = BUILT_IN_KINDS.get(meant)
    version = f"apiVersion: {row.api_version}" if row else f"an apiVersion of {meant.group}"
    changes = [] if meant.group == kind.group else [version]
    changes += [] if meant.kind == kind.kind else [f"kind: {meant.kind}"]
    return " and ".join(changes)


def _compare(written: str, known: str) -> float:
    """Compare two names without regard to case; 1 if they are equal."""
    return SequenceMatcher(None, written[:_LONGEST_NAME].lower(), known.lower()).ratio()


def _find_lists(value: Any) -> Iterator[FieldPath]:
    """Find the lists of constraints that are not empty, without recursion: dumps are large."""
    left: list[tuple[FieldPath, Any]] = [((), value)]
    while left:
        path, outer = left.pop()
        for name, inner in _list_members(outer) if len(path) < DEEPEST_LIST else ():
            if name == LIST_NAME and is_array(inner) and any(map(is_object, inner)):
                yield (*path, name)
            elif (is_object(inner) or is_array(inner)) and name not in _NOT_JUDGED:
                left.append(((*path, name), inner))


def _list_members(value: Any) -> Iterable[tuple[str | int, Any]]:
    if is_object(value):
        return value.items()
    return enumerate(value) if is_array(value) else ()
