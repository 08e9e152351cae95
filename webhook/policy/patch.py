"""
JSON Patch: the operations of a response, none of which can fail to apply.

A patch that does not apply is an error 500 for the user even under ``failurePolicy: Ignore``. So
a patch contains only three kinds of steps: ``add`` of a member whose parent is in the object or is
added whole, ``add`` at the end of a list that is in the object, and ``remove`` of a value that is
in the object. ``add`` replaces an existing member.

``add_defaults`` and ``replace_defaults`` build the patch that injects default constraints,
``add_scale_down_label`` the one that labels a pod to be ranked, and ``add_rank`` the one that ranks
it when it is bound.

Source: RFC 6901, RFC 6902.
"""

from collections.abc import Iterator

import msgspec

from webhook.policy.defaulting.inject import Injection
from webhook.policy.defaulting.provenance import DEFAULTS_ANNOTATION
from webhook.policy.model import PodTemplate
from webhook.policy.paths import CONSTRAINTS_IN_POD, format_pointer
from webhook.policy.scaledown.binding import Binding
from webhook.policy.scaledown.ranks import KEEP_SPREAD, SCALE_DOWN_LABEL, annotate_rank

_CONSTRAINTS = format_pointer(CONSTRAINTS_IN_POD)
_ANNOTATIONS = format_pointer(("metadata", "annotations"))
_DEFAULTS = format_pointer(("metadata", "annotations", DEFAULTS_ANNOTATION))
_LABELS = format_pointer(("metadata", "labels"))
_SCALE_DOWN = format_pointer(("metadata", "labels", SCALE_DOWN_LABEL))


class Operation(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One step of a JSON Patch: an ``add``, or a ``remove`` without a value."""

    op: str
    path: str
    value: object = msgspec.UNSET


def add(path: str, value: object) -> Operation:
    """Add a member or an element, or replace the member that is there."""
    return Operation("add", path, value)


def remove(path: str) -> Operation:
    """Remove the value at a path."""
    return Operation("remove", path)


def add_defaults(injection: Injection, *, listed: bool, annotated: bool) -> Iterator[Operation]:
    """
    Inject defaults into a pod that no earlier call changed.

    Args:
        listed: Whether the pod has constraints of its own.
        annotated: Whether the pod has annotations.
    """
    constraints = [entry.written for entry in injection.entries]
    if not constraints:
        return
    if listed:
        yield from (add(f"{_CONSTRAINTS}/-", constraint) for constraint in constraints)
    else:
        yield add(_CONSTRAINTS, constraints)
    if annotated:
        yield add(_DEFAULTS, injection.annotation)
    else:
        yield add(_ANNOTATIONS, {DEFAULTS_ANNOTATION: injection.annotation})


def add_scale_down_label(*, has_labels: bool | None) -> Iterator[Operation]:
    """
    Label a pod so that it gets a rank when it is bound.

    Args:
        has_labels: Whether the pod has labels; None if it is not to be labelled.
    """
    if has_labels:
        yield add(_SCALE_DOWN, KEEP_SPREAD)
    elif has_labels is not None:
        yield add(_LABELS, {SCALE_DOWN_LABEL: KEEP_SPREAD})


def replace_defaults(pod: PodTemplate, injection: Injection) -> Iterator[Operation]:
    """Replace the constraints that an earlier call injected, and their annotation."""
    if not injection.is_in_place:
        yield from _replace_constraints(len(pod.constraints), injection)
    annotations = pod.metadata.annotations if pod.metadata else {}
    if injection.annotation and annotations.get(DEFAULTS_ANNOTATION) != injection.annotation:
        yield add(_DEFAULTS, injection.annotation)
    elif injection.previous and not injection.annotation:
        yield remove(_DEFAULTS)


def add_rank(binding: Binding, rank: int) -> Iterator[Operation]:
    """Annotate a Binding with the rank of its pod, and with the deletion cost of that rank."""
    annotations = annotate_rank(rank)
    if not binding.annotated:
        yield add(_ANNOTATIONS, annotations)
        return
    for key, value in annotations.items():
        yield add(format_pointer(("metadata", "annotations", key)), value)


def _replace_constraints(number: int, injection: Injection) -> Iterator[Operation]:
    constraints = [entry.written for entry in injection.entries]
    if number == len(injection.previous):
        # The whole list is replaced, so that no empty list stays behind.
        yield add(_CONSTRAINTS, constraints) if constraints else remove(_CONSTRAINTS)
        return
    for index in reversed(injection.previous):  # from the end: a removal moves later entries
        yield remove(f"{_CONSTRAINTS}/{index}")
    for constraint in constraints:
        yield add(f"{_CONSTRAINTS}/-", constraint)
