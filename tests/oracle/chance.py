"""Random choices that every generator of cases makes: labels, selectors, lists of a length."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, TypeVar

T = TypeVar("T")

LABEL_KEYS = ("app", "tier", "rev")
LABEL_VALUES = ("a", "a", "a", "b", "c")  # so that selectors match often enough


class Chance:
    """A source of random choices; equal seeds give equal choices."""

    def __init__(self, seed: str) -> None:
        """Start from a seed."""
        self._random = Random(seed)

    def pick(self, values: Sequence[T]) -> T:
        """Pick one of the values."""
        return self._random.choice(values)

    def number(self, least: int, most: int) -> int:
        """Pick a whole number; both ends are possible."""
        return self._random.randint(least, most)

    def holds(self, probability: float) -> bool:
        """Decide with a probability from 0 to 1."""
        return self._random.random() < probability

    def several(self, make: Callable[[], T], least: int, most: int) -> list[T]:
        """Make some values."""
        return [make() for _ in range(self.number(least, most))]

    def labels(self, probability: float = 0.6) -> dict[str, str]:
        """Make labels; each key is present with this probability."""
        return {key: self.pick(LABEL_VALUES) for key in LABEL_KEYS if self.holds(probability)}

    def selector(self) -> dict[str, Any]:
        """Make a valid label selector, also an empty one."""
        selector: dict[str, Any] = {}
        if self.holds(0.7):
            selector["matchLabels"] = self.labels(0.35)
        if self.holds(0.3):
            selector["matchExpressions"] = self.several(self.requirement, 1, 2)
        return selector

    def requirement(self) -> dict[str, Any]:
        """Make a valid expression of a label selector."""
        operator = self.pick(("In", "NotIn", "Exists", "DoesNotExist"))
        requirement: dict[str, Any] = {"key": self.pick(LABEL_KEYS), "operator": operator}
        if operator in {"In", "NotIn"}:
            requirement["values"] = self.several(lambda: self.pick(LABEL_VALUES), 1, 2)
        return requirement
