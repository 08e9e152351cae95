"""
Quantities of resources as exact integers, in billionths of the unit.

``parse_quantity`` reads a quantity of the API, and ``round_up`` rounds it as the scheduler does.
``check_quantities`` reports those that kube-apiserver refuses.

Source: apimachinery pkg/api/resource quantity.go, suffix.go.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TypeAlias

Quantity: TypeAlias = str | int | float | None
"""A quantity on the wire; null is zero."""

Quantities: TypeAlias = dict[str, Quantity]
"""A ``ResourceList``: resource name -> quantity."""

Amounts: TypeAlias = dict[str, int]
"""Resource name -> billionths; never changed after construction."""

MILLI, UNIT = 10**6, 10**9  # billionths

LARGEST = (2**63 - 1) * UNIT  # Go's int64, to which Kubernetes limits quantities

CACHED_QUANTITIES = 4096  # texts; the pods of a cluster share some hundreds

_SUFFIXES = {
    "": 1,
    **{suffix: 10**power for suffix, power in zip("kMGTPE", range(3, 19, 3), strict=True)},
    **{suffix + "i": 1024**power for power, suffix in enumerate("KMGTPE", 1)},
}

_FRACTIONS = {"n": -9, "u": -6, "m": -3}  # suffix -> power of ten

_LONGEST_EXPONENT = 99  # beyond it every number is too large, or less than a billionth

_QUANTITY = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>\d{0,99})(?:\.(?P<fraction>\d{0,99}))?"
    r"(?P<suffix>[numkMGTPE]|[KMGTPE]i|[eE](?P<exponent>[+-]?\d{1,9}))?",
    re.ASCII,
)


def parse_quantity(quantity: Quantity) -> int:
    """
    Parse a quantity such as ``1500m``, ``1.5Gi``, ``2e3`` or 2.

    Returns:
        Billionths of the unit, rounded away from zero, at most ``LARGEST``; 0 for a text that
        kube-apiserver refuses.
    """
    return 0 if quantity is None else _parse(str(quantity)) or 0


def check_quantities(quantities: Mapping[str, Quantity] | None, member: str) -> None:
    """
    Check the quantities of a ``ResourceList``.

    Args:
        member: The name of the list in its object.

    Raises:
        ValueError: As for ``check_quantity``.
    """
    for name, quantity in (quantities or {}).items():
        check_quantity(quantity, member, name)


def check_quantity(quantity: Quantity, *path: str) -> None:
    """
    Check a quantity, which no object may have below 0.

    Args:
        path: Where it is in its object.

    Raises:
        ValueError: kube-apiserver refuses it; the text ends with the path, as ``manifests`` reads
            it.

    Source: pkg/apis/core/validation ``ValidateResourceQuantityValue``.
    """
    problem = _find_problem(quantity)
    if problem:
        raise ValueError(f"{problem} - in {' '.join(f'`{step}`' for step in path)}")


def _find_problem(quantity: Quantity) -> str:
    text = "0" if quantity is None else str(quantity)
    amount = _parse(text)
    if amount is None:
        meant = text.removesuffix("B")
        if meant != text and _parse(meant) is not None:
            return f"expected a quantity, got {quantity!r}: write {meant}"
        return f"expected a quantity such as 500m, 2 or 1.5Gi, got {quantity!r}"
    return f"expected a quantity of 0 or more, got {quantity!r}" if amount < 0 else ""


def parse_amounts(quantities: Mapping[str, Quantity] | None) -> Amounts:
    """Parse the quantities of a ``ResourceList``."""
    return {name: parse_quantity(quantity) for name, quantity in (quantities or {}).items()}


def round_up(billionths: int, unit: int = UNIT) -> int:
    """
    Round up to whole units.

    Source: quantity.go ``Value``, ``MilliValue``.
    """
    return -(-billionths // unit)


@lru_cache(CACHED_QUANTITIES)
def _parse(text: str) -> int | None:
    match = _QUANTITY.fullmatch(text.strip())
    digits = (match["whole"] + (match["fraction"] or "")) if match else ""
    if match is None or not digits:
        return None
    suffix, exponent = match["suffix"] or "", match["exponent"]
    power = int(exponent) if exponent else _FRACTIONS.get(suffix, 0)
    power = max(-_LONGEST_EXPONENT, min(power, _LONGEST_EXPONENT))
    scale = 9 + power - len(match["fraction"] or "")
    amount = int(digits) * _SUFFIXES.get(suffix, 1)
    amount = amount * 10**scale if scale >= 0 else round_up(amount, 10**-scale)
    amount = min(amount, LARGEST)
    return -amount if match["sign"] == "-" else amount


def sum_amounts(*lists: Mapping[str, int]) -> Amounts:
    """Add amounts up; a resource is in the sum if it is in any of them."""
    return {name: sum(amounts.get(name, 0) for amounts in lists) for name in _names(lists)}


def largest_amounts(*lists: Mapping[str, int]) -> Amounts:
    """Take the largest amount of each resource that is in any of them."""
    return {
        name: max(amounts[name] for amounts in lists if name in amounts) for name in _names(lists)
    }


def _names(lists: tuple[Mapping[str, int], ...]) -> Iterator[str]:
    return iter(dict.fromkeys(name for amounts in lists for name in amounts))
