"""Rows of the table: what was measured in several rounds, and what it must reach."""

from collections.abc import Sequence
from enum import StrEnum
from statistics import median, quantiles
from typing import Any, NamedTuple

LEAST_ROUNDS = 2  # below, there are no quartiles


class Must(NamedTuple):
    """
    A bound.

    Attributes:
        bound: In ``unit``.
        unit: ``x`` for a ratio, ``s``, ``MiB``.
        at_least: Whether more is better.
    """

    bound: float
    unit: str = "x"
    at_least: bool = False

    def __str__(self) -> str:
        return f"{'>=' if self.at_least else '<='} {self.bound:g} {self.unit}"

    def is_met_by(self, value: float) -> bool:
        """Whether a value reaches the bound."""
        return value >= self.bound if self.at_least else value <= self.bound


class Mark(StrEnum):
    """
    What came of a row.

    ``unsure`` if the middle half of its rounds lies on both sides of the bound, or if the bound
    is missed while others disturbed what was measured.
    """

    REACHED = "reached"
    UNSURE = "unsure"
    MISSED = "missed"


class Row(NamedTuple):
    """
    One row.

    Attributes:
        what: What was measured.
        base: What it is compared with, and that one's own figure; may be empty.
        measured: The figure that was compared; empty if the values are that figure.
        values: One a round, in the unit of ``must``.
        disturbed: Whether others on the machine made the values worse than they are.
    """

    what: str
    base: str
    measured: str
    values: Sequence[float]
    must: Must
    disturbed: bool = False

    @property
    def value(self) -> float:
        """The median of all rounds."""
        return median(self.values)

    @property
    def middle(self) -> tuple[float, float]:
        """The quartiles: half of all rounds lie between them."""
        if len(self.values) < LEAST_ROUNDS:
            return self.values[0], self.values[0]
        low, _, high = quantiles(self.values, n=4, method="inclusive")
        return low, high

    @property
    def mark(self) -> Mark:
        """Whether the bound is reached."""
        if len({self.must.is_met_by(value) for value in self.middle}) > 1:
            return Mark.UNSURE
        if self.must.is_met_by(self.value):
            return Mark.REACHED
        return Mark.UNSURE if self.disturbed else Mark.MISSED

    def as_json(self) -> dict[str, Any]:
        """All there is to say, for programs."""
        return {
            "what": self.what,
            "base": self.base,
            "measured": self.measured,
            "value": self.value,
            "middleHalf": list(self.middle),
            "rounds": list(self.values),
            "must": str(self.must),
            "disturbed": self.disturbed,
            "mark": self.mark,
        }


def ratios(measured: Sequence[float], base: Sequence[float]) -> list[float]:
    """Divide round by round, so that what slows down both of a round does not count."""
    return [value / other for value, other in zip(measured, base, strict=True)]


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of all values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)]
