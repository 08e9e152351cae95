"""
Constraints that no rule judges, since their kind or their place has no known pod template.

``find_unjudged_lists`` finds them. ``describe_unjudged`` names them, and the kind that is meant if
the kind or the API group is misspelled, or obsolete; in a known kind, where a field on the way to
the list is misspelled or missing, the place; in a configured kind, what to add to the
configuration. This module must not judge constraints.
"""

from collections.abc import Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any, TypeGuard

import msgspec

from webhook.policy.kinds import BUILT_IN_KINDS, BUILT_IN_TEMPLATES, KNOWN_TEMPLATES
from webhook.policy.model import GroupKind
from webhook.policy.paths import (
    CONSTRAINTS_IN_POD,
    LIST_NAME,
    FieldPath,
    TemplatePath,
    find_value,
    format_path,
    is_array,
    is_constraint_list,
    is_object,
)
from webhook.policy.places import (
    TemplatePlaces,
    as_pattern,
    fits_pattern,
    format_pattern,
    list_patterns,
)
from webhook.policy.unknown_fields import find_unknown_in_object

DEEPEST_LIST = 12  # levels of an object that are searched; known operators need six

_LIST_MARK = f'"{LIST_NAME}":'.encode()
"""A member with the name of a list, as it is encoded."""

_encode = msgspec.json.Encoder().encode

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

_DOMAIN = ".k8s.io"
"""End of the groups of Kubernetes, and of custom kinds of its community, such as Spark's."""

_OWN_GROUPS = frozenset(
    f"{name}{_DOMAIN}"
    for name in (
        "admission", "admissionregistration", "apiextensions", "apiregistration", "apiserver",
        "audit", "authentication", "authorization", "certificates", "client.authentication",
        "coordination", "custom.metrics", "discovery", "events", "external.metrics",
        "flowcontrol.apiserver", "imagepolicy", "internal.apiserver", "kubeadm", "metrics",
        "networking", "node", "rbac.authorization", "resource", "scheduling", "storage",
        "storagemigration",
    )
)  # fmt: skip
"""
Groups of Kubernetes that have the domain: it defines their kinds, so that none is a custom one.

Source: kubernetes staging/src/k8s.io api, apiextensions-apiserver, apiserver, kube-aggregator and
metrics ``GroupName``; cmd/kubeadm/app/apis ``GroupName``.
"""

_CONFIGURATION = f".config{_DOMAIN}"  # files of Kubernetes' programs, and of kustomize
_NAMES = frozenset(kind.kind for kind in BUILT_IN_TEMPLATES)


def find_unjudged_lists(
    value: Any, kind: GroupKind, places: TemplatePlaces | None
) -> Iterator[FieldPath]:
    """
    Find the lists of constraints in an object that are neither judged nor TSC011.

    Schemas, values of Helm charts and patterns of policies are not searched, nor is the status.
    Neither are kinds that are not judged because they are our own, or create no pods.

    Args:
        places: Where objects of this kind hold pod templates or constraint lists; None if the kind
            is not judged.
    """
    if not is_object(value) or (places is None and _creates_no_pods(kind)):
        return
    judged = [] if places is None else _list_judged(places)
    if not _may_hold_more(value, sum(map(bool, _find_judged(value, judged)))):
        return  # nearly always
    written = {name: inner for name, inner in value.items() if name != "status"}
    found = [
        path
        for path in _find_lists(written)
        if not any(fits_pattern(path, pattern) for pattern in judged)
    ]
    unknown = find_unknown_in_object(value, kind, places) if found and places is not None else ()
    reported = {finding.path for finding in unknown}
    yield from (path for path in found if path not in reported)


def _may_hold_more(value: Any, number: int) -> bool:
    """
    Whether an object may have more members with the name of a list; never False if it has.

    They are counted in its JSON, which is faster than to search the values of an object. There, a
    text has escaped quotes.
    """
    try:
        return _encode(value).count(_LIST_MARK) > number
    except (msgspec.MsgspecError, OverflowError, RecursionError, ValueError):
        return True


def _find_judged(value: Any, judged: Iterable[TemplatePath]) -> Iterator[Any]:
    """Find the values at paths that are searched and lead through no list."""
    return (find_value(value, path) for path in judged if len(path) <= DEEPEST_LIST)


def _creates_no_pods(kind: GroupKind) -> bool:
    is_own = _is_own(kind.group) and kind.kind not in _NAMES
    return is_own or kind in _WITHOUT_PODS or kind.group == "evenspread.io"


def _list_judged(places: TemplatePlaces) -> list[TemplatePath]:
    """List the paths of constraints that are judged, with ``ENTRIES`` for the entries of lists."""
    return [
        pattern if is_constraint_list(pattern) else (*pattern, *CONSTRAINTS_IN_POD)
        for pattern in list_patterns(places)
    ]


def has_known_places(places: TemplatePlaces | None, kind: GroupKind) -> TypeGuard[TemplatePlaces]:
    """Whether a kind is judged at the places that every installation knows, and at no others."""
    return places is not None and KNOWN_TEMPLATES.get(kind) == places


def describe_unjudged(
    path: FieldPath, api_version: str, kind: GroupKind, judged: Mapping[GroupKind, TemplatePlaces]
) -> str:
    """
    Describe a list that is not judged, and say what to do.

    Args:
        path: Path of the list in an object.
        api_version: That of the object, as it is written.
        kind: Its kind.
        judged: The kinds that are judged -> where.
    """
    places = judged.get(kind)
    if has_known_places(places, kind):
        advice = _suggest_place(path, places)
    elif places is not None:
        advice = _suggest_entry(path)
    else:
        advice = _suggest_kind_or_entry(path, api_version, kind, judged)
    return f"{format_path(path)} of {kind} is not judged: {advice}"


def _suggest_kind_or_entry(
    path: FieldPath, api_version: str, kind: GroupKind, judged: Iterable[GroupKind]
) -> str:
    """Suggest the kind that is meant, or to configure a kind that may be a custom one."""
    meant = suggest_kind(kind, judged)
    hint = f"did you mean {_join_changes(kind, meant)}?" if meant else ""
    if _may_be_custom(kind.group):
        key = "podTemplates" if is_in_template(path) else "constraintLists"
        advice = f"name the kind in {key} of a configuration (--config)"
        return f"{hint} Otherwise {advice}" if hint else advice
    unknown = f"{api_version} has no kind {kind.kind} with a pod template"
    return f"{unknown}; {hint or 'correct kind or apiVersion'}"


def _suggest_entry(path: FieldPath) -> str:
    """Suggest one more entry for a kind that is configured."""
    if is_in_template(path):
        return "add the path of its pod template to podTemplates of the configuration (--config)"
    return "add its path to constraintLists of the configuration (--config)"


def _suggest_place(path: FieldPath, places: TemplatePlaces) -> str:
    """Name the known place that is meant, or all of them."""
    written = _format_parent(as_pattern(path))
    known = _list_judged(places)
    likeness, meant = max((_compare(written, _format_parent(one)), one) for one in known)
    if likeness >= SIMILARITY:
        return f"did you mean {format_pattern(meant)}?"
    return f"write it at {' or '.join(map(format_pattern, known))}"


def _format_parent(path: TemplatePath) -> str:
    """Write the path of the object that holds a list."""
    return format_pattern(path[:-1])


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
    is_elsewhere = _may_be_custom(kind.group) and not kind.group.endswith(_DOMAIN)
    if meant is None or (is_elsewhere and meant[1] < SIMILARITY):
        return None
    return meant[2]


def _may_be_custom(group: str) -> bool:
    """Whether a custom kind may have the group: it has a domain, and is not Kubernetes' own."""
    return "." in group and not _is_own(group)


def _is_own(group: str) -> bool:
    return group in _OWN_GROUPS or group.endswith(_CONFIGURATION)


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
    """
    Find the lists of constraints that are not empty, in the order in which they are written.

    There is no recursion: dumps are large.
    """
    left: list[tuple[FieldPath, Any]] = [((), value)]
    while left:
        path, outer = left.pop()
        if path[-1:] == (LIST_NAME,) and is_array(outer) and any(map(is_object, outer)):
            yield path
        elif len(path) < DEEPEST_LIST:
            left += reversed(
                [
                    ((*path, name), inner)
                    for name, inner in _list_members(outer)
                    if (is_object(inner) or is_array(inner)) and name not in _NOT_JUDGED
                ]
            )


def _list_members(value: Any) -> Iterable[tuple[str | int, Any]]:
    if is_object(value):
        return value.items()
    return enumerate(value) if is_array(value) else ()
