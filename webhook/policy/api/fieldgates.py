"""
Drop the fields of a constraint list whose feature gate is off.

``drop_disabled_fields`` is the entry point. An update keeps a field that the stored object uses.

Source: kubernetes pkg/api/pod/util.go ``dropDisabledFields`` and its ``...InUse`` functions;
KEP-3022.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from msgspec.structs import replace

from webhook.policy.api.gates import GATES, Gate, Gates, Stage
from webhook.policy.model import Constraint

_ATTRIBUTES = dict(
    zip(Constraint.__struct_encode_fields__, Constraint.__struct_fields__, strict=True)
)
_UNSET = Constraint()


@dataclass(frozen=True)
class DroppedField:
    """
    A field that was dropped.

    Attributes:
        entry: The index of the constraint; None for the whole list.
        field: The name of the field in the API; empty for the whole list.
    """

    gate: Gate
    entry: int | None = None
    field: str = ""


class FilteredConstraints(NamedTuple):
    """A list without the fields of disabled gates, and what was dropped, in list order."""

    constraints: tuple[Constraint, ...]
    drops: tuple[DroppedField, ...]


def drop_disabled_fields(
    constraints: tuple[Constraint, ...], old: Sequence[Constraint] | None, gates: Gates
) -> FilteredConstraints:
    """
    Drop the fields whose gate is off.

    ``old`` is the list that an update replaces, None on a create; fields that it uses are kept.
    """
    if not gates.fields_off and Gate.EVEN_PODS_SPREAD in gates:
        return FilteredConstraints(constraints, ())
    if Gate.EVEN_PODS_SPREAD not in gates and constraints and not old:
        return FilteredConstraints((), (DroppedField(Gate.EVEN_PODS_SPREAD),))
    off = [
        (field, gate)
        for field, gate in gates.fields_off.items()
        if not any(is_set(constraint, field) for constraint in old or ())
    ]
    drops = tuple(
        DroppedField(gate, index, field)
        for index, constraint in enumerate(constraints)
        for field, gate in off
        if is_set(constraint, field)
    )
    if not drops:
        return FilteredConstraints(constraints, ())
    unset = {_ATTRIBUTES[field]: getattr(_UNSET, _ATTRIBUTES[field]) for field, _ in off}
    return FilteredConstraints(
        tuple(replace(constraint, **unset) for constraint in constraints), drops
    )


def is_set(constraint: Constraint, field: str) -> bool:
    """Whether a gated field is set in a constraint; an empty matchLabelKeys is not."""
    attribute = _ATTRIBUTES[field]
    return bool(getattr(constraint, attribute) != getattr(_UNSET, attribute))


def explain_disabled_gate(gate: Gate, gates: Gates) -> str:
    """Explain why the fields of a gate, which is off, have no effect."""
    if gates.settings[gate].stage is not Stage.ABSENT:
        return f"feature gate {gate} is off"
    first = GATES[gate].history[0].since
    return f"Kubernetes {gates.version} does not know it: it came with {first}, feature gate {gate}"


def explain_briefly(gate: Gate, gates: Gates) -> str:
    """Explain it as ``explain_disabled_gate`` does, in the few words that fit a line of kubectl."""
    if gates.settings[gate].stage is not Stage.ABSENT:
        return f"{gate} is off"
    return f"Kubernetes {gates.version} does not know it"
